package kernel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExecuteGivesOutputsCountAndStatus(t *testing.T) {
	c := shared(t)
	o := c.run(t, "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6*7").need(t)
	if o.stdout != "out\n" || o.stderr != "err\n" || o.result != "42" || o.done.Count == nil {
		t.Errorf("got %+v", o)
	}
	o = c.run(t, "1/0")
	if o.done.Status != StatusError || o.ename != "ZeroDivisionError" || o.done.Count == nil {
		t.Errorf("got %+v", o)
	}
	if o = c.run(t, "print('after')").need(t); o.stdout != "after\n" {
		t.Errorf("after an error: %+v", o)
	}
}

func TestSameIDRunsOnce(t *testing.T) {
	c := shared(t)
	c.run(t, "n = 0").need(t)
	x := Execute{ID: newID(), Code: "n += 1; print(n)", StoreHistory: true}
	for range 3 {
		if err := c.Execute(x); err != nil {
			t.Fatal(err)
		}
	}
	o := c.outcome(t, x.ID).need(t)
	if err := c.Execute(x); err != nil {
		t.Fatal(err)
	}
	if again := c.run(t, "n").need(t); again.result != "1" || o.stdout != "1\n" {
		t.Errorf("ran %s times, printed %q", again.result, o.stdout)
	}
}

func TestK14_ResultsComeBeforeDone(t *testing.T) {
	c := shared(t)
	for i := range 100 {
		if o := c.run(t, fmt.Sprintf("print('x' * 50)\n%d", i)).need(t); o.result != fmt.Sprint(i) || len(o.stdout) != 51 {
			t.Fatalf("round %d: %+v", i, o)
		}
	}
}

// checkLines fails the test unless text is the numbers from 0 to n-1, a line each.
func checkLines(t *testing.T, text string, n int) {
	t.Helper()
	i := 0
	for line := range strings.Lines(text) {
		if line != fmt.Sprintf("%d\n", i) {
			t.Fatalf("line %d is %q", i, line)
		}
		i++
	}
	if i != n {
		t.Fatalf("%d lines of %d", i, n)
	}
}

func TestK10_NothingOfManyLinesIsLost(t *testing.T) {
	c := shared(t)
	t0 := time.Now()
	o := c.run(t, "for i in range(100_000): print(i)").need(t)
	checkLines(t, o.stdout, 100_000)
	t.Logf("100,000 lines in %d events, %s", o.streams, time.Since(t0))
}

// The host gets no processor time for a while, as on a busy machine: ipykernel
// alone would drop what a thousand messages do not hold.
func TestK10_NothingOfFlushedPrintsIsLostWhileTheHostIsStopped(t *testing.T) {
	c := shared(t)
	pid := manifest(t, c).PID
	t0 := time.Now()
	id := c.begin(t, "for i in range(20_000): print(i, flush=True)")
	c.awaitMessage(t, id, "stream")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Second) // the time is what is tested
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	o := c.outcome(t, id).need(t)
	c.mu.Lock()
	checkNumbers(t, c.events, c.events[0].Seq)
	c.mu.Unlock()
	checkLines(t, o.stdout, 20_000)
	t.Logf("20,000 flushed prints in %d events, %s", o.streams, time.Since(t0))
	if o.streams > 10_000 {
		t.Errorf("%d events for 20,000 flushed prints: they were not merged", o.streams)
	}
}

func TestK11_HugePrint(t *testing.T) {
	c := shared(t)
	t0 := time.Now()
	id := c.begin(t, "print('x' * (64 << 20), end='')")
	c.awaitKind(t, EventDone, id)
	size := 0
	for _, e := range c.all() {
		if e.ExecutionID == id && e.Kind == EventMessage && e.Message.Type == "stream" {
			size += 4 * bytes.Count(e.Message.Content, []byte("xxxx"))
		}
	}
	if size != 64<<20 {
		t.Errorf("%d bytes of %d", size, 64<<20)
	}
	t.Logf("64 MiB in %s", time.Since(t0))
	c.forget()
}

func TestK11_LateThreadOutputBelongsToItsCell(t *testing.T) {
	c := shared(t)
	id := c.begin(t, "import threading\ngo = threading.Event()\ndef late():\n  go.wait(10)\n  print('late', flush=True)\nth = threading.Thread(target=late); th.start()")
	c.outcome(t, id).need(t)
	c.run(t, "go.set(); th.join()").need(t)
	c.await(t, "late output", func(events []Event) bool {
		for _, e := range events {
			if e.Message != nil && e.Message.Type == "stream" && strings.Contains(string(e.Message.Content), "late") {
				return e.ExecutionID != ""
			}
		}
		return false
	})
}

func TestK05_InterruptEndsSleepLoopAndAwait(t *testing.T) {
	c := shared(t)
	for code, ename := range map[string]string{
		"import time; time.sleep(60)": "KeyboardInterrupt",
		"while True: pass":            "KeyboardInterrupt",
		// ipykernel alone ends this only when the sleep is over
		"import asyncio; await asyncio.sleep(60)": "CancelledError",
	} {
		id := c.begin(t, code)
		c.awaitMessage(t, id, "execute_input")
		t0 := time.Now()
		if err := c.Interrupt(id); err != nil {
			t.Fatal(err)
		}
		o := c.outcome(t, id)
		if took := time.Since(t0); o.done.Status != StatusError || o.ename != ename || took > 2*time.Second {
			t.Errorf("%s: %+v after %s", code, o, took)
		}
		c.awaitKind(t, EventInterrupt, id)
		c.run(t, "1").need(t)
	}
}

func TestK05_InterruptRightAfterExecute(t *testing.T) {
	c := shared(t)
	repeated := 0
	for i := range 50 {
		id := c.begin(t, "while True: pass")
		if err := c.Interrupt(id); err != nil {
			t.Fatal(err)
		}
		o := c.outcome(t, id)
		if o.done.Status == StatusOK || o.ename != "KeyboardInterrupt" && o.done.Status != StatusAborted {
			t.Fatalf("round %d: %+v", i, o)
		}
		if o := c.run(t, fmt.Sprintf("print(%d)", i)).need(t); o.stdout != fmt.Sprintf("%d\n", i) {
			t.Fatalf("round %d, next cell: %+v", i, o)
		}
		if attempts(c, id) > 1 {
			repeated++
		}
	}
	t.Logf("%d of 50 needed more than one interrupt", repeated)
}

func attempts(c *client, id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, e := range c.events {
		if e.Kind == EventInterrupt && e.ExecutionID == id {
			n++
		}
	}
	return n
}

func TestK08_InputIsAskedForAndAnswered(t *testing.T) {
	c := shared(t)
	x := Execute{ID: newID(), Code: "input('name? ') + '!'", AllowStdin: true}
	if err := c.Execute(x); err != nil {
		t.Fatal(err)
	}
	e := c.awaitKind(t, EventInputRequest, x.ID)
	if !strings.Contains(string(e.Message.Content), "name? ") {
		t.Errorf("asked %s", e.Message.Content)
	}
	if err := c.Input("Ada"); err != nil {
		t.Fatal(err)
	}
	if o := c.outcome(t, x.ID).need(t); o.result != "'Ada!'" {
		t.Errorf("got %+v", o)
	}
	if o := c.run(t, "input()"); o.ename != "StdinNotImplementedError" {
		t.Errorf("without permission: %+v", o)
	}
}

func TestK08_InputIsInterrupted(t *testing.T) {
	c := shared(t)
	x := Execute{ID: newID(), Code: "input()", AllowStdin: true}
	if err := c.Execute(x); err != nil {
		t.Fatal(err)
	}
	c.awaitKind(t, EventInputRequest, x.ID)
	if err := c.Interrupt(x.ID); err != nil {
		t.Fatal(err)
	}
	if o := c.outcome(t, x.ID); o.ename != "KeyboardInterrupt" {
		t.Errorf("got %+v", o)
	}
	c.run(t, "1").need(t)
}

func TestRequestsAreAnswered(t *testing.T) {
	c := shared(t)
	c.run(t, "def doubled(x):\n  'Twice as much.'\n  return 2*x").need(t)
	for _, x := range []struct {
		channel, typ string
		content      map[string]any
		want         string
	}{
		{"shell", "complete_request", map[string]any{"code": "doub", "cursor_pos": 4}, "doubled"},
		{"shell", "inspect_request", map[string]any{"code": "doubled", "cursor_pos": 7, "detail_level": 0}, "Twice as much."},
		{"shell", "history_request", map[string]any{"hist_access_type": "tail", "n": 3, "output": false, "raw": true}, "Twice as much."},
		{"shell", "is_complete_request", map[string]any{"code": "for x in y:"}, "incomplete"},
		{"shell", "comm_info_request", map[string]any{}, "comms"},
		{"control", "kernel_info_request", map[string]any{}, "ipython"},
	} {
		m, err := c.Request(t.Context(), x.channel, x.typ, x.content)
		if err != nil {
			t.Errorf("%s: %v", x.typ, err)
			continue
		}
		if want := strings.Replace(x.typ, "request", "reply", 1); m.Type != want || !strings.Contains(string(m.Content), x.want) {
			t.Errorf("%s: got %s %.300s", x.typ, m.Type, m.Content)
		}
	}
	if _, err := c.Request(t.Context(), "stdin", "x", nil); err == nil {
		t.Error("a request on stdin was accepted")
	}
}

func TestCommsCarryBuffersBothWays(t *testing.T) {
	c := shared(t)
	c.run(t, `
from comm import get_comm_manager
def opened(c, m):
    c.send({"got": bytes(m["buffers"][0]).hex()}, buffers=[b"back", b"\x00\xff"])
get_comm_manager().register_target("echo", opened)`).need(t)
	content, err := json.Marshal(map[string]any{"comm_id": "c1", "target_name": "echo", "data": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Comm(Message{Type: "comm_open", Content: content, Buffers: [][]byte{{0, 1, 255}}}); err != nil {
		t.Fatal(err)
	}
	e := c.awaitMessage(t, "", "comm_msg")
	if !strings.Contains(string(e.Message.Content), "0001ff") || len(e.Message.Buffers) != 2 || string(e.Message.Buffers[1]) != "\x00\xff" {
		t.Errorf("got %s with buffers %q", e.Message.Content, e.Message.Buffers)
	}
}

func TestEventsAreNumberedWithoutGaps(t *testing.T) {
	c := shared(t)
	o := c.run(t, "1").need(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.events[0].Seq
	checkNumbers(t, c.events, first)
	c.Ack(c.events[len(c.events)-1].Seq)
	_ = o
}

// forget drops the events so far, so that later tests do not search through them.
func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Ack(c.events[len(c.events)-1].Seq)
	c.events = append([]Event{{Seq: c.events[len(c.events)-1].Seq, Kind: EventReady}}, c.events[len(c.events):]...)
}
