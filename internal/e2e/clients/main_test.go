// Package clients runs the programs as they are installed and lets several
// agents work with them at once, over stdio through the proxy and over HTTP: our
// own fakes, and with the build tag conformance the MCP software of others.
package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/paths"
	"runt/internal/proxy/proxytest"
	"runt/internal/testenv"
)

// patience is how long anything may take on a machine that has much else to do.
const patience = 60 * time.Second

const token = "the-token-of-the-tests"

// bed is a folder with a daemon of its own.
type bed struct {
	t    testing.TB
	dir  string
	work string // folder of the notebooks
	bin  testenv.Programs
	env  []string
}

func newBed(t testing.TB) *bed {
	t.Helper()
	bin, python := testenv.Binaries(t), testenv.PythonBin(t)
	dir := testenv.ShortDir(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, dir: dir, work: filepath.Join(dir, "w"), bin: bin}
	for _, sub := range []string{"w", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	foreign := func(v string) bool {
		return strings.HasPrefix(v, "RUNT") || strings.HasPrefix(v, "NTERACT") || strings.HasPrefix(v, "XDG_") || strings.HasPrefix(v, "PYTHONPATH=")
	}
	b.env = append(slices.DeleteFunc(os.Environ(), foreign),
		"HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME="+filepath.Join(cache, "runt-test", "xdg"),
		paths.EnvSocket+"="+b.socket(), paths.EnvState+"="+b.state(), "RUNT_MCP_TOKEN="+token, "GORACE=atexit_sleep_ms=0",
		"PATH="+bin.Dir+":"+python+":"+os.Getenv("PATH"), "VIRTUAL_ENV="+filepath.Dir(python))
	t.Cleanup(b.end)
	return b
}

func (b *bed) socket() string { return filepath.Join(b.dir, "s") }

func (b *bed) state() string { return filepath.Join(b.dir, "st") }

func (b *bed) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin.Dir, name), args...)
	cmd.Env, cmd.Dir = b.env, b.work
	return cmd
}

// end ends the notebooks and the daemon; one that a test killed is started for that.
func (b *bed) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if b.t.Failed() {
		log, err := os.ReadFile(filepath.Join(b.state(), "runtimed.log"))
		b.t.Logf("the daemon's log (%v):\n%s", err, log[max(0, len(log)-8_000):])
	}
	run := func(args ...string) {
		if out, err := b.command(ctx, "runt", args...).CombinedOutput(); err != nil {
			b.t.Errorf("runt %v: %v: %s", args, err, out)
		}
	}
	run("daemon", "start")
	rooms, err := client.ListRooms(ctx, b.socket())
	if err != nil {
		b.t.Errorf("list rooms: %v", err)
	}
	for _, r := range rooms {
		if _, err := client.ShutdownNotebook(ctx, b.socket(), domain.NotebookID(r.NotebookID)); err != nil {
			b.t.Errorf("end notebook: %v", err)
		}
	}
	testenv.Await(b.t, ctx, "the end of the kernel hosts", func() bool {
		left, err := filepath.Glob(filepath.Join(b.state(), "hosts", "*", "sock"))
		return err == nil && len(left) == 0
	})
	run("daemon", "stop")
}

// daemon says which process serves the socket, 0 for none.
func (b *bed) daemon() int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	info, err := client.DaemonInfo(ctx, b.socket())
	if err != nil {
		return 0
	}
	return info.PID
}

// stdio starts an agent that talks through a proxy.
func (b *bed) stdio(name string) *proxytest.Agent {
	b.t.Helper()
	a := proxytest.Start(b.t, proxytest.Options{Argv: []string{b.bin.Proxy}, Env: b.env, Dir: b.work, Name: name})
	a.Initialize()
	return a
}

// server is `runt mcp --http`.
type server struct {
	url   string
	cmd   *exec.Cmd
	ended chan string // gets what it said, when it has closed its outputs
}

// serve starts a server for as long as the test lasts, and returns its address.
func (b *bed) serve() string {
	b.t.Helper()
	s := b.startServer("127.0.0.1:0")
	b.t.Cleanup(func() { s.stop(b.t) })
	return s.url
}

func (b *bed) startServer(addr string) *server {
	b.t.Helper()
	s := &server{cmd: b.command(context.Background(), "runt", "mcp", "--http", addr), ended: make(chan string, 1)}
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		b.t.Fatalf("start runt mcp --http: %v", err)
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	go func() {
		rest, _ := io.ReadAll(lines)
		s.ended <- string(rest)
	}()
	s.url = regexp.MustCompile(`http://\S+`).FindString(first)
	if err != nil || s.url == "" {
		b.t.Fatalf("runt mcp --http says %q, %v", first, err)
	}
	return s
}

// stop ends the server, which must exit well.
func (s *server) stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("end runt mcp --http: %v", err)
	}
	if code := s.exitCode(t); code != 0 {
		t.Errorf("runt mcp --http: exit code %d", code)
	}
}

// exitCode waits for the server's end.
func (s *server) exitCode(t testing.TB) int {
	t.Helper()
	kill := time.AfterFunc(patience/2, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	said := <-s.ended
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("wait for runt mcp --http: %v", err)
	}
	if said != "" {
		t.Logf("runt mcp --http said: %s", said)
	}
	return s.cmd.ProcessState.ExitCode()
}

// must returns a function that ends the test when a call failed.
func must(t testing.TB) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

var idPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

func firstID(t testing.TB, text string) string {
	t.Helper()
	id := idPattern.FindString(text)
	if id == "" {
		t.Fatalf("no id in %q", text)
	}
	return id
}

// limited is a context that gives a condition the time of patience.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func took(since time.Time) string {
	return fmt.Sprintf("%.2f s", time.Since(since).Seconds())
}
