// Command runt-mcp-proxy is what an MCP client starts: it speaks for `runt mcp`,
// which it starts, watches and replaces, and never fails itself.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"runt/internal/buildinfo"
	"runt/internal/paths"
	"runt/internal/proxy"
)

const long = `An MCP server over stdio that gives an agent live Jupyter notebooks.

It starts "runt mcp" and stands in front of it: when that process crashes, is
upgraded or is replaced, the client's connection stays and its calls are
answered. Arguments after -- go to "runt mcp".

The program runt is taken from $` + proxy.ProgramVar + `, else from beside this one, else
from PATH.`

func main() {
	code := 0
	if err := command(os.Stdout, &code).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "runt-mcp-proxy:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

func command(out io.Writer, code *int) *cobra.Command {
	var status, asJSON bool
	c := &cobra.Command{
		Use: "runt-mcp-proxy [-- ARGUMENTS OF runt mcp]", Short: "MCP server over stdio for live notebooks", Long: long,
		Version: buildinfo.Version(), SilenceUsage: true, SilenceErrors: true, Args: onlyAfterDash,
		RunE: func(_ *cobra.Command, args []string) error {
			if status {
				return printStatus(out, statusDir(), asJSON)
			}
			n, err := serve(args)
			*code = n
			return err
		},
	}
	c.SetOut(out)
	c.Flags().BoolVar(&status, "status", false, "print what the running proxies do, and end")
	c.Flags().BoolVar(&asJSON, "json", false, "with --status: print JSON")
	return c
}

// onlyAfterDash refuses arguments that nobody has said are for the child.
func onlyAfterDash(c *cobra.Command, args []string) error {
	if dash := c.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
		return fmt.Errorf("unknown argument %q; arguments for runt mcp go after --", args[0])
	}
	return nil
}

func statusDir() string { return filepath.Join(paths.For("").State, "proxies") }

func printStatus(out io.Writer, dir string, asJSON bool) error {
	reports, err := proxy.Reports(dir)
	if err != nil {
		return err
	}
	if asJSON {
		if reports == nil {
			reports = []proxy.Report{}
		}
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(reports)
	}
	if len(reports) == 0 {
		_, err = fmt.Fprintln(out, "no proxy is running")
		return err
	}
	for _, r := range reports {
		if _, err := fmt.Fprint(out, r.Text(time.Now())); err != nil {
			return err
		}
	}
	return nil
}
