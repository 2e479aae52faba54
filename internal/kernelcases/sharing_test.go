package kernelcases

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/daemon"
	"runt/internal/domain"
	"runt/internal/room"
	"runt/internal/testenv"
)

// An error stops what the same agent asked for in the same run, and nobody else's.
func TestK07_StopOnErrorPerSubmitter(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	other := n.bed.agent(t, "another")
	other.call("connect_notebook", map[string]any{"notebook": n.id})
	first := n.cell("time.sleep(1.5)\n1/0")
	n.cell("print('never')")
	theirs := n.cell("print('theirs')")
	run := n.beginCall("run_all_cells", map[string]any{"from_cell_id": first})
	n.awaitRunning(first)
	mine := n.beginCall("create_cell", map[string]any{"source": "print('asked for apart')", "and_run": true, "timeout_secs": 60})
	result := other.beginCall("execute_cell", map[string]any{"cell_id": theirs, "timeout_secs": 60})
	want(t, n.result(run), "1 error", "2 cancelled", "ZeroDivisionError")
	wantOutput(t, other.result(result), "theirs")
	wantOutput(t, n.result(mine), "asked for apart")
}

// C084: a run of all cells tells of each what became of it; a tag lets a cell fail.
func TestC084_RunAllTellsOfEachCell(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	ids := []string{n.cell("print('a')"), n.cell("raise ValueError('b')"), n.cell("print('c')")}
	text := n.call("run_all_cells", map[string]any{"from_cell_id": ids[0]})
	want(t, text, "1 done", "1 error", "1 cancelled", "ValueError: b")
	for i, status := range []string{"done", "error", "cancelled"} {
		want(t, text, ids[i]+" · "+status)
	}
	n.call("set_cell_metadata", map[string]any{"cell_id": ids[1], "add_tags": []string{"raises-exception"}})
	want(t, n.call("run_all_cells", map[string]any{"from_cell_id": ids[0]}), "2 done", "1 error")
	text = n.call("run_all_cells", map[string]any{"from_cell_id": ids[0], "to_cell_id": ids[0], "wait": false})
	want(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, text), "wait_secs": 20}), "done", "\na")
}

// An input() is answered by whoever may, or refused after the stated time.
func TestC091_Input(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	n.fails(domain.CodeInvalidArgument, "send_input", map[string]any{"text": "too early"})
	text := n.run("name = input('Who? ')\nprint('hello', name)")
	want(t, text, "running", "waits for input", `"Who? "`, "send_input", "10m0s")
	want(t, n.call("list_notebooks", nil), "busy")
	other := n.bed.agent(t, "helper")
	other.call("connect_notebook", map[string]any{"notebook": n.id})
	want(t, other.call("send_input", map[string]any{"text": "Ada"}), "Who? ")
	wantOutput(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, text), "wait_secs": 20}), "hello Ada")
	text = n.run("a = input(); b = input('second: '); print(a + b)")
	n.call("send_input", map[string]any{"text": "x"})
	testenv.Await(t, t.Context(), "the second question", func() bool {
		return strings.Contains(n.call("get_results", map[string]any{"execution_id": executionOf(t, text)}), "second")
	})
	n.call("send_input", map[string]any{"text": "y"})
	want(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, text), "wait_secs": 20}), "done", "xy")
	text = n.run("import getpass; p = getpass.getpass('Secret: '); print(len(p))")
	want(t, text, "Secret: ")
	n.call("send_input", map[string]any{"text": "abcd"})
	done := n.call("get_results", map[string]any{"execution_id": executionOf(t, text), "wait_secs": 20})
	want(t, done, "\n4")
	wantNone(t, done, "abcd")
}

func TestC091_InputNobodyGives(t *testing.T) {
	t.Parallel()
	b := alone(t, func(o *daemon.Options) { o.Config.InputTimeout = 700 * time.Millisecond })
	n := b.fresh(t, nil)
	text := n.run("input('Anybody? ')")
	want(t, text, "waits for input")
	testenv.Await(t, t.Context(), "the input to be refused", func() bool {
		after := n.call("get_results", map[string]any{"execution_id": executionOf(t, text)})
		return strings.Contains(after, " · error · ") && strings.Contains(after, "KeyboardInterrupt") && strings.Contains(after, "nobody answered")
	})
	wantOutput(t, n.run("print('goes on')"), "goes on")
}

// C100: nothing that a kernel started outlives its shutdown, restart, crash or the end of its notebook.
func TestK13_NothingOfAKernelIsLeft(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	children := func() []int {
		text := n.run("import subprocess, os\np = [subprocess.Popen(['sleep', '600']) for _ in range(2)]\nprint(os.getpid(), *[x.pid for x in p])")
		var pids []int
		for _, f := range strings.Fields(text[strings.LastIndex(text, "\n"):]) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatalf("process ids %q", text)
			}
			pids = append(pids, pid)
		}
		return pids
	}
	gone := func(how string, pids []int) {
		t.Helper()
		testenv.Await(t, t.Context(), "the end of processes after "+how, func() bool {
			for _, pid := range pids {
				if alive(pid) {
					return false
				}
			}
			return true
		})
	}
	pids := children()
	n.call("restart_kernel", nil)
	gone("a restart", pids)
	pids = children()
	n.run("os._exit(3)")
	gone("a crash", pids)
	pids = children()
	n.call("execute_code", map[string]any{"code": "exit()"})
	gone("exit()", pids)
	pids = children()
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone("a kill", pids)
}

// A kernel ends with its notebook: when that is ended, and when nobody comes back to it.
func TestK13_TheKernelOfAClosedNotebookEnds(t *testing.T) {
	t.Parallel()
	b := alone(t, func(o *daemon.Options) { o.Config.KeepAlive = room.MinKeepAlive })
	pids := map[string]int{}
	for _, how := range []string{"ended", "left"} {
		n := b.fresh(t, nil)
		text := n.run("import subprocess\nprint(subprocess.Popen(['sleep', '600']).pid)")
		pid, err := strconv.Atoi(strings.TrimSpace(outputs(text)))
		if err != nil {
			t.Fatal(text)
		}
		pids[how] = pid
		if how == "ended" {
			if _, err := client.ShutdownNotebook(t.Context(), b.opt.Socket, domain.NotebookID(n.id)); err != nil {
				t.Fatal(err)
			}
		}
		n.close()
	}
	for how, pid := range pids {
		testenv.Await(t, t.Context(), "the end of a process whose notebook was "+how, func() bool { return !alive(pid) })
	}
}

// alive says whether a process exists and is not a zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// Results are found by their execution's id after restarts of kernel and daemon, and when a cell has run many times since.
func TestResultsAreKept(t *testing.T) {
	t.Parallel()
	b := alone(t, func(*daemon.Options) {})
	n := b.fresh(t, nil)
	cell := n.cell("")
	var ids []string
	for i := range 14 {
		text := n.call("set_cell", map[string]any{"cell_id": cell, "source": fmt.Sprintf("print('run', %d)\n1/0 if %d == 3 else None", i, i), "and_run": true, "timeout_secs": 60})
		ids = append(ids, executionOf(t, text))
	}
	big := executionOf(t, n.run("for i in range(20000): print('big', i)"))
	scratch := executionOf(t, n.call("execute_code", map[string]any{"code": "print('scratch')"}))
	check := func(when string) {
		t.Helper()
		for i, id := range ids {
			text := n.call("get_results", map[string]any{"execution_id": id})
			want(t, text, fmt.Sprint("run ", i), id)
			if i == 3 {
				want(t, text, "ZeroDivisionError", " · error")
			}
		}
		want(t, n.call("get_results", map[string]any{"execution_id": big}), "big 0", "big 19999")
		want(t, n.call("get_results", map[string]any{"execution_id": scratch}), "scratch")
		if t.Failed() {
			t.Fatal(when)
		}
	}
	check("at once")
	n.call("restart_kernel", nil)
	check("after a restart of the kernel")
	b.restart(t)
	check("after a restart of the daemon")
	stranger := b.agent(t, "stranger")
	want(t, stranger.call("get_results", map[string]any{"execution_id": ids[0]}), "run 0")
	stranger.fails(domain.CodeInvalidArgument, "get_results", map[string]any{"execution_id": "7"})
}

// C029: two agents on one file share the kernel and see each other's variables.
func TestC029_OneKernelForAFile(t *testing.T) {
	t.Parallel()
	b := shared(t)
	path := b.path("one kernel.ipynb")
	one := &notebook{agent: b.agent(t, "one"), bed: b}
	one.call("create_notebook", map[string]any{"path": path})
	two := &notebook{agent: b.agent(t, "two"), bed: b}
	two.call("connect_notebook", map[string]any{"path": path})
	var wg sync.WaitGroup
	var a, c string
	wg.Go(func() { a = one.run("import os; print(os.getpid())") })
	wg.Go(func() { c = two.run("import os; print(os.getpid())") })
	wg.Wait()
	if outputs(a) != outputs(c) {
		t.Errorf("kernels %s and %s", a, c)
	}
	one.run("shared_name = 7")
	wantOutput(t, two.run("shared_name"), "7")
	if cwd := outputs(two.run("print(os.getcwd())")); cwd != filepath.Dir(path) {
		t.Errorf("the kernel works in %s", cwd)
	}
}
