package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/daemon"
	"runt/internal/domain"
	"runt/internal/kernel"
	"runt/internal/testenv"
	"runt/internal/testenv/pyenv"
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
	code := m.Run()
	if shared.b != nil {
		shared.b.end()
	}
	os.Exit(code)
}

// shared is the bed of the tests that leave its daemon running.
var shared struct {
	once sync.Once
	b    *bed
	warm string // id of a notebook with a kernel that runs; see agent.warm
}

// sharedBed returns the bed that many tests share, with a folder of the test's own for its agents.
func sharedBed(t testing.TB) *bed {
	t.Helper()
	shared.once.Do(func() { shared.b = makeBed(t, os.TempDir()) })
	if shared.b == nil {
		t.Fatal("the shared daemon did not start")
	}
	b := &bed{t: t, dir: t.TempDir(), opt: shared.b.opt, engine: shared.b.engine, d: shared.b.d, version: shared.b.version}
	return b
}

// bed is a real daemon, in this process, with real kernels.
type bed struct {
	t      testing.TB
	root   string // removed at the end
	dir    string // of the agents
	opt    daemon.Options
	engine *automerge.Engine

	mu      sync.Mutex // guards d and version
	d       *daemon.Daemon
	version string
}

// newBed returns a bed of the test's own.
func newBed(t testing.TB) *bed {
	t.Helper()
	b := makeBed(t, testenv.ShortDir(t))
	t.Cleanup(b.end)
	return b
}

func makeBed(t testing.TB, parent string) *bed {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "b")
	if err != nil {
		t.Fatal(err)
	}
	python := pyenv.Python(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, root: dir, dir: filepath.Join(dir, "work"), version: "test"}
	b.opt = daemon.Options{
		Socket: filepath.Join(dir, "s"), StateDir: filepath.Join(dir, "st"), SharedDir: filepath.Join(dir, "sh"),
		CacheDir: filepath.Join(cache, "runt-test", "wasm"), HostCommand: []string{os.Args[0], "kernel-host"},
		Log:     slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Environ: append(os.Environ(), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), "VIRTUAL_ENV="+filepath.Dir(filepath.Dir(python))),
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.engine = automerge.Open(automerge.Options{CacheDir: b.opt.CacheDir})
	b.start()
	return b
}

// end ends everything, kernels too, and removes the bed's folder.
func (b *bed) end() {
	b.endNotebooks()
	deadline := time.Now().Add(20 * time.Second)
	for hosts := 1; hosts > 0; <-time.After(10 * time.Millisecond) {
		left, err := filepath.Glob(filepath.Join(b.opt.StateDir, "hosts", "*", "sock"))
		if hosts = len(left); err != nil || hosts > 0 && time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "kernel hosts left behind:", left, err)
			break
		}
	}
	b.stop()
	if err := errors.Join(b.engine.Close(), os.RemoveAll(b.root)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (b *bed) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: level}))
}

// start starts the daemon if it does not run.
func (b *bed) start() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.d != nil {
		return
	}
	b.opt.Version = b.version
	d, err := daemon.Start(b.opt)
	if err != nil {
		b.t.Fatal(err)
	}
	b.d = d
}

// stop ends the daemon; kernels live on.
func (b *bed) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.d != nil {
		b.d.Close()
		b.d = nil
	}
}

// endNotebooks ends all notebooks with their kernels.
func (b *bed) endNotebooks() {
	b.start()
	rooms, err := client.ListRooms(context.Background(), b.opt.Socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, "list rooms:", err)
	}
	for _, r := range rooms {
		if _, err := client.ShutdownNotebook(context.Background(), b.opt.Socket, domain.NotebookID(r.NotebookID)); err != nil {
			fmt.Fprintln(os.Stderr, "end notebook:", err)
		}
	}
}

func (b *bed) options() Options {
	return Options{
		Socket: b.opt.Socket, Engine: b.engine, Version: "test", Dir: b.dir, StateDir: b.opt.SharedDir, Logger: b.logger(slog.LevelWarn),
		Getenv: func(string) string { return "" },
		StartDaemon: func(context.Context) error {
			b.start()
			return nil
		},
	}
}

// agent is an MCP client that talks to Run over pipes, one line at a time.
type agent struct {
	t    testing.TB
	in   *io.PipeWriter
	code chan int

	mu      sync.Mutex // guards the fields that follow
	last    int
	waiting map[string]chan map[string]any
	notes   []map[string]any
}

// agent starts a client of that name; change may alter the options.
func (b *bed) agent(name string, change func(*Options)) *agent {
	b.t.Helper()
	o := b.options()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	o.In, o.Out = inR, outW
	if change != nil {
		change(&o)
	}
	a := &agent{t: b.t, in: inW, code: make(chan int, 1), waiting: map[string]chan map[string]any{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		code, err := Run(context.Background(), o)
		if err != nil {
			b.t.Errorf("run: %v", err)
		}
		if err := outW.Close(); err != nil {
			b.t.Error(err)
		}
		a.code <- code
	})
	wg.Go(func() { a.read(outR) })
	b.t.Cleanup(func() {
		a.close()
		wg.Wait()
	})
	a.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": name, "version": "1"}})
	a.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return a
}

func (a *agent) close() { _ = a.in.Close() }

func (a *agent) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		var m map[string]any
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			a.t.Errorf("not JSON on stdout: %q", s.Text())
			continue
		}
		a.mu.Lock()
		if ch := a.waiting[fmt.Sprint(m["id"])]; ch != nil && m["method"] == nil {
			ch <- m
		} else {
			a.notes = append(a.notes, m)
		}
		a.mu.Unlock()
	}
}

func (a *agent) send(m map[string]any) {
	a.t.Helper()
	line, err := json.Marshal(m)
	if err == nil {
		_, err = a.in.Write(append(line, '\n'))
	}
	if err != nil {
		a.t.Errorf("send: %v", err)
	}
}

// begin sends a request and returns where its answer will be.
func (a *agent) begin(method string, params any) (id int, answer <-chan map[string]any) {
	a.t.Helper()
	a.mu.Lock()
	a.last++
	id = a.last
	ch := make(chan map[string]any, 1)
	a.waiting[fmt.Sprint(id)] = ch
	a.mu.Unlock()
	a.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id, ch
}

func (a *agent) request(method string, params any) map[string]any {
	a.t.Helper()
	_, ch := a.begin(method, params)
	return a.await(method, ch)
}

func (a *agent) await(what string, ch <-chan map[string]any) map[string]any {
	a.t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(90 * time.Second):
		a.t.Fatalf("%s was not answered", what)
	}
	return nil
}

// beginCall sends a tool call.
func (a *agent) beginCall(name string, args map[string]any) <-chan map[string]any {
	a.t.Helper()
	_, ch := a.begin("tools/call", map[string]any{"name": name, "arguments": args})
	return ch
}

// answer is the result of a tool call.
type answer struct {
	text    string
	isError bool
	images  int
	raw     map[string]any
}

func answerOf(m map[string]any) answer {
	res, ok := m["result"].(map[string]any)
	if !ok {
		return answer{text: fmt.Sprint(m["error"]), isError: true, raw: m}
	}
	ans := answer{raw: res, isError: res["isError"] == true}
	content, _ := res["content"].([]any)
	for _, c := range content {
		block, _ := c.(map[string]any)
		switch block["type"] {
		case "text":
			ans.text += fmt.Sprint(block["text"])
		case "image":
			ans.images++
		}
	}
	return ans
}

func (a *agent) try(name string, args map[string]any) answer {
	a.t.Helper()
	return answerOf(a.await(name, a.beginCall(name, args)))
}

// call calls a tool that must succeed, and returns its text.
func (a *agent) call(name string, args map[string]any) string {
	a.t.Helper()
	ans := a.try(name, args)
	if ans.isError {
		a.t.Fatalf("%s %v: %s", name, args, ans.text)
	}
	return ans.text
}

// fails calls a tool that must fail with the code, and returns its text.
func (a *agent) fails(code domain.Code, name string, args map[string]any) string {
	a.t.Helper()
	ans := a.try(name, args)
	if !ans.isError || !strings.HasSuffix(ans.text, "["+string(code)+"]") {
		a.t.Errorf("%s %v: got %q, want an error with the code %s", name, args, ans.text, code)
	}
	if strings.Count(ans.text, "\n") != 1 {
		a.t.Errorf("%s %v: the error has not two lines: %q", name, args, ans.text)
	}
	return ans.text
}

var idPattern = regexp.MustCompile(`cell-[0-9a-f-]{8,}|[0-9a-f]{8}-[0-9a-f-]{27}`)

// firstID is the first id in a text, as an agent would pick it.
func firstID(t testing.TB, text string) string {
	t.Helper()
	id := idPattern.FindString(text)
	if id == "" {
		t.Fatalf("no id in %q", text)
	}
	return id
}

func wantWords(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}
