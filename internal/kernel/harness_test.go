package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runt/internal/kernel/proc"
	"runt/internal/testenv/pyenv"
)

const patience = 20 * time.Second

// newDir makes a folder with a short name: that of t.TempDir is too long for sockets.
func newDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func command(t testing.TB) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"/usr/bin/env", envHostProcess + "=1", self}
}

func pythonSpec(t testing.TB) LaunchSpec {
	t.Helper()
	return LaunchSpec{KernelName: "python3", Language: "python", Argv: pyenv.Argv(t), Env: map[string]string{"PYDEVD_DISABLE_FILE_VALIDATION": "1"}}
}

// client is a Host and everything that came from it.
type client struct {
	*Host
	mu      sync.Mutex // guards the fields that follow
	events  []Event
	over    bool
	changed chan struct{}
}

func watch(h *Host) *client {
	c := &client{Host: h, changed: make(chan struct{})}
	go func() { // ends with the host's events
		for e := range h.Events() {
			c.add(e, false)
		}
		c.add(Event{}, true)
	}()
	return c
}

func (c *client) add(e Event, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = over; !over {
		c.events = append(c.events, e)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// start launches a kernel of its own for a test and ends it with the test.
func start(t testing.TB, spec LaunchSpec) *client {
	t.Helper()
	return startIn(t, HostConfig{Dir: newDir(t), OrphanAfter: time.Minute}, spec)
}

func startIn(t testing.TB, c HostConfig, spec LaunchSpec) *client {
	t.Helper()
	c.Command, c.RoomID = command(t), "room"
	c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	h, err := StartHost(t.Context(), c, spec)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(h)
	t.Cleanup(func() { w.end(t) })
	return w
}

// end makes sure that nothing of the kernel is left.
func (c *client) end(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m, err := ReadManifest(c.Dir())
	if err != nil {
		t.Errorf("read manifest: %v", err)
	}
	if hostAlive(m) {
		_ = c.Shutdown(ctx) // another client may have the host; Reap ends it then
	}
	if err := Reap(m); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if m.KernelPID != 0 && !proc.GroupGone(m.KernelPID) {
		t.Errorf("process group %d of the kernel is still there", m.KernelPID)
	}
	if t.Failed() {
		b, _ := os.ReadFile(filepath.Join(c.Dir(), "host.log"))
		t.Logf("host log:\n%s", b)
	}
}

// all returns the events so far.
func (c *client) all() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// await waits until done is true of the events so far.
func (c *client) await(t testing.TB, what string, done func(events []Event) bool) []Event {
	t.Helper()
	limit := time.After(patience)
	for {
		c.mu.Lock()
		events, over, changed := c.events, c.over, c.changed
		c.mu.Unlock()
		if done(events) {
			return events
		}
		if over {
			t.Fatalf("events ended before %s; the last are %s", what, describe(events))
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("no %s within %s; the last events are %s", what, patience, describe(events))
		}
	}
}

func describe(events []Event) string {
	var s []string
	for _, e := range events[max(0, len(events)-8):] {
		text := fmt.Sprintf("%d %s %s", e.Seq, e.Kind, e.ExecutionID)
		if e.Message != nil {
			text += fmt.Sprintf(" %s %.80s", e.Message.Type, e.Message.Content)
		}
		if e.Exit != nil {
			text += fmt.Sprintf(" %+v", *e.Exit)
		}
		s = append(s, text)
	}
	return strings.Join(s, "; ")
}

// awaitKind waits for an event of a kind, of an execution unless id is empty, and returns it.
func (c *client) awaitKind(t testing.TB, kind EventKind, id string) Event {
	t.Helper()
	var found Event
	c.await(t, string(kind)+" of "+id, func(events []Event) bool {
		for _, e := range events {
			if e.Kind == kind && (id == "" || e.ExecutionID == id) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// awaitMessage waits for a message of a type and returns it.
func (c *client) awaitMessage(t testing.TB, id, typ string) Event {
	t.Helper()
	var found Event
	c.await(t, typ+" of "+id, func(events []Event) bool {
		for _, e := range events {
			if e.Kind == EventMessage && e.ExecutionID == id && e.Message.Type == typ {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

var executionNumber atomic.Int64

func newID() string { return fmt.Sprintf("execution-%d", executionNumber.Add(1)) }

// begin asks for an execution and returns its id.
func (c *client) begin(t testing.TB, code string) string {
	t.Helper()
	id := newID()
	if err := c.Execute(Execute{ID: id, Code: code, StoreHistory: true}); err != nil {
		t.Fatal(err)
	}
	return id
}

// outcome is what an execution came to.
type outcome struct {
	id      string
	done    Done
	stdout  string
	stderr  string
	result  string // text/plain of the execute_result
	ename   string
	streams int // stream events
	late    int // events of the execution after its Done
}

func (c *client) outcome(t testing.TB, id string) outcome {
	t.Helper()
	c.awaitKind(t, EventDone, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return collect(t, c.events, id)
}

func collect(t testing.TB, events []Event, id string) outcome {
	t.Helper()
	o := outcome{id: id}
	var stdout, stderr strings.Builder
	ended := false
	for _, e := range events {
		if e.ExecutionID != id {
			continue
		}
		if ended {
			o.late++
		}
		switch {
		case e.Kind == EventDone:
			o.done, ended = *e.Done, true
		case e.Kind == EventMessage:
			o.add(t, e.Message, &stdout, &stderr)
		}
	}
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o
}

func (o *outcome) add(t testing.TB, m *Message, stdout, stderr *strings.Builder) {
	t.Helper()
	var content struct {
		Name, Text, Ename string
		Data              map[string]any
	}
	if err := json.Unmarshal(m.Content, &content); err != nil {
		t.Errorf("content of %s: %v", m.Type, err)
	}
	switch m.Type {
	case "stream":
		o.streams++
		if content.Name == "stderr" {
			stderr.WriteString(content.Text)
		} else {
			stdout.WriteString(content.Text)
		}
	case "execute_result":
		o.result, _ = content.Data["text/plain"].(string)
	case "error":
		o.ename = content.Ename
	}
}

func (c *client) run(t testing.TB, code string) outcome {
	t.Helper()
	return c.outcome(t, c.begin(t, code))
}

// need fails the test unless the execution ended well.
func (o outcome) need(t testing.TB) outcome {
	t.Helper()
	if o.done.Status != StatusOK || o.late != 0 {
		t.Fatalf("execution %s: %+v, error %q, stderr %q, %d late events", o.id, o.done, o.ename, o.stderr, o.late)
	}
	return o
}

// checkNumbers fails the test unless events are numbered from first without gaps.
func checkNumbers(t testing.TB, events []Event, first uint64) {
	t.Helper()
	for _, e := range events {
		if e.Kind == EventLost {
			continue
		}
		if e.Seq != first {
			t.Fatalf("event %d where %d should be", e.Seq, first)
		}
		first++
	}
}
