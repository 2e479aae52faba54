// Command runtimed is the daemon: it holds the rooms, documents and kernels.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"runt/internal/buildinfo"
	"runt/internal/daemon"
	"runt/internal/kernel"
	"runt/internal/paths"
	"runt/internal/profile"
)

// Exit codes besides 0 and 1.
const exitAlreadyRunning = 3

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "runtimed:", err)
		var running *daemon.AlreadyRunning
		if errors.As(err, &running) {
			os.Exit(exitAlreadyRunning)
		}
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var socket, level string
	var orphan time.Duration
	root := &cobra.Command{
		Use: "runtimed", Short: "The daemon that holds notebooks and kernels", Version: buildinfo.Version(),
		SilenceUsage: true, SilenceErrors: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), socket, level, orphan) },
	}
	root.Flags().StringVar(&socket, "socket", "", "socket to listen on (default: $"+paths.EnvSocket+" or the user's own)")
	root.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	root.Flags().DurationVar(&orphan, "orphan-after", daemon.DefaultOrphanAfter, "how long idle kernels live without a daemon")
	root.AddCommand(&cobra.Command{
		Use: "kernel-host DIR", Short: "Hold one kernel (started by the daemon)", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return kernel.RunHost(cmd.Context(), args[0]) },
	})
	return root
}

func run(ctx context.Context, socket, level string, orphan time.Duration) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	log, err := logger(os.Stderr, level)
	if err != nil {
		return err
	}
	stopProfile, err := profile.Serve("runtimed")
	if err != nil {
		return err
	}
	defer stopProfile()
	p := paths.For(socket)
	d, err := daemon.Start(daemon.Options{Socket: p.Socket, StateDir: p.State, SharedDir: p.Shared, CacheDir: p.Cache,
		Version: buildinfo.Version(), OrphanAfter: orphan, Log: log})
	if err != nil {
		return err
	}
	d.Wait(ctx)
	d.Close()
	return nil
}

func logger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}
