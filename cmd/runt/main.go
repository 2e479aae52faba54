// Command runt is what a person types: it runs the MCP server, and looks at,
// starts and stops the daemon and its notebooks.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"runt/internal/buildinfo"
	"runt/internal/domain"
	"runt/internal/paths"
)

// exitError ends the program with a code of its own; the text was printed already.
type exitError struct{ code int }

// Error says the code.
func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// app is what the commands share.
type app struct {
	socket string
	level  string
}

func (a *app) places() paths.Places { return paths.For(a.socket) }

func (a *app) logger() (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(a.level)); err != nil {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "The log level %q is unknown.", a.level).WithHint("Use debug, info, warn or error.")
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l})), nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	var exit exitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		os.Exit(exit.code)
	default:
		printError(err)
		os.Exit(1)
	}
}

// printError prints what went wrong and, on a line of its own, what to do.
func printError(err error) {
	var de *domain.Error
	if errors.As(err, &de) {
		fmt.Fprintln(os.Stderr, "runt:", de.Message)
		if de.Hint != "" {
			fmt.Fprintln(os.Stderr, "  ", de.Hint)
		}
		return
	}
	fmt.Fprintln(os.Stderr, "runt:", err)
}

func root() *cobra.Command {
	a := &app{}
	c := &cobra.Command{Use: "runt", Short: "Notebooks that agents and people share", Version: buildinfo.Version(), SilenceUsage: true, SilenceErrors: true}
	c.PersistentFlags().StringVar(&a.socket, "socket", "", "the daemon's socket (default: $"+paths.EnvSocket+" or the user's own)")
	c.PersistentFlags().StringVar(&a.level, "log-level", "warn", "debug, info, warn or error")
	c.AddCommand(mcpCommand(a), daemonCommand(a), psCommand(a), stopCommand(a), nbCommand(a), doctorCommand(a), keptCommand(a))
	return c
}
