package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/proxy"
	"runt/internal/proxy/proxytest"
)

// agent is an MCP client of a proxy.
type agent struct {
	*proxytest.Agent
	t    testing.TB
	b    *bed
	name string // no other client of the bed has it
}

// agent starts a proxy and introduces itself. Variables are added to the environment.
func (b *bed) agent(t testing.TB, name string, env ...string) *agent {
	t.Helper()
	a := b.start(t, name, env...)
	a.Initialize()
	return a
}

func (b *bed) start(t testing.TB, name string, env ...string) *agent {
	t.Helper()
	return b.startBy(t, name, []string{b.bin.Proxy}, env...)
}

// startBy starts a proxy by a command line.
func (b *bed) startBy(t testing.TB, name string, argv []string, env ...string) *agent {
	t.Helper()
	return &agent{t: t, b: b, name: name, Agent: proxytest.Start(t, proxytest.Options{
		Argv: argv, Env: append(slices.Clone(b.env), env...), Dir: b.work, Name: name,
	})}
}

type args = map[string]any

// call calls a tool that must succeed, and returns its text.
func (a *agent) call(tool string, in args) string {
	a.t.Helper()
	began := time.Now()
	text := good(a.t, tool, a.Begin(tool, in).Result(patience))
	if took := since(began); took > slow {
		a.t.Logf("%s took %v", tool, took)
	}
	return text
}

// slow is what a call takes that is worth a line in the test's log.
const slow = 2 * time.Second

func good(t testing.TB, what string, r proxytest.Result) string {
	t.Helper()
	if r.IsError {
		t.Fatalf("%s: %s", what, r.Text)
	}
	return r.Text
}

// fails calls a tool that must fail with a code, and returns its text.
func (a *agent) fails(code domain.Code, tool string, in args) string {
	a.t.Helper()
	r := a.Begin(tool, in).Result(patience)
	if !r.IsError || !strings.Contains(r.Text, "["+string(code)+"]") {
		a.t.Fatalf("%s %v gave %q, want an error %s", tool, in, r.Text, code)
	}
	return r.Text
}

// create makes a notebook, untitled when name is "", that ends with the test, and returns its id.
func (a *agent) create(name string) string {
	a.t.Helper()
	in := args{}
	if name != "" {
		in["path"] = a.b.path(name)
	}
	return a.owned(a.call("create_notebook", in))
}

// connect opens a file that ends with the test, and returns the notebook's id.
func (a *agent) connect(path string) string {
	a.t.Helper()
	return a.owned(a.call("connect_notebook", args{"path": path}))
}

// owned registers the end of the notebook that an answer names first.
func (a *agent) owned(text string) string {
	a.t.Helper()
	id := firstMatch(a.t, idPattern, text)
	a.t.Cleanup(func() {
		a.CloseInput() // a client that is there would open the file again
		a.WaitExit(patience)
		a.b.endNotebook(a.t, id)
	})
	return id
}

func (b *bed) endNotebook(t testing.TB, id string) {
	t.Helper()
	ctx, cancel := limited()
	defer cancel()
	if b.daemon(ctx) == 0 {
		if out, err := b.command(ctx, "runt", "daemon", "start").CombinedOutput(); err != nil {
			t.Errorf("start the daemon: %v: %s", err, out)
		}
	}
	if _, err := client.ShutdownNotebook(ctx, b.socket(), domain.NotebookID(id)); err != nil {
		t.Errorf("end notebook %s: %v", id, err)
	}
}

// eval runs code without a cell and returns what it printed or gave.
func (a *agent) eval(code string) string {
	a.t.Helper()
	_, out, _ := strings.Cut(a.call("execute_code", args{"code": code}), "\n")
	return strings.TrimSpace(strings.TrimPrefix(out, "[stdout]\n"))
}

func (a *agent) wantEval(code, want string) {
	a.t.Helper()
	if got := a.eval(code); got != want {
		a.t.Fatalf("%s gives %q, want %q", code, got, want)
	}
}

var (
	idPattern        = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	cellPattern      = regexp.MustCompile(`cell-[0-9a-f-]{36}`)
	hashPattern      = regexp.MustCompile(`hash=([0-9a-f]+)`)
	executionPattern = regexp.MustCompile(`execution ([0-9a-f-]{36})`)
)

func firstMatch(t testing.TB, re *regexp.Regexp, text string) string {
	t.Helper()
	m := re.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %v in %q", re, text)
	}
	return m[len(m)-1]
}

// report is what the agent's proxy says of itself.
func (a *agent) report() proxy.Report {
	a.t.Helper()
	reports, err := proxy.Reports(filepath.Join(a.b.state(), "proxies"))
	if err != nil {
		a.t.Fatalf("read the proxies' reports: %v", err)
	}
	for _, r := range reports {
		if r.Client == a.name {
			return r
		}
	}
	return proxy.Report{}
}

// child waits for a session layer that is ready, other than that of pid before, and returns its pid.
func (a *agent) child(before int) int {
	a.t.Helper()
	var pid int
	await(a.t, patience, "a session layer", func() bool {
		r := a.report()
		pid = r.Child.PID
		return r.Child.State == "ready" && pid != before
	})
	return pid
}

// killChild kills the session layer and returns its pid.
func (a *agent) killChild() int {
	a.t.Helper()
	pid := a.child(0)
	kill(a.t, pid, syscall.SIGKILL)
	return pid
}

// wantAlive checks that the client has seen nothing of what was killed.
func (a *agent) wantAlive() {
	a.t.Helper()
	if !a.Alive() {
		a.t.Error("the proxy has closed its output")
	}
	if r := a.report(); r.PID != a.PID() || r.Counts.Refused > 0 {
		a.t.Errorf("the proxy was %d, is %d and refused %d calls", a.PID(), r.PID, r.Counts.Refused)
	}
}

// source returns the source of a cell, as get_cell shows it.
func (a *agent) cell(id string) string {
	a.t.Helper()
	return a.call("get_cell", args{"cell_id": id})
}

// peers says how many clients a notebook has, -1 when it is not open.
func (b *bed) peers(t testing.TB, id string) int {
	t.Helper()
	ctx, cancel := limited()
	defer cancel()
	rooms, err := client.ListRooms(ctx, b.socket())
	if err != nil {
		t.Fatalf("list rooms: %v", err)
	}
	for _, r := range rooms {
		if r.NotebookID == id {
			return r.ActivePeers
		}
	}
	return -1
}

// since is the time since then, for messages.
func since(then time.Time) time.Duration { return time.Since(then).Round(time.Millisecond) }

// counting is Python that appends a line to a file, to show how often it ran.
func counting(file, line string) string {
	return fmt.Sprintf("with open(%q, 'a') as f: f.write(%q)", file, line+"\n")
}

// limited is a context for what is done after a test, too.
func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}
