package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/proxy/proxytest"
)

// TestP02_C015_ChildKilledTwentyTimes: the client sees nothing of the
// death of the session layer but the time it takes.
func TestP02_C015_ChildKilledTwentyTimes(t *testing.T) {
	b := sharedBedOf(t)
	a := b.agent(t, "p02")
	a.create("")
	a.wantEval("n = 0; n", "0")
	var longest time.Duration
	for i := range 20 {
		a.killChild()
		began := time.Now()
		a.wantEval("n += 1; n", fmt.Sprint(i+1))
		longest = max(longest, time.Since(began))
	}
	a.wantAlive()
	if r := a.report(); r.Counts.Starts != 21 || r.Breaker.State != "closed" {
		t.Errorf("%d children were started, the breaker is %s", r.Counts.Starts, r.Breaker.State)
	}
	t.Logf("the longest of 20 waits was %v", longest.Round(time.Millisecond))
	if longest > 5*time.Second {
		t.Errorf("a call waited %v", longest)
	}
}

// inFlight is a handful of calls of every kind, begun at once.
type inFlight struct {
	a       *agent
	counter string
	round   int
	reads   []*proxytest.Pending
	edits   map[string]*proxytest.Pending // by the text that they put into a cell
	runs    map[string]*proxytest.Pending // by the line that they write
}

func begin(a *agent, round int, target string) *inFlight {
	f := &inFlight{a: a, round: round, counter: a.b.path(fmt.Sprintf("counter-%d", round)),
		edits: map[string]*proxytest.Pending{}, runs: map[string]*proxytest.Pending{}}
	for i := range 3 {
		line := fmt.Sprintf("run %d.%d", round, i)
		code := fmt.Sprintf("import time\n%s\ntime.sleep(0.05)\nprint(%q)", counting(f.counter, line), line)
		if i == 0 {
			f.runs[line] = a.Begin("execute_code", args{"code": code})
		} else {
			f.runs[line] = a.Begin("create_cell", args{"source": code, "and_run": true})
		}
		text := fmt.Sprintf("# edit %d.%d", round, i)
		f.edits[text] = a.Begin("create_cell", args{"source": text})
		f.reads = append(f.reads, a.Begin("get_all_cells", args{}), a.Begin("get_cell", args{"cell_id": target}))
	}
	text := fmt.Sprintf("# set %d", round)
	f.edits[text] = a.Begin("set_cell", args{"cell_id": target, "source": text})
	return f
}

func (f *inFlight) lines() []string {
	text, err := os.ReadFile(f.counter)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// judge waits for all answers and compares them with what is there.
func (f *inFlight) judge(t *testing.T) {
	t.Helper()
	for _, p := range f.reads {
		good(t, "a read", p.Result(patience))
	}
	for text, p := range f.edits {
		good(t, text, p.Result(patience))
	}
	for line, p := range f.runs {
		if text := good(t, line, p.Result(patience)); !strings.Contains(text, line) {
			t.Errorf("%s was answered with %q", line, text)
		}
	}
	ran := f.lines()
	slices.Sort(ran)
	if want := []string{fmt.Sprintf("run %d.0", f.round), fmt.Sprintf("run %d.1", f.round), fmt.Sprintf("run %d.2", f.round)}; !slices.Equal(ran, want) {
		t.Errorf("round %d ran %q", f.round, ran)
	}
	cells := f.a.call("get_all_cells", args{})
	for text := range f.edits {
		if n := strings.Count(cells+"\n", text+"\n"); n != 1 {
			t.Errorf("%q is there %d times:\n%s", text, n, cells)
		}
	}
}

// TestP03_CallsInFlightAtADeath: each call is answered once, and nothing is done twice.
func TestP03_CallsInFlightAtADeath(t *testing.T) {
	b := sharedBedOf(t)
	a := b.agent(t, "p03")
	a.create("")
	target := firstMatch(t, cellPattern, a.call("create_cell", args{"source": "# target"}))
	a.wantEval("1", "1")
	for round := range 6 {
		child := a.child(0)
		f := begin(a, round, target)
		if at := round % 3; at > 0 { // else at once
			await(t, patience, "executions", func() bool { return len(f.lines()) >= at })
		}
		if round == 4 {
			b.killDaemon(t)
		}
		kill(t, child, syscall.SIGKILL)
		f.judge(t)
	}
	a.wantAlive()
}

// TestP03_DoneButNotAnswered: the session layer dies between doing what a call
// asks for and answering it. The call is sent again and must find what was done.
// Every session layer here answers one call, the one that came to it from the
// one before, and dies after doing the next.
func TestP03_DoneButNotAnswered(t *testing.T) {
	b := sharedBedOf(t)
	helper := b.agent(t, "p03-helper")
	id := helper.create("done.ipynb")
	helper.wantEval("n = 0; n", "0")
	cell := func(source string) string {
		return firstMatch(t, cellPattern, helper.call("create_cell", args{"source": source}))
	}
	doomed, grown, moved := cell("# doomed"), cell("# grown"), cell("# moved")
	hash := firstMatch(t, hashPattern, helper.cell(grown))
	a := b.agent(t, "p03-done", "RUNT_FAILPOINTS=mcpserver/before-answer=1*off->1*kill")
	a.call("connect_notebook", args{"notebook": id})
	counter := b.path("counter-done")
	for _, step := range []struct {
		tool string
		in   args
	}{
		{"create_cell", args{"source": counting(counter, "created"), "and_run": true}},
		{"execute_code", args{"code": counting(counter, "code") + "\nn += 1"}},
		{"set_cell", args{"cell_id": grown, "source": "# grown", "expected_hash": hash}},
		{"replace_match", args{"cell_id": grown, "match": "grown", "content": "grown grown"}},
		{"replace_regex", args{"cell_id": grown, "pattern": "^# (.*)$", "content": "# <$1>"}},
		{"edit_cells", args{"operations": []args{{"op": "set", "cell_id": moved, "source": "# set"}, {"op": "delete", "cell_id": doomed}}}},
		{"delete_cell", args{"cell_id": moved}},
		{"save_notebook", args{"path": b.path("done-as.ipynb")}},
		{"create_notebook", args{"path": b.path("done-created.ipynb")}},
		{"disconnect_notebook", args{"notebook": b.path("done-created.ipynb")}},
		{"connect_notebook", args{"path": b.path("done-as.ipynb")}},
		{"restart_kernel", args{"run_all": true}},
	} {
		starts := a.report().Counts.Starts
		a.call(step.tool, step.in)
		if got := a.report().Counts.Starts; got != starts+1 {
			t.Errorf("%s: %d session layers died, want 1", step.tool, got-starts)
		}
	}
	a.wantAlive()
	if text := helper.cell(grown); !strings.Contains(text, "# <grown grown>") {
		t.Errorf("after the replacements: %q", text)
	}
	ran, err := os.ReadFile(counter)
	if err != nil || string(ran) != "created\ncode\ncreated\n" {
		t.Errorf("what ran: %q, %v", ran, err)
	}
}
