package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"runt/internal/autostart"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/paths"
	"runt/internal/wire"
)

// askTimeout bounds a question to a daemon, stopTimeout its whole shut-down.
const (
	askTimeout  = 5 * time.Second
	stopTimeout = 40 * time.Second
)

func daemonCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "daemon", Short: "Start, stop and look at the daemon"}
	var asJSON, follow bool
	status := &cobra.Command{Use: "status", Short: "Say whether the daemon runs, and what it is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemonStatus(cmd.Context(), a, cmd.OutOrStdout(), asJSON)
		}}
	status.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	logs := &cobra.Command{Use: "logs", Short: "Print the daemon's log", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return daemonLogs(cmd.Context(), a, cmd.OutOrStdout(), follow)
		}}
	logs.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing")
	c.AddCommand(status, logs,
		&cobra.Command{Use: "start", Short: "Start the daemon, if none runs", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return daemonStart(cmd.Context(), a, cmd.OutOrStdout()) }},
		&cobra.Command{Use: "stop", Short: "Stop the daemon; kernels live on for the next one", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return daemonStop(cmd.Context(), a.places(), cmd.OutOrStdout())
			}},
		&cobra.Command{Use: "restart", Short: "Stop the daemon and start the one that is installed now", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := daemonStop(cmd.Context(), a.places(), cmd.OutOrStdout()); err != nil {
					return err
				}
				return daemonStart(cmd.Context(), a, cmd.OutOrStdout())
			}})
	return c
}

func ask(ctx context.Context, p paths.Places) (wire.DaemonInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	info, err := client.DaemonInfo(ctx, p.Socket)
	if err != nil {
		return info, domain.Errorf(domain.CodeSessionDisconnected, "No daemon answers on %s: %w", p.Socket, err).WithHint("Start one with runt daemon start.")
	}
	return info, nil
}

func daemonStart(ctx context.Context, a *app, out io.Writer) error {
	p := a.places()
	info, err := started(ctx, p)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "daemon %s runs with pid %d on %s\n", version(info), info.PID, p.Socket)
	return nil
}

// started makes sure that a daemon answers. One that is about to end may still
// take a connection, so the next one is started when it does not answer.
func started(ctx context.Context, p paths.Places) (info wire.DaemonInfo, err error) {
	const tries = 3
	for range tries {
		if err = autostart.Ensure(ctx, p); err != nil {
			return info, err
		}
		if info, err = ask(ctx, p); err == nil || ctx.Err() != nil {
			return info, err
		}
	}
	return info, err
}

func version(info wire.DaemonInfo) string {
	if info.Runt != nil {
		return info.Runt.Version
	}
	return info.DaemonVersion
}

func daemonStop(ctx context.Context, p paths.Places, out io.Writer) error {
	info, err := ask(ctx, p)
	if err != nil {
		fmt.Fprintln(out, "no daemon runs on", p.Socket)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := client.ShutdownDaemon(ctx, p.Socket); err != nil {
		return domain.Errorf(domain.CodeSessionDisconnected, "The daemon with pid %d did not take the request to stop: %w", info.PID, err).
			WithHint("End it with kill %d.", info.PID)
	}
	if err := autostart.AwaitUnlocked(ctx, p); err != nil {
		return domain.Errorf(domain.CodeTimeout, "The daemon with pid %d is still stopping: %w", info.PID, err).WithHint("Wait, or end it with kill %d.", info.PID)
	}
	fmt.Fprintf(out, "daemon with pid %d has stopped\n", info.PID)
	return nil
}

// daemonState is the JSON of runt daemon status --json.
type daemonState struct {
	Running   bool      `json:"running"`
	Socket    string    `json:"socket"`
	Version   string    `json:"version,omitempty"`
	PID       int       `json:"pid,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	State     string    `json:"state_dir"`
	Log       string    `json:"log"`
}

func daemonStatus(ctx context.Context, a *app, out io.Writer, asJSON bool) error {
	p := a.places()
	s := daemonState{Socket: p.Socket, State: p.State, Log: p.LogFile()}
	if info, err := ask(ctx, p); err == nil {
		s.Running, s.Version, s.PID, s.StartedAt = true, version(info), info.PID, info.StartedAt
	}
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	if !s.Running {
		fmt.Fprintf(out, "no daemon runs on %s\nlog: %s\n", s.Socket, s.Log)
		return exitError{1}
	}
	fmt.Fprintf(out, "daemon %s, pid %d, up %s\nsocket: %s\nstate:  %s\nlog:    %s\n", s.Version, s.PID,
		time.Since(s.StartedAt).Round(time.Second), s.Socket, s.State, s.Log)
	return nil
}

func daemonLogs(ctx context.Context, a *app, out io.Writer, follow bool) error {
	file := a.places().LogFile()
	f, err := os.Open(file)
	if err != nil {
		return domain.Errorf(domain.CodeFileUnreadable, "There is no log %s: %w", file, err).WithHint("It is written by a daemon that was started in the background.")
	}
	defer f.Close()
	if _, err := io.Copy(out, f); err != nil || !follow {
		return err
	}
	return followFile(ctx, f, out)
}

// followFile prints what is appended to f until ctx ends.
func followFile(ctx context.Context, f *os.File, out io.Writer) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch log: %w", err)
	}
	defer w.Close()
	if err := w.Add(filepath.Clean(f.Name())); err != nil {
		return fmt.Errorf("watch log: %w", err)
	}
	for {
		select {
		case <-w.Events:
			if _, err := io.Copy(out, f); err != nil {
				return err
			}
		case err := <-w.Errors:
			return fmt.Errorf("watch log: %w", err)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil
			}
			return ctx.Err()
		}
	}
}
