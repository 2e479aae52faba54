package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/profile"
)

const (
	memoryTarget = 0.5 // MB a room
	memoryRooms  = 20  // beyond the first
)

// idleNotebook has a kernel that nobody has, so that its room has none.
const idleNotebook = `{"cells": [{"cell_type": "code", "execution_count": null, "id": "c%d", "metadata": {}, "outputs": [], "source": ["print(%d)"]}],
 "metadata": {"kernelspec": {"name": "no-such-kernel", "display_name": "none", "language": "none"}}, "nbformat": 4, "nbformat_minor": 5}
`

// benchMemory measures what an open notebook without a kernel costs the daemon.
func benchMemory(ctx context.Context, o options, r *report) (err error) {
	b, err := newBed(o.bin, o.python)
	if err != nil {
		return err
	}
	b.profiled()
	c := &closers{}
	c.add(b.close)
	defer c.close(&err)
	if err := b.start(ctx); err != nil {
		return err
	}
	engine := b.engine()
	c.add(engine.Close)
	var before, after float64
	for i := range 1 + memoryRooms {
		h, err := b.openIdle(ctx, client.Options{Socket: b.socket, Engine: engine, Operator: "agent:bench"}, i)
		if err != nil {
			return err
		}
		c.add(h.Close)
		if i == 0 {
			if before, err = b.residentMB(); err != nil {
				return err
			}
		}
	}
	if after, err = b.residentMB(); err != nil {
		return err
	}
	r.amount("memory", "daemon with one idle room", unitMB, 1, before, nil)
	r.amount("memory", "each idle room beyond the first", unitMB, memoryRooms, (after-before)/memoryRooms, atMost(memoryTarget))
	return nil
}

func (b *bed) openIdle(ctx context.Context, o client.Options, i int) (*client.Handle, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("n%d.ipynb", i))
	if err := os.WriteFile(path, fmt.Appendf(nil, idleNotebook, i, i), 0o600); err != nil {
		return nil, err
	}
	h, err := client.Open(ctx, o, path, client.OpenOptions{})
	if err != nil {
		return nil, err
	}
	if _, ok := h.Notebook().Cell(domain.CellID(fmt.Sprintf("c%d", i))); !ok {
		return nil, errors.Join(fmt.Errorf("notebook %s has not its cell", path), h.Close())
	}
	return h, nil
}

// residentMB returns the memory of the daemon once it has given back what it can.
func (b *bed) residentMB() (float64, error) {
	pid := b.daemon.Process.Pid
	socket := filepath.Join(b.dir, fmt.Sprintf("runtimed-%d.sock", pid))
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Post("http://daemon"+profile.FreePath, "", nil)
	if err != nil {
		return 0, fmt.Errorf("free memory: %w", err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusNoContent {
		return 0, fmt.Errorf("free memory: %s, %w", res.Status, err)
	}
	out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ask for memory: %w", err)
	}
	kb, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kb / 1024, err
}
