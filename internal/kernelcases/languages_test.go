package kernelcases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/testenv"
)

// kernelspec installs a kernelspec where the daemon's kernels look.
func (b *bed) kernelspec(t testing.TB, name string, spec map[string]any) {
	t.Helper()
	dir := filepath.Join(b.root, "jupyter", "kernels", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(spec)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kernel.json"), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// toy installs a kernel of another language, which package kernel has for its tests.
func (b *bed) toy(t testing.TB, name, interruptMode string, env map[string]string) {
	t.Helper()
	script := filepath.Join(testenv.Root(t), "internal", "kernel", "testdata", "toy.py")
	b.kernelspec(t, name, map[string]any{"argv": []string{testenv.Python(t), script, "{connection_file}"},
		"display_name": "Toy of the tests", "language": "toy", "interrupt_mode": interruptMode, "env": env})
}

// C106: a kernel of another language runs, and the notebook says which.
func TestK12_KernelOfAnotherLanguage(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.toy(t, "toy", "signal", nil)
	n := b.fresh(t, map[string]any{"kernel": "toy"})
	wantOutput(t, n.run("echo hello toy"), "hello toy")
	want(t, n.run("fail on purpose"), " · error · ", "ValueError: on purpose")
	n.fails(domain.CodeInvalidArgument, "inspect_variables", nil)
	text := n.run("ask who?")
	want(t, text, "waits for input", "who?")
	n.call("send_input", map[string]any{"text": "me"})
	wantOutput(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, text), "wait_secs": 20}), "me")
	text = n.run("echo last words\nsleep 0.1\nexit 5")
	want(t, text, "exit code 5", "last words")
	file := n.saved(t, "toy.ipynb")
	md, _ := file["metadata"].(map[string]any)
	if spec, _ := md["kernelspec"].(map[string]any); spec["name"] != "toy" || spec["language"] != "toy" || spec["display_name"] != "Toy of the tests" || !reflect.DeepEqual(md["language_info"], map[string]any{"name": "toy"}) {
		t.Errorf("the file has the metadata %v", md)
	}
}

// C085: the cells after an error do not run, also in a kernel that never says "aborted".
func TestC085_StopOnErrorInAnyKernel(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.toy(t, "toy-stop", "signal", nil)
	n := b.fresh(t, map[string]any{"kernel": "toy-stop"})
	first := n.cell("echo one")
	n.cell("fail here")
	never := n.cell("echo never")
	want(t, n.call("run_all_cells", map[string]any{"from_cell_id": first}), "1 done", "1 error", "1 cancelled", "ValueError: here")
	if shown := n.call("get_cell", map[string]any{"cell_id": never}); strings.HasSuffix(shown, "\nnever") {
		t.Errorf("it ran: %s", shown)
	}
}

// C077: a kernel whose kernelspec says so is interrupted by message; a signal would end it.
func TestC077_InterruptByMessage(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.toy(t, "toy-message", "message", map[string]string{"TOY_INTERRUPTS": "message"})
	n := b.fresh(t, map[string]any{"kernel": "toy-message"})
	cell, running := n.start("echo begun\nsleep 60")
	n.awaitOutput(cell, "begun")
	began := time.Now()
	want(t, n.call("interrupt_kernel", nil), "Interrupted execution")
	within(t, 2*time.Second, "the interrupt", began)
	want(t, n.result(running), "error", "KeyboardInterrupt")
	wantOutput(t, n.run("echo well"), "well")
}

func TestK12_BashKernel(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.kernelspec(t, "bash", map[string]any{"argv": []string{testenv.Python(t), "-m", "bash_kernel", "-f", "{connection_file}"}, "display_name": "Bash", "language": "bash", "env": map[string]string{"PS1": "$"}})
	n := b.fresh(t, map[string]any{"kernel": "bash"})
	wantOutput(t, n.run("x=41; echo $((x + 1))"), "42")
	wantOutput(t, n.run("for i in 1 2 3; do echo line $i; done"), "line 1\nline 2\nline 3")
	want(t, n.run("echo to stderr >&2; false"), "to stderr")
	cell, running := n.start("echo begun; sleep 60; echo never")
	n.awaitOutput(cell, "begun")
	want(t, n.call("interrupt_kernel", nil), "nterrupted")
	wantNone(t, outputs(n.result(running)), "never")
	wantOutput(t, n.run("echo $x"), "41")
	want(t, n.call("restart_kernel", nil), "restarted")
	wantOutput(t, n.run("echo \"[$x]\""), "[]")
}

// C106: a notebook whose kernel is not there opens and can be read; running it
// names what is missing and what there is, and Python is not started instead.
func TestC106_MissingKernelspec(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.toy(t, "toy-there", "signal", nil)
	const raw = `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 2,
   "id": "sum",
   "metadata": {},
   "outputs": [
    {
     "data": {
      "text/plain": [
       "55"
      ]
     },
     "execution_count": 2,
     "metadata": {},
     "output_type": "execute_result"
    }
   ],
   "source": [
    "sum(1:10)"
   ]
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Julia 1.9",
   "language": "julia",
   "name": "julia-1.9"
  },
  "language_info": {
   "file_extension": ".jl",
   "name": "julia",
   "version": "1.9.3"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`
	path := b.path("julia.ipynb")
	if err := os.WriteFile(path, []byte(raw), 0o644); err != nil {
		t.Fatal(err)
	}
	n := &notebook{agent: b.agent(t, "tester"), bed: b}
	opened := n.call("connect_notebook", map[string]any{"path": path})
	want(t, opened, "julia")
	want(t, n.call("get_cell", map[string]any{"cell_id": "sum"}), "sum(1:10)", "55")
	text := n.fails(domain.CodeKernelUnavailable, "execute_cell", map[string]any{"cell_id": "sum", "timeout_secs": 30})
	want(t, text, "julia-1.9", "toy-there")
	n.call("save_notebook", nil)
	var before map[string]any
	if err := json.Unmarshal([]byte(raw), &before); err != nil {
		t.Fatal(err)
	}
	if after := readFile(t, path); !reflect.DeepEqual(after["metadata"], before["metadata"]) {
		t.Errorf("the metadata became %v", after["metadata"])
	}
	n.fails(domain.CodeKernelUnavailable, "create_notebook", map[string]any{"kernel": "no-such-kernel"})
}

// C107: a kernel that ends while it starts is an error with its last words, at once.
func TestC107_KernelThatDoesNotStart(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.kernelspec(t, "false", map[string]any{"argv": []string{"false"}, "display_name": "False", "language": "none"})
	b.toy(t, "toy-broken", "signal", map[string]string{"TOY_FAILS": "no licence for this toy"})
	for name, words := range map[string]string{"false": "code 1", "toy-broken": "no licence for this toy"} {
		n := b.fresh(t, map[string]any{"kernel": name})
		began := time.Now()
		ans := n.try("create_cell", map[string]any{"source": "1", "and_run": true, "timeout_secs": 30})
		within(t, 5*time.Second, name, began)
		want(t, ans.text, words)
	}
	b.kernelspec(t, "nowhere", map[string]any{"argv": []string{"/no/such/program", "{connection_file}"}, "display_name": "N", "language": "none"})
	want(t, b.agent(t, "tester").fails(domain.CodeKernelUnavailable, "create_notebook", map[string]any{"kernel": "nowhere"}), "/no/such/program")
}
