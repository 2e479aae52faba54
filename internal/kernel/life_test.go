package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/kernel/proc"
	"runt/internal/testenv/pyenv"
)

// toy is a kernelspec of the toy kernel; env is NAME=value pairs.
func toy(t testing.TB, env ...string) LaunchSpec {
	t.Helper()
	script, err := filepath.Abs("testdata/toy.py")
	if err != nil {
		t.Fatal(err)
	}
	s := LaunchSpec{KernelName: "toy", Language: "toy", Argv: []string{pyenv.Python(t), script, "{connection_file}"}, Env: map[string]string{}}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		s.Env[name] = value
	}
	return s
}

// awaitTrue waits for a condition of the outside world.
func awaitTrue(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	begun := time.Now()
	for !done() {
		if time.Since(begun) > limit {
			t.Fatalf("%s: not within %s", what, limit)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func manifest(t testing.TB, c *client) Manifest {
	t.Helper()
	m, err := ReadManifest(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestK06_QueueWhileStarting(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	var ids []string
	for i := range 5 {
		ids = append(ids, c.begin(t, fmt.Sprintf("echo %d", i)))
	}
	gone := ids[3]
	if err := c.Cancel(gone); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		o := c.outcome(t, id)
		if id == gone {
			if o.done.Status != StatusAborted || o.stdout != "" {
				t.Errorf("cancelled: %+v", o)
			}
			continue
		}
		if o.need(t).stdout != fmt.Sprintf("%d\n", i) {
			t.Errorf("execution %d: %+v", i, o)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	checkNumbers(t, c.events, 1)
	if c.events[0].Kind != EventAccepted || c.events[0].Execute == nil || c.events[0].Execute.Code != "echo 0" {
		t.Errorf("first event is %s", describe(c.events[:1]))
	}
}

func TestK04_ExitCodeIsNamedAndOutputKept(t *testing.T) {
	t.Parallel()
	c := start(t, pythonSpec(t))
	id := c.begin(t, "import os, sys, time\nprint('before', flush=True)\ntime.sleep(.1)\nos._exit(42)")
	waiting := c.begin(t, "1")
	e := c.awaitKind(t, EventDied, "")
	if e.Exit.Code != 42 || e.Exit.Signal != "" || e.ExecutionID != id {
		t.Errorf("died as %+v of %s", e.Exit, e.ExecutionID)
	}
	c.mu.Lock()
	o := collect(t, c.events, id)
	c.mu.Unlock()
	if o.stdout != "before\n" {
		t.Errorf("printed %q", o.stdout)
	}
	if err := c.Execute(Execute{ID: "later", Code: "1"}); domain.CodeOf(err) != domain.CodeKernelUnavailable {
		t.Errorf("execute after the end: %v", err)
	}
	c.Ack(e.Seq)
	m := manifest(t, c)
	awaitTrue(t, patience, "end of host after the last event was acknowledged", func() bool { return !hostAlive(m) })
	_ = waiting
}

func TestK04_SignalIsNamedWithin3Seconds(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	id := c.begin(t, "spawn\nsleep 60")
	e := c.awaitMessage(t, id, "stream")
	child, err := strconv.Atoi(streamText(t, e))
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Now()
	if err := syscall.Kill(manifest(t, c).KernelPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	died := c.awaitKind(t, EventDied, "")
	if died.Exit.Signal != "SIGKILL" || !strings.Contains(died.Exit.Reason, "memory") || time.Since(t0) > 3*time.Second {
		t.Errorf("died as %+v after %s", died.Exit, time.Since(t0))
	}
	t.Logf("noticed after %s", time.Since(t0))
	if err := syscall.Kill(child, 0); err == nil {
		awaitTrue(t, time.Second, "end of the kernel's child", func() bool { return !alivePID(child) })
	}
}

func alivePID(pid int) bool {
	_, err := proc.Start(pid)
	return err == nil
}

func streamText(t testing.TB, e Event) string {
	t.Helper()
	o := collect(t, []Event{e}, e.ExecutionID)
	return o.stdout
}

func TestK03_HostKilled(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	id := c.begin(t, "echo kept\nspawn\nsleep 60")
	c.await(t, "two lines", func(events []Event) bool { return strings.Count(collect(t, events, id).stdout, "\n") == 1 })
	m := manifest(t, c)
	t0 := time.Now()
	if err := syscall.Kill(m.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e := c.awaitKind(t, EventLost, "")
	awaitTrue(t, 3*time.Second, "end of the kernel's group", func() bool { return proc.GroupGone(m.KernelPID) })
	t.Logf("lost after %s: %s", time.Since(t0), e.Exit.Reason)
	if err := c.Interrupt(id); !errors.Is(err, ErrClosed) {
		t.Errorf("order to a lost host: %v", err)
	}
	again, err := Adopt(t.Context(), c.Dir(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(again)
	w.awaitKind(t, EventLost, "")
	if o := collect(t, w.all(), id); !strings.HasPrefix(o.stdout, "kept\n") {
		t.Errorf("left on disk: %+v", o)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestK13_ShutdownLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"", "TOY_STAYS=1"} {
		c := start(t, toy(t, env))
		c.run(t, "spawn").need(t)
		m := manifest(t, c)
		if group, err := proc.Group(m.KernelPID); err != nil || len(group) != 2 {
			t.Fatalf("group %v, %v", group, err)
		}
		t0 := time.Now()
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := time.Since(t0)
		if !proc.GroupGone(m.KernelPID) {
			t.Errorf("%q: the group is still there", env)
		}
		e := c.awaitKind(t, EventDied, "")
		if !e.Exit.Requested {
			t.Errorf("died as %+v", e.Exit)
		}
		awaitTrue(t, patience, "end of the host", func() bool { return !hostAlive(m) })
		if files, err := filepath.Glob(filepath.Join(c.Dir(), "k*")); err != nil || len(files) > 0 {
			t.Errorf("left in the folder: %v, %v", files, err)
		}
		t.Logf("%q: took %s", env, took)
	}
}

func TestShutdownAfterTheKernelDied(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.begin(t, "exit 3")
	if e := c.awaitKind(t, EventDied, ""); e.Exit.Code != 3 {
		t.Errorf("died as %+v", e.Exit)
	}
	m := manifest(t, c)
	if !hostAlive(m) {
		t.Error("the host did not wait for somebody to hear of the end")
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, patience, "end of the host", func() bool { return !hostAlive(m) })
}

func TestShutdownWhileStarting(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t, "TOY_HANGS=1"))
	awaitTrue(t, patience, "kernel process", func() bool { m, err := ReadManifest(c.Dir()); return err == nil && m.KernelPID != 0 })
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := c.awaitKind(t, EventDied, ""); !e.Exit.Requested {
		t.Errorf("got %+v", e.Exit)
	}
}

func TestK01_AdoptReplaysEveryLineOnce(t *testing.T) {
	t.Parallel()
	first := start(t, pythonSpec(t))
	first.run(t, "v = 'still here'").need(t)
	id := first.begin(t, "import time\nfor i in range(200):\n  print(i, flush=True)\n  time.sleep(.002)")
	first.awaitMessage(t, id, "stream")
	if err := first.Close(); err != nil { // as when the daemon dies
		t.Fatal(err)
	}
	first.mu.Lock()
	had := first.events
	first.mu.Unlock()
	last := had[len(had)-1].Seq

	h, err := Adopt(t.Context(), first.Dir(), last, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := h.Welcome(); w.Running != id || w.Phase != "ready" {
		t.Errorf("welcome %+v", w)
	}
	second := watch(h)
	second.awaitKind(t, EventDone, id)
	if o := second.run(t, "v"); o.result != "'still here'" {
		t.Errorf("variable: %+v", o)
	}
	second.mu.Lock()
	all := append(had[:len(had):len(had)], second.events...)
	second.mu.Unlock()
	checkNumbers(t, all, 1)
	checkLines(t, collect(t, all, id).stdout, 200)

	third, err := Adopt(t.Context(), first.Dir(), 0, nil) // displaces the second
	if err != nil {
		t.Fatal(err)
	}
	w := watch(third)
	w.awaitKind(t, EventDone, id)
	if e := second.awaitKind(t, EventLost, ""); !strings.Contains(e.Exit.Reason, "another daemon") {
		t.Errorf("displaced with %+v", e.Exit)
	}
	w.mu.Lock()
	checkNumbers(t, w.events, 1)
	checkLines(t, collect(t, w.events, id).stdout, 200)
	w.mu.Unlock()
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := third.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
}

func TestAckedEventsAreForgotten(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.run(t, "echo a").need(t)
	c.mu.Lock()
	last := c.events[len(c.events)-1].Seq
	c.mu.Unlock()
	c.Ack(last)
	c.run(t, "echo b").need(t) // its order follows the acknowledgement
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := Adopt(t.Context(), c.Dir(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(h)
	events := w.await(t, "an event", func(events []Event) bool { return len(events) > 0 })
	if got := events[0].Seq; got != last+1 || h.Welcome().First != last+1 {
		t.Errorf("first event %d, welcome %+v, acknowledged %d", got, h.Welcome(), last)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestK03_OrphanEndsItselfButNotARunningCell(t *testing.T) {
	t.Parallel()
	c := startIn(t, HostConfig{Dir: newDir(t), OrphanAfter: 300 * time.Millisecond}, toy(t))
	id := c.begin(t, "echo started\nsleep 1")
	c.awaitMessage(t, id, "stream")
	m := manifest(t, c)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	closed := time.Now()
	awaitTrue(t, patience, "end of the orphan", func() bool { return !hostAlive(m) })
	if lived := time.Since(closed); lived < time.Second {
		t.Errorf("ended after %s, the cell took a second", lived)
	}
	if !proc.GroupGone(m.KernelPID) {
		t.Error("the kernel outlived its host")
	}
	h, err := Adopt(t.Context(), c.Dir(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(h)
	if o := w.outcome(t, id).need(t); o.stdout != "started\n" {
		t.Errorf("what the orphan left: %+v", o)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestReapEndsHostAndKernel(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.run(t, "spawn").need(t)
	m := manifest(t, c)
	other := m
	other.Start, other.KernelStart = "another time", "another time"
	other.Dir = "/nowhere"
	if err := Reap(other); err != nil || !hostAlive(m) || proc.GroupGone(m.KernelPID) {
		t.Fatalf("processes of other start times were reaped: %v", err)
	}
	if err := Reap(m); err != nil || hostAlive(m) || !proc.GroupGone(m.KernelPID) {
		t.Errorf("still there: %v", err)
	}
}

func TestFilesAreForThisUserOnly(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.awaitKind(t, EventReady, "")
	for _, name := range []string{"", "sock", "manifest.json", "kernel.json", "spool"} {
		info, err := os.Stat(filepath.Join(c.Dir(), name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has mode %o", name, info.Mode().Perm())
		}
	}
	if _, err := os.Stat(filepath.Join(c.Dir(), "launch.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("launch file, with the environment in it: %v", err)
	}
	if m := manifest(t, c); m.RoomID != "room" || m.KernelName != "toy" || !proc.Alive(m.KernelPID, m.KernelStart) {
		t.Errorf("manifest %+v", m)
	}
}
