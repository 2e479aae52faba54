package kernelcases

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/daemon"
	"runt/internal/domain"
	"runt/internal/kernel"
	"runt/internal/mcpserver"
	"runt/internal/room"
	"runt/internal/testenv"
)

// TestMain lets this binary be the kernel host of the daemons under test, and
// ends the daemon that the tests shared.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "kernel-host" {
		if err := kernel.RunHost(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil { // they mostly wait for kernels
		fmt.Fprintln(os.Stderr, err)
	}
	code := m.Run()
	if common.bed != nil {
		if err := common.bed.end(); err != nil {
			fmt.Fprintln(os.Stderr, "end of the shared daemon:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// bed is a daemon in this process, with folders of its own.
type bed struct {
	root   string // of everything
	dir    string // of the agents
	opt    daemon.Options
	engine *automerge.Engine
	log    *slog.Logger

	mu   sync.Mutex // guards the fields that follow
	d    *daemon.Daemon
	idle []*notebook // that may be borrowed
}

// common is the daemon that the tests share.
var common struct {
	mu  sync.Mutex // guards bed
	bed *bed
}

// shared returns the daemon that all tests share.
func shared(t testing.TB) *bed {
	t.Helper()
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.bed == nil {
		b, err := newBed(t, func(o *daemon.Options) { o.Config.KeepAlive = time.Hour })
		if err != nil {
			t.Fatal(err)
		}
		common.bed = b
	}
	return common.bed
}

// alone returns a daemon for one test, with its options changed.
func alone(t testing.TB, change func(*daemon.Options)) *bed {
	t.Helper()
	b, err := newBed(t, change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func newBed(t testing.TB, change func(*daemon.Options)) (*bed, error) {
	python := testenv.Python(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp("/tmp", "rk") // short, for sockets
	if err != nil {
		return nil, err
	}
	b := &bed{root: root, dir: filepath.Join(root, "work"), log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))}
	b.opt = daemon.Options{
		Socket: filepath.Join(root, "s"), StateDir: filepath.Join(root, "st"), SharedDir: filepath.Join(root, "sh"),
		CacheDir: filepath.Join(cache, "runt-test", "wasm"), HostCommand: []string{os.Args[0], "kernel-host"}, Version: "test",
		Config: room.DefaultConfig(), Log: b.log,
		Environ: append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), "VIRTUAL_ENV="+filepath.Dir(filepath.Dir(python)),
			"JUPYTER_PATH="+filepath.Join(root, "jupyter")),
	}
	change(&b.opt)
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		return nil, err
	}
	b.engine = automerge.Open(automerge.Options{CacheDir: b.opt.CacheDir})
	b.d, err = daemon.Start(b.opt)
	return b, err
}

// restart ends the daemon, not its kernels, and starts the next one.
func (b *bed) restart(t testing.TB) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.d.Close()
	d, err := daemon.Start(b.opt)
	if err != nil {
		t.Fatal(err)
	}
	b.d = d
}

// end ends all notebooks with their kernels, and the daemon.
func (b *bed) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rooms, err := client.ListRooms(ctx, b.opt.Socket)
	var wg sync.WaitGroup
	for _, r := range rooms {
		wg.Go(func() {
			if _, err := client.ShutdownNotebook(ctx, b.opt.Socket, domain.NotebookID(r.NotebookID)); err != nil {
				b.log.Error("notebook not ended", "notebook", r.NotebookID, "error", err)
			}
		})
	}
	wg.Wait()
	b.d.Close()
	return errors.Join(err, b.engine.Close(), b.leftovers(ctx), os.RemoveAll(b.root))
}

// leftovers is an error when hosts or kernels outlive all notebooks (K13). Where
// processes cannot be listed it finds none.
func (b *bed) leftovers(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var left []string
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
		for _, f := range files {
			if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), b.root) {
				left = append(left, f+": "+strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("processes are left: %s", strings.Join(left, "\n"))
		}
	}
}

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

// agent connects an MCP client of that name.
func (b *bed) agent(t testing.TB, name string) *agent {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	o := mcpserver.Options{
		In: inR, Out: outW, Socket: b.opt.Socket, Engine: b.engine, Version: "test", Dir: b.dir, StateDir: b.opt.SharedDir, Logger: b.log,
		Getenv: func(string) string { return "" },
	}
	a := newAgent(t, inW)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := mcpserver.Run(context.Background(), o); err != nil {
			t.Errorf("session of %s: %v", name, err)
		}
		if err := outW.Close(); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() { a.read(outR) })
	t.Cleanup(func() {
		a.close()
		wg.Wait()
	})
	a.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": name, "version": "1"},
		"_meta": map[string]any{"runt/session": domain.RandomIDs{Rand: rand.Reader}.UUID()}})
	a.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return a
}

// notebook is one that an agent holds.
type notebook struct {
	*agent
	bed *bed
	id  string
}

// fresh makes a notebook with the arguments of create_notebook, and an agent that holds it.
func (b *bed) fresh(t testing.TB, args map[string]any) *notebook {
	t.Helper()
	n := &notebook{agent: b.agent(t, "tester"), bed: b}
	n.id = firstID(t, n.call("create_notebook", args))
	return n
}

// borrow gives a notebook whose kernel runs. It goes back when the test ends.
func (b *bed) borrow(t testing.TB) *notebook {
	t.Helper()
	b.mu.Lock()
	var old *notebook
	if n := len(b.idle); n > 0 {
		old, b.idle = b.idle[n-1], b.idle[:n-1]
	}
	b.mu.Unlock()
	var n *notebook
	if old != nil {
		n = &notebook{agent: b.agent(t, "tester"), bed: b, id: old.id}
		n.call("connect_notebook", map[string]any{"notebook": n.id})
	} else {
		n = b.fresh(t, nil)
		n.run("import os, sys, time")
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.idle = append(b.idle, n)
	})
	return n
}

// cell adds a cell and returns its id.
func (n *notebook) cell(source string) string {
	n.t.Helper()
	return firstID(n.t, n.call("create_cell", map[string]any{"source": source}))
}

// run adds a cell, runs it to its end and returns what the agent reads.
func (n *notebook) run(source string) string {
	n.t.Helper()
	return n.call("create_cell", map[string]any{"source": source, "and_run": true, "timeout_secs": 60})
}

// start adds a cell and begins to run it; the result waits in the channel.
func (n *notebook) start(source string) (cell string, result <-chan map[string]any) {
	n.t.Helper()
	cell = n.cell(source)
	return cell, n.beginCall("execute_cell", map[string]any{"cell_id": cell, "timeout_secs": 60})
}

// saved saves the notebook and returns the file, decoded.
func (n *notebook) saved(t testing.TB, name string) map[string]any {
	t.Helper()
	n.call("save_notebook", map[string]any{"path": n.bed.path(name)})
	return readFile(t, n.bed.path(name))
}
