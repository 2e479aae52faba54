package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"runt/internal/automerge"
	"runt/internal/autostart"
	"runt/internal/buildinfo"
	"runt/internal/domain"
	"runt/internal/mcpserver"
	"runt/internal/profile"
	"runt/internal/toolspec"
)

func mcpCommand(a *app) *cobra.Command {
	var web webFlags
	c := &cobra.Command{Use: "mcp", Short: "Serve MCP over stdin and stdout (normally started by runt-mcp-proxy), or over HTTP", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("http") {
				return serveWeb(cmd.Context(), a, web)
			}
			return serveMCP(cmd.Context(), a)
		}}
	web.register(c)
	return c
}

// serveMCP serves one client on stdin and stdout. Nothing else may write to
// stdout: prints of whatever library go to stderr instead.
func serveMCP(ctx context.Context, a *app) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	stopProfile, err := profile.Serve("runt")
	if err != nil {
		return err
	}
	defer stopProfile()
	out := os.Stdout
	os.Stdout = os.Stderr
	engine := a.engine(log)
	code, err := mcpserver.Run(ctx, a.serverOptions(log, engine, os.Stdin, out))
	if closeErr := engine.Close(); err == nil && closeErr != nil {
		log.Warn("engine not closed", "error", closeErr)
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return exitError{code}
	}
	return nil
}

func (a *app) engine(log *slog.Logger) *automerge.Engine {
	return automerge.Open(automerge.Options{CacheDir: filepath.Join(a.places().Cache, "wasm"), Logger: log})
}

func (a *app) serverOptions(log *slog.Logger, engine *automerge.Engine, in io.Reader, out io.Writer) mcpserver.Options {
	p := a.places()
	return mcpserver.Options{In: in, Out: out, Socket: p.Socket, Engine: engine, Logger: log, Version: buildinfo.Version(), StateDir: p.Shared,
		StartDaemon: func(ctx context.Context) error { return autostart.Ensure(ctx, p) }}
}

func nbCommand(a *app) *cobra.Command {
	nb := &cobra.Command{Use: "nb", Short: "Work on notebooks from the shell"}
	nb.AddCommand(
		&cobra.Command{Use: "call TOOL [JSON]", Short: "Run a tool of the MCP server and print its result as JSON",
			Long: "Run a tool of the MCP server and print its result as JSON.\n\nThe arguments are one JSON object, or - to read it from stdin:\n" +
				"  runt nb call get_all_cells '{\"notebook\": \"analysis.ipynb\"}'",
			Args: cobra.RangeArgs(1, 2),
			RunE: func(cmd *cobra.Command, args []string) error {
				return nbCall(cmd.Context(), a, cmd.InOrStdin(), cmd.OutOrStdout(), args)
			}},
		&cobra.Command{Use: "tools", Short: "Print the tools and their arguments as JSON", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), string(toolspec.ListJSON()))
				return err
			}})
	return nb
}

// callResult is the JSON of runt nb call.
type callResult struct {
	OK     bool        `json:"ok"`
	Text   string      `json:"text,omitempty"`
	Images []callImage `json:"images,omitempty"`
	Error  string      `json:"error,omitempty"`
	Code   domain.Code `json:"code,omitempty"`
}

type callImage struct {
	MIME string `json:"mime"`
	Data string `json:"data"` // base64
}

func nbCall(ctx context.Context, a *app, in io.Reader, out io.Writer, args []string) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	arguments, err := toolArguments(in, args)
	if err != nil {
		return err
	}
	engine := a.engine(log)
	defer func() {
		if err := engine.Close(); err != nil {
			log.Warn("engine not closed", "error", err)
		}
	}()
	s := mcpserver.New(a.serverOptions(log, engine, nil, nil))
	text, images, err := mcpserver.Call(ctx, s, "runt nb", args[0], arguments)
	res := callResult{OK: err == nil, Text: text}
	for _, i := range images {
		res.Images = append(res.Images, callImage{i.MIME, base64.StdEncoding.EncodeToString(i.Data)})
	}
	if err != nil {
		res.Error, res.Code = err.Error(), domain.CodeOf(err)
	}
	if closeErr := s.Close(); closeErr != nil {
		log.Warn("server not closed", "error", closeErr)
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if encErr := enc.Encode(res); encErr != nil {
		return encErr
	}
	if err != nil {
		return exitError{1}
	}
	return nil
}

func toolArguments(in io.Reader, args []string) (json.RawMessage, error) {
	text := []byte("{}")
	if len(args) == 2 && args[1] == "-" {
		b, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("read arguments: %w", err)
		}
		text = b
	} else if len(args) == 2 {
		text = []byte(args[1])
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "The arguments are no JSON object: %w", err).
			WithHint(`Pass one like '{"cell_id": "..."}'.`)
	}
	return text, nil
}
