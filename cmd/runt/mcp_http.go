package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"runt/internal/mcpserver"
	"runt/internal/profile"
)

// envToken holds the token that clients over HTTP must bring.
const envToken = "RUNT_MCP_TOKEN"

// webFlags are the flags of MCP over HTTP.
type webFlags struct {
	addr       string
	everywhere bool
	hosts      []string
	tokenFile  string
	idle       time.Duration
}

func (w *webFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.addr, "http", "", "serve MCP over HTTP at this address, such as 127.0.0.1:8765")
	f.BoolVar(&w.everywhere, "http-any", false, "allow an address that every network of this machine reaches")
	f.StringSliceVar(&w.hosts, "http-host", nil, "a further name by which clients may address the server")
	f.StringVar(&w.tokenFile, "token-file", "", "file with the token that clients must bring (default: $"+envToken+", else one that is made at the first time)")
	f.DurationVar(&w.idle, "http-idle", mcpserver.DefaultIdle, "how long a session without requests lives")
}

// serveWeb serves clients over HTTP.
func serveWeb(ctx context.Context, a *app, w webFlags) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	stopProfile, err := profile.Serve("runt")
	if err != nil {
		return err
	}
	defer stopProfile()
	token, err := mcpserver.HTTPToken(w.tokenFile, os.Getenv(envToken), a.places().State)
	if err != nil {
		return err
	}
	ln, err := mcpserver.ListenHTTP(w.addr, w.everywhere)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "MCP at http://%s%s\n", ln.Addr(), mcpserver.HTTPPath)
	switch {
	case token.New:
		fmt.Fprintf(os.Stderr, "token %s, kept in %s\n", token.Text, token.File)
	case token.File != "":
		fmt.Fprintf(os.Stderr, "token in %s\n", token.File)
	}
	engine := a.engine(log)
	code, err := mcpserver.RunHTTP(ctx, a.serverOptions(log, engine, nil, nil), mcpserver.HTTPOptions{
		Listener: ln, Token: token.Text, Hosts: w.hosts, Idle: w.idle, Records: filepath.Join(a.places().State, "mcp-sessions"),
	})
	if closeErr := engine.Close(); err == nil && closeErr != nil {
		log.Warn("engine not closed", "error", closeErr)
	}
	if err == nil && code != 0 {
		return exitError{code}
	}
	return err
}
