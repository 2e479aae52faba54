package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/kernel"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/testenv"
	"runt/internal/testenv/pyenv"
	"runt/internal/wire"
)

// TestMain lets this binary be the kernel host that the daemon under test starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "kernel-host" {
		if err := kernel.RunHost(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// bed is a daemon under test, with an engine for its clients.
type bed struct {
	t      *testing.T
	opt    Options
	d      *Daemon
	engine *automerge.Engine
}

func newBed(t *testing.T, change func(*Options)) *bed {
	t.Helper()
	dir := testenv.ShortDir(t)
	python := pyenv.Python(t)
	cfg := room.DefaultConfig()
	opt := Options{Socket: filepath.Join(dir, "s"), StateDir: filepath.Join(dir, "st"), SharedDir: filepath.Join(dir, "sh"),
		CacheDir: testCache(t), HostCommand: []string{os.Args[0], "kernel-host"}, Version: "test", Config: cfg,
		Log:     slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Environ: append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), "VIRTUAL_ENV="+filepath.Dir(filepath.Dir(python)))}
	if change != nil {
		change(&opt)
	}
	b := &bed{t: t, opt: opt, engine: automerge.Open(automerge.Options{CacheDir: opt.CacheDir})}
	b.start()
	t.Cleanup(func() {
		b.endNotebooks()
		b.d.Close()
		if err := b.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// testCache is shared by all tests, so that the engine is compiled once.
func testCache(t *testing.T) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "runt-test", "wasm")
}

func (b *bed) start() {
	b.t.Helper()
	d, err := Start(b.opt)
	if err != nil {
		b.t.Fatal(err)
	}
	b.d = d
}

func (b *bed) endNotebooks() {
	for _, i := range b.d.rooms.list() {
		b.d.shutdownNotebook(i.ID)
	}
}

func (b *bed) options(label string) client.Options {
	return client.Options{Socket: b.opt.Socket, Engine: b.engine, Operator: "agent:" + label, Label: label,
		Logger: slog.New(slog.NewTextHandler(b.t.Output(), nil))}
}

func (b *bed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), 60*time.Second)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bed) create(co client.CreateOptions) *client.Handle {
	b.t.Helper()
	h, err := client.Create(b.ctx(), b.options("tester"), co)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = h.Close() })
	return h
}

func (b *bed) open(path string) *client.Handle {
	b.t.Helper()
	h, err := client.Open(b.ctx(), b.options("tester"), path, client.OpenOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = h.Close() })
	return h
}

func (b *bed) join(id domain.NotebookID) *client.Handle {
	b.t.Helper()
	h, err := client.Join(b.ctx(), b.options("tester"), id)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = h.Close() })
	return h
}

// add makes a cell and returns its id.
func (b *bed) add(h *client.Handle, source string) domain.CellID {
	b.t.Helper()
	id := domain.CellID("cell-" + b.d.deps.IDs.UUID())
	if _, err := h.Edit(b.ctx(), func(tx *notebook.Tx) error {
		return tx.AddCell(notebook.NewCell{ID: id, Source: source}, notebook.Last)
	}); err != nil {
		b.t.Fatal(err)
	}
	return id
}

// run executes a cell and returns its end.
func (b *bed) run(h *client.Handle, cell domain.CellID) wire.ExecutionDone {
	b.t.Helper()
	ctx := b.ctx()
	x, err := h.Execute(ctx, cell, domain.ExecutionID(b.d.deps.IDs.UUID()), client.ExecuteOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	select {
	case <-x.Done():
	case <-ctx.Done():
		b.t.Fatal("the execution did not end")
	}
	if err := x.Err(); err != nil {
		b.t.Fatal(err)
	}
	return x.Result()
}

// text returns what an execution printed, or its result as text.
func text(done wire.ExecutionDone) string {
	var s strings.Builder
	for _, raw := range done.Outputs {
		var m struct {
			Text   struct{ Inline string }
			Data   map[string]struct{ Inline string }
			EValue string
		}
		if json.Unmarshal(raw, &m) == nil {
			s.WriteString(m.Text.Inline + m.Data["text/plain"].Inline + m.EValue)
		}
	}
	return s.String()
}

func TestExecuteAnswersWithTheLastOutput(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{})
	for i := range 20 {
		cell := b.add(h, fmt.Sprintf("print('line', %d)\n%d*2", i, i))
		done := b.run(h, cell)
		if got, want := text(done), fmt.Sprintf("line %d\n%d", i, i*2); got != want || done.Status != wire.StatusDone {
			t.Fatalf("run %d: %s %q, want %q", i, done.Status, got, want)
		}
	}
	done := b.run(h, b.add(h, "1/0"))
	if done.Status != wire.StatusError || !strings.Contains(text(done), "division by zero") {
		t.Errorf("error: %s %q", done.Status, text(done))
	}
}

func TestR02_JoiningARandomIDMakesNoRoom(t *testing.T) {
	b := newBed(t, nil)
	before := len(b.d.rooms.list())
	for range 100 {
		_, err := client.Join(b.ctx(), b.options("tester"), domain.NotebookID(b.d.deps.IDs.UUID()))
		if got := domain.CodeOf(err); got != domain.CodeNotebookUnavailable {
			t.Fatalf("joining a random id: %v, want %s", err, domain.CodeNotebookUnavailable)
		}
	}
	if got := len(b.d.rooms.list()); got != before {
		t.Errorf("%d rooms, want %d", got, before)
	}
}

func TestK01_KernelAndCellsOutliveTheDaemon(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{})
	if done := b.run(h, b.add(h, "v = 41\nprint('set')")); done.Status != wire.StatusDone {
		t.Fatalf("setting v: %+v", done)
	}
	id, cells := h.ID(), h.Notebook().Len()
	b.d.Close()
	b.start()
	h2 := b.join(id)
	if got := h2.Notebook().Len(); got != cells {
		t.Errorf("%d cells after the restart, want %d", got, cells)
	}
	found := false
	for _, x := range h2.Runtime().Executions() {
		found = found || len(x.Outputs) == 1 && x.Status == wire.StatusDone
	}
	if !found {
		t.Errorf("the output is gone: %+v", h2.Runtime().Executions())
	}
	if done := b.run(h2, b.add(h2, "v + 1")); text(done) != "42" {
		t.Errorf("v + 1 after the restart: %s %q", done.Status, text(done))
	}
}
