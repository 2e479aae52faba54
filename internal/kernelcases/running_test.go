package kernelcases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/testenv"
)

// One interrupt during a run of all cells: the running one ends, the others never run.
func TestC073_InterruptDuringRunAll(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	never := filepath.Join(t.TempDir(), "ran")
	first := n.cell("import time\nprint('begun', flush=True)\ntime.sleep(60)")
	n.cell(fmt.Sprintf("open(%q, 'w').close()", never))
	last := n.cell("print('last')")
	all := n.beginCall("run_all_cells", nil)
	n.awaitOutput(first, "begun")
	began := time.Now()
	text := n.call("interrupt_kernel", nil)
	within(t, 2*time.Second, "the interrupt", began)
	want(t, text, "Interrupted execution", "2 executions behind it were cancelled")
	text = n.result(all)
	want(t, text, "1 error", "2 cancelled", "KeyboardInterrupt")
	if _, err := os.Stat(never); err == nil {
		t.Error("C075: a queued cell ran after the interrupt")
	}
	if shown := n.call("get_cell", map[string]any{"cell_id": last}); strings.Contains(shown, "\nlast") {
		t.Errorf("C075: a cancelled cell has outputs:\n%s", shown)
	}
	wantOutput(t, n.run("print('next')"), "next")
}

// Interrupting an endless loop and running the next cell, many times over.
func TestK05_InterruptLoopAndGoOn(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	loop := n.cell("while True: pass")
	for i := range 50 {
		running := n.beginCall("execute_cell", map[string]any{"cell_id": loop, "timeout_secs": 60})
		if i%2 == 0 { // else the interrupt may come before the loop has begun
			n.awaitRunning(loop)
		} else {
			n.awaitQueued(loop)
		}
		began := time.Now()
		text := n.call("interrupt_kernel", nil)
		within(t, 2*time.Second, "the interrupt", began)
		want(t, text, "Interrupted execution")
		want(t, n.result(running), "error", "KeyboardInterrupt")
		wantOutput(t, n.call("execute_code", map[string]any{"code": fmt.Sprint("print(", i, ")")}), fmt.Sprint(i))
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

// awaitRunning waits until the documents say that a cell runs.
func (n *notebook) awaitRunning(cell string) {
	n.t.Helper()
	n.awaitStatus(cell, "running")
}

func (n *notebook) awaitQueued(cell string) {
	n.t.Helper()
	n.awaitStatus(cell, "running", "queued")
}

func (n *notebook) awaitStatus(cell string, statuses ...string) {
	n.t.Helper()
	last := ""
	defer func() {
		if n.t.Failed() {
			n.t.Logf("the cell as it was last:\n%s", last)
		}
	}()
	testenv.Await(n.t, n.t.Context(), "cell to be "+strings.Join(statuses, " or "), func() bool {
		last = n.call("get_cell", map[string]any{"cell_id": cell})
		_, line, _ := strings.Cut(last, "\n\n")
		for _, s := range statuses {
			if strings.Contains(line, " · "+s+" · ") {
				return true
			}
		}
		return false
	})
}

// A top-level await hears no interrupt in ipykernel: that is said, and a restart helps at once.
func TestC076_InterruptThatIsNotHeard(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	cell, running := n.start("import asyncio, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('begun', flush=True)\nawait asyncio.sleep(60)")
	n.awaitOutput(cell, "begun")
	began := time.Now()
	want(t, n.call("interrupt_kernel", nil), "has not stopped", "restart_kernel")
	within(t, 3500*time.Millisecond, "the answer", began)
	began = time.Now()
	want(t, n.call("restart_kernel", nil), "restarted")
	want(t, n.result(running), "error", "restarted")
	wantOutput(t, n.run("print('well')"), "well")
	within(t, 8*time.Second, "restart and run", began)
}

// Changing a cell while it runs and running it again gives the output of the new source.
func TestC078_NewSourceWhileTheOldOneRuns(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	cell, old := n.start("import time\nprint('begun', flush=True)\ntime.sleep(1.5)\nprint('old')")
	n.awaitOutput(cell, "begun")
	text := n.call("set_cell", map[string]any{"cell_id": cell, "source": "print('new')", "and_run": true, "timeout_secs": 60})
	wantOutput(t, text, "new")
	was := n.result(old)
	wantOutput(t, was, "begun\nold")
	if executionOf(t, text) == executionOf(t, was) {
		t.Error("two runs, one execution id")
	}
	want(t, n.call("get_cell", map[string]any{"cell_id": cell}), "print('new')", "\nnew")
	want(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, was)}), "begun\nold")
}

func TestC080_ErrorsAreErrors(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	for source, words := range map[string][]string{
		"1/0":                              {"ZeroDivisionError: division by zero"},
		"raise ValueError('\\x1b[31mred')": {"ValueError", "red"},
		"raise RuntimeError":               {"RuntimeError"},
		"def f(:":                          {"SyntaxError"},
		"import sys; sys.exit(3)":          {"SystemExit: 3"},
		"%nosuchmagic":                     {"nosuchmagic"},
		"raise ExceptionGroup('several', [ValueError('one'), OSError('two')])": {"ExceptionGroup: several", "ValueError: one", "OSError: two"},
		"raise BaseExceptionGroup('b', [KeyboardInterrupt('k')])":              {"BaseExceptionGroup: b", "KeyboardInterrupt: k"},
	} {
		text := n.run(source)
		if !strings.Contains(strings.SplitN(text, "\n", 2)[0], " · error · ") {
			t.Errorf("%s: not an error:\n%s", source, text)
		}
		want(t, text, words...)
		want(t, n.call("get_cell", map[string]any{"cell_id": firstID(t, text)}), words...)
		if source != "%nosuchmagic" {
			continue
		}
	}
	listed := n.call("get_all_cells", map[string]any{"errors_only": true})
	want(t, listed, "ZeroDivisionError", "ExceptionGroup")
	wantOutput(t, n.run("print('lives')"), "lives")
}

// A call whose time is over leaves the run going; the next run waits for it.
func TestC081_TimeoutLeavesTheRunGoing(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	log := filepath.Join(t.TempDir(), "log")
	note := func(word string) string { return fmt.Sprintf("open(%q, 'a').write(%q)\n", log, word+" ") }
	cell := n.cell("import time\n" + note("in") + "print('begun', flush=True)\ntime.sleep(2)\n" + note("out") + "print('over')")
	text := n.call("execute_cell", map[string]any{"cell_id": cell, "timeout_secs": 0.6})
	want(t, text, "running", "begun", "get_results execution_id="+executionOf(t, text))
	next := n.run(note("next") + "print('mine')")
	wantOutput(t, next, "mine")
	full := n.call("get_results", map[string]any{"execution_id": executionOf(t, text), "wait_secs": 20})
	wantOutput(t, full, "begun\nover")
	if b, err := os.ReadFile(log); err != nil || string(b) != "in out next " {
		t.Errorf("order %q, %v", b, err)
	}
}

// With a progress token a long run reports at once and then every ten seconds at the latest.
func TestC082_ProgressOfALongRun(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	cell := n.cell("import time\nfor i in range(12):\n    print('step', i, flush=True)\n    time.sleep(1)")
	_, ch := n.begin("tools/call", map[string]any{"_meta": map[string]any{"progressToken": "p"}, "name": "execute_cell", "arguments": map[string]any{"cell_id": cell}})
	want(t, answerOf(n.await("run", ch)).text, "step 11", "done")
	n.mu.Lock()
	defer n.mu.Unlock()
	var messages []string
	for _, note := range n.notes {
		if p, _ := note["params"].(map[string]any); note["method"] == "notifications/progress" {
			messages = append(messages, fmt.Sprint(p["message"]))
		}
	}
	if len(messages) < 2 || !strings.Contains(messages[len(messages)-1], "step ") {
		t.Errorf("progress: %q", messages)
	}
}

// What runs in no cell leaves nothing in the notebook, and inspecting leaves nothing at all.
func TestScratchCodeLeavesNoTrace(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	n.run("a = 41\na + 1")
	before := n.call("get_all_cells", map[string]any{"view": "outputs"})
	want(t, n.call("inspect_variables", nil), "a · int · 41")
	want(t, n.call("inspect_variables", map[string]any{"names": []string{"a", "zz"}}), "a · int · 41", "zz · not defined")
	text := n.run("print(_, _i, sorted(Out), len(In), In[-1][:5])")
	wantOutput(t, text, "42 a = 41\na + 1 [1] 3 print")
	want(t, text, "[2]")
	after := n.call("get_all_cells", map[string]any{"view": "outputs"})
	if !strings.HasPrefix(outputs(after), outputs(before)) || !strings.Contains(after, "3 cells") {
		t.Errorf("inspecting changed the notebook:\n%s\nbefore:\n%s", after, before)
	}
	want(t, n.call("execute_code", map[string]any{"code": "b = a + 1; b"}), "(no cell)", "42")
	want(t, n.call("get_all_cells", nil), "3 cells")
	want(t, n.call("inspect_variables", map[string]any{"names": []string{"b"}}), "b · int · 42")
	n.run("import numpy_is_not_here" + "\n")
	n.run("class Shy:\n    def __repr__(self): raise OSError\nshy, big, text, exec = Shy(), list(range(10**6)), 'x' * 10**6, None")
	want(t, n.call("inspect_variables", nil), "shy · __main__.Shy", "no repr: OSError", "big · list len 1000000", "text · str len 1000000 · 'xxx", "exec")
	_, busy := n.start("import time; time.sleep(7)")
	n.fails(domain.CodeTimeout, "inspect_variables", nil)
	n.result(busy)
	want(t, n.run("get_ipython().user_ns.get('__runt_inspect', 'gone')"), "'gone'")
}
