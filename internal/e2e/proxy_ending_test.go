package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/testenv"
)

// relay is a client that another process plays: it hands on what it reads and
// can be killed.
const relay = `
import subprocess, sys
p = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    p.stdin.write(line)
    p.stdin.flush()
`

// TestP09_C019_EndsWithItsClient: however the client goes, while a cell
// runs, proxy and session layer are gone within 5 s and the notebook has lost
// those peers; the daemon, the kernel and the running cell stay.
func TestP09_C019_EndsWithItsClient(t *testing.T) {
	b := sharedBedOf(t)
	stays := b.agent(t, "p09-stays")
	id := stays.create("")
	stays.wantEval("ended = []; ended", "[]")
	daemon := b.daemon(t.Context())

	closes, signalled := b.agent(t, "p09-closes"), b.agent(t, "p09-signalled")
	client := b.startBy(t, "p09-killed", []string{testenv.Python(t), "-c", relay, b.bin.Proxy})
	client.Initialize()
	running := closes
	leavers := []*agent{closes, signalled, client}
	var pids []int
	for _, a := range leavers {
		a.call("connect_notebook", args{"notebook": id})
		r := a.report()
		pids = append(pids, r.PID, r.Child.PID)
	}
	text := running.call("create_cell", args{"source": "import time\nfor i in range(40):\n    print('tick', i)\n    time.sleep(0.1)\nended.append('the cell')", "and_run": true, "timeout_secs": 0})
	execution := firstMatch(t, executionPattern, text)
	for _, a := range leavers { // each waits for the end of the cell when its client goes
		a.Begin("get_results", args{"execution_id": execution, "wait_secs": 60})
	}
	if n := b.peers(t, id); n != 4 {
		t.Fatalf("%d peers, want 4", n)
	}

	began := time.Now()
	closes.CloseInput()
	signalled.Signal(syscall.SIGTERM)
	client.Kill()
	await(t, patience, "the end of the proxies", func() bool { return !slices.ContainsFunc(pids, alive) })
	took := since(began)
	await(t, patience, "the peers to be gone", func() bool { return b.peers(t, id) == 1 })
	t.Logf("proxies and session layers were gone after %v, their peers after %v", took, since(began))
	if took > 5*time.Second {
		t.Errorf("they were gone only after %v", took)
	}
	if code := closes.WaitExit(patience); code != 0 {
		t.Errorf("exit code %d after the end of input", code)
	}

	if now := b.daemon(t.Context()); now != daemon {
		t.Errorf("the daemon was %d and is %d", daemon, now)
	}
	results := stays.call("get_results", args{"execution_id": execution, "wait_secs": 30})
	for i := range 40 {
		if strings.Count(results+"\n", fmt.Sprintf("tick %d\n", i)) != 1 {
			t.Errorf("line %d is not there once:\n%s", i, results)
			break
		}
	}
	stays.wantEval("ended", "['the cell']")
}

// TestC017_C024_HeadlessStart: what a client asks first is answered without a
// daemon; the first call of a tool starts one, over whatever a crash has left.
func TestC017_C024_HeadlessStart(t *testing.T) {
	b := newBed(t, testenv.Binaries(t))
	for name, text := range map[string]string{b.socket(): "", b.socket() + ".lock": "pid 1\n"} { // of a process that lives and is no daemon
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := b.start(t, "c017")
	began := time.Now()
	a.Initialize()
	tools := a.Request("tools/list", struct{}{}).Wait(patience)
	took := since(began)
	if took > 2*time.Second || !strings.Contains(string(tools.Result), "connect_notebook") {
		t.Errorf("initialize and tools/list took %v: %.200s", took, tools.Result)
	}
	if pid := b.daemon(t.Context()); pid != 0 {
		t.Errorf("daemon %d runs and nobody has asked for it", pid)
	}
	began = time.Now()
	if text := a.call("list_notebooks", args{}); !strings.Contains(text, "No notebook is open") {
		t.Errorf("list_notebooks: %s", text)
	}
	t.Logf("initialize and tools/list took %v, the first call, which starts the daemon, %v", took, since(began))
	if again := a.Request("tools/list", struct{}{}).Wait(patience); string(again.Result) != string(tools.Result) {
		t.Error("the list of tools has changed with the daemon's start")
	}
}
