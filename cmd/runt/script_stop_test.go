package main

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/paths"
)

// stopDaemon ends what a script left running: its notebooks with their kernels, then the daemon.
func stopDaemon(t *testing.T, home string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := paths.For(filepath.Join(home, "s"))
	rooms, err := client.ListRooms(ctx, p.Socket)
	if err != nil {
		return // none runs
	}
	for _, r := range rooms {
		if _, err := client.ShutdownNotebook(ctx, p.Socket, domain.NotebookID(r.NotebookID)); err != nil {
			t.Errorf("stop notebook %s: %v", r.NotebookID, err)
		}
	}
	if err := daemonStop(ctx, p, io.Discard); err != nil {
		t.Errorf("stop daemon: %v", err)
	}
}
