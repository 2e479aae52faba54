package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/proxy/rpcline"
	"runt/internal/testenv"
)

// install puts programs into a folder as an upgrade does: the new file is there
// under its name from one moment to the next, and the old one lives on with who runs it.
func install(t testing.TB, dir string, from testenv.Programs, names ...string) {
	t.Helper()
	for _, name := range names {
		tmp := filepath.Join(dir, name+".new")
		if err := os.Link(filepath.Join(from.Dir, name), tmp); err != nil {
			data, readErr := os.ReadFile(filepath.Join(from.Dir, name)) // on another disk
			if readErr != nil {
				t.Fatal(readErr)
			}
			if err := os.WriteFile(tmp, data, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

var programs = []string{"runt", "runtimed", "runt-mcp-proxy"}

// installed is a bed whose programs are in a folder of their own.
func installed(t testing.TB) *bed {
	t.Helper()
	dir := testenv.ShortDir(t)
	install(t, dir, testenv.Binaries(t), programs...)
	return newBed(t, testenv.Programs{Dir: dir, Runt: filepath.Join(dir, "runt"), Runtd: filepath.Join(dir, "runtimed"), Proxy: filepath.Join(dir, "runt-mcp-proxy")})
}

const next = "next" // the version of the upgrade

// banners counts the messages about an upgrade that the client has got.
func (a *agent) banners() []string {
	var texts []string
	for _, m := range a.Received() {
		if text, ok := rpcline.GetString(m.Params, "data"); ok && m.Method == "notifications/message" && strings.Contains(text, "upgrade") {
			texts = append(texts, text)
		}
	}
	return texts
}

// TestP11_C016_ProgramReplacedWhileRunning: taken up when nothing is in flight, not before.
func TestP11_C016_ProgramReplacedWhileRunning(t *testing.T) {
	b, upgrade := installed(t), testenv.BinariesOf(t, next)
	a := b.agent(t, "p11")
	a.create("")
	a.wantEval("kept = 42; kept", "42")
	before := a.report()
	long := a.Begin("execute_code", args{"code": "import time\ntime.sleep(2)\nprint('slept', kept)"})
	install(t, b.bin.Dir, upgrade, "runt")
	await(t, patience, "the proxy to see the new program", func() bool { return a.report().Child.Stale })
	if now := a.report(); now.Child.PID != before.Child.PID || now.InFlight != 1 {
		t.Errorf("during a call the session layer was replaced: %+v", now.Child)
	}
	if text := good(t, "the call in flight", long.Result(patience)); !strings.Contains(text, "slept 42") {
		t.Errorf("the call in flight: %s", text)
	}
	pid := a.child(before.Child.PID)
	if r := a.report(); r.Child.Version != next || r.Counts.Crashes != 0 || r.Child.Stale {
		t.Errorf("session layer %d after the upgrade: %+v", pid, r)
	}
	a.wantEval("kept", "42")
	install(t, b.bin.Dir, upgrade, "runtimed") // the daemon follows, which this session layer need not be replaced for
	b.runt(t, "daemon", "restart")
	a.wantEval("kept", "42")
	if now := a.report(); now.Child.PID != pid {
		t.Errorf("the session layer was %d and is %d", pid, now.Child.PID)
	}
	if texts := a.banners(); len(texts) != 1 || !strings.Contains(texts[0], " to "+next) {
		t.Errorf("banners %q", texts)
	}
	a.wantAlive()
}

// TestK02_C002_C009_DaemonUpgrade: the next version of the three
// programs is put in place while a cell runs, and the daemon restarted. The
// session layer goes with exit code 75, the next one finds the running cell, and
// the client sees one message about it and its own answer.
func TestK02_C002_C009_DaemonUpgrade(t *testing.T) {
	b, upgrade := installed(t), testenv.BinariesOf(t, next)
	a := b.agent(t, "k02")
	id := a.create("")
	a.call("save_notebook", args{"path": b.path("k02.ipynb")})
	a.wantEval("kept = 42; kept", "42")
	cells := a.call("get_all_cells", args{})
	before := a.report()
	old := b.daemon(t.Context())

	long := a.Begin("create_cell", args{"source": "import time\nfor i in range(30):\n    print('line', i)\n    time.sleep(0.1)\nkept += 1", "and_run": true, "timeout_secs": 60})
	await(t, patience, "the cell to run", func() bool { return strings.Contains(b.runt(t, "ps"), "busy") })
	install(t, b.bin.Dir, upgrade, programs...)
	began := time.Now()
	out := b.runt(t, "daemon", "restart")
	restarted := since(began)
	read := a.call("get_cell", args{"cell_id": firstMatch(t, idPattern, cells)})
	answered := since(began)
	text := good(t, "the call in flight", long.Result(patience))
	finished := since(began)

	for i := range 30 {
		if line := fmt.Sprintf("line %d\n", i); strings.Count(text+"\n", line) != 1 {
			t.Fatalf("%q is not there once:\n%s", line, text)
		}
	}
	r := a.report()
	if r.Counts.Upgrades != 1 || r.Counts.Crashes != 0 || r.Counts.Starts != before.Counts.Starts+1 || r.Counts.Resent == 0 || r.Child.Version != next {
		t.Errorf("after the upgrade the proxy says %+v", r)
	}
	if now := b.daemon(t.Context()); now == old || !strings.Contains(out, "daemon "+next+" runs") {
		t.Errorf("the daemon was %d and is %d: %s", old, now, out)
	}
	if state := a.notebooks()[id]; !strings.HasPrefix(state, b.path("k02.ipynb")) {
		t.Errorf("C009: the notebook is %q", state)
	}
	a.wantEval("kept", "43")
	if texts := a.banners(); len(texts) != 1 || !strings.Contains(texts[0], " to "+next) {
		t.Errorf("banners %q", texts)
	}
	a.wantAlive()
	t.Logf("$ runt daemon restart\n%s(%v)\nget_cell, sent then, was answered %v after the restart was asked for:\n%s\nthe cell that ran meanwhile, after %v:\n%s\nmessages to the client: %q",
		out, restarted, answered, read, finished, text, a.banners())
}
