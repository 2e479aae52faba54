package kernelcases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/testenv"
)

// The ways a kernel can end while a cell of it runs.
func TestK04_KernelDeathIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source string
		words        []string
	}{
		{"C087 exit code", "import os, time\nprint('last words', flush=True)\ntime.sleep(.5)\nos._exit(42)", []string{"error", "exit code 42", "last words"}},
		{"C087 exit code at once", "import os\nos._exit(7)", []string{"error", "exit code 7"}},
		{"C089 killed", "import os, time\nprint('last words', flush=True)\ntime.sleep(.5)\nos.kill(os.getpid(), 9)", []string{"error", "SIGKILL", "out of memory", "last words"}},
		{"C087 crashed", "import ctypes, time\nprint('last words', flush=True)\ntime.sleep(.5)\nctypes.string_at(0)", []string{"error", "SIGSEGV", "last words"}},
		{"C087 terminated", "import os, signal, time\nprint('last words', flush=True)\ntime.sleep(.5)\nsignal.signal(15, signal.SIG_DFL)\nos.kill(os.getpid(), 15)", []string{"error", "SIGTERM", "last words"}},
		{"exit()", "print('bye')\nexit()", []string{"done", "bye"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := shared(t).fresh(t, nil)
			n.run("x = 1")
			never := filepath.Join(t.TempDir(), "ran")
			_, first := n.start(c.source)
			began := time.Now()
			behind := n.beginCall("create_cell", map[string]any{"source": fmt.Sprintf("open(%q, 'w')", never), "and_run": true, "timeout_secs": 60})
			text := n.result(first)
			within(t, 4*time.Second, "naming the death", began)
			want(t, text, c.words...)
			after := answerOf(n.await("the cell behind it", behind)).text
			if strings.Contains(after, "new kernel") {
				return // the old one was gone before the cell came
			}
			if c.name == "exit()" { // the kernel was not known to be leaving yet
				want(t, after, "error", "exit()")
			} else {
				want(t, after, "not run", "The kernel")
			}
			if _, err := os.Stat(never); err == nil {
				t.Error("a cell behind the dead kernel ran")
			}
			want(t, n.call("restart_kernel", nil), "restarted")
			wantOutput(t, n.run("print(x if 'x' in globals() else 'clean')"), "clean")
		})
	}
}

// A kernel that is killed from outside while nothing runs: the next run starts another one.
func TestK04_KernelKilledWhileIdle(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	pid := strings.TrimSpace(outputs(n.run("import os\nprint(os.getpid())")))
	n.call("execute_code", map[string]any{"code": "import os, threading\nthreading.Timer(.3, os.kill, (os.getpid(), 9)).start()"})
	testenv.Await(t, t.Context(), "death to be noticed", func() bool {
		_, line, _ := strings.Cut(n.call("list_notebooks", nil), n.id)
		line, _, _ = strings.Cut(line, "\n")
		return !strings.Contains(line, "idle")
	})
	again := n.run("import os\nprint(os.getpid())")
	want(t, again, "done", "SIGKILL", "new kernel", "variables of the one before are lost")
	wantNone(t, again, "\n"+pid)
	wantNone(t, n.run("print(1)"), "SIGKILL")
}

func TestK04_RestartInEveryState(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	t.Run("not started", func(t *testing.T) { want(t, n.call("restart_kernel", nil), "restarted") })
	t.Run("idle", func(t *testing.T) { want(t, n.call("restart_kernel", nil), "restarted") })
	t.Run("starting", func(t *testing.T) {
		first := n.beginCall("restart_kernel", nil)
		second := n.beginCall("restart_kernel", nil)
		want(t, n.result(first), "kernel")
		want(t, n.result(second), "restarted")
	})
	t.Run("C088 busy", func(t *testing.T) {
		cell, running := n.start("import time\nprint('begun', flush=True)\ntime.sleep(60)")
		n.awaitOutput(cell, "begun")
		behind := n.beginCall("create_cell", map[string]any{"source": "1", "and_run": true})
		want(t, n.call("restart_kernel", nil), "restarted")
		text := n.result(running)
		want(t, text, "error", "begun", "restarted")
		want(t, n.result(behind), "cancelled")
	})
	t.Run("waiting for input", func(t *testing.T) {
		want(t, n.run("input('? ')"), "waits for input")
		want(t, n.call("restart_kernel", nil), "restarted")
	})
	t.Run("dead", func(t *testing.T) {
		want(t, n.run("import os; os._exit(1)"), "exit code 1")
		want(t, n.call("restart_kernel", nil), "restarted")
	})
	t.Run("C088 counts begin again", func(t *testing.T) { want(t, n.run("'fresh'"), "· [1] ·", "'fresh'") })
}
