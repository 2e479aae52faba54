package kernel

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
)

func TestK12_ToyKernelInOtherWays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, x := range map[string]struct {
		spec LaunchSpec
		want string
	}{
		"ipc":              {toy(t), "ipc " + dir},
		"tcp when told to": {func() LaunchSpec { s := toy(t); s.Transport = "tcp"; return s }(), "tcp " + dir},
		"tcp, port taken":  {func() LaunchSpec { s := toy(t, "TOY_PORT_TAKEN="+dir+"/taken"); s.Transport = "tcp"; return s }(), "tcp " + dir},
		"tcp when refused": {toy(t, "TOY_REFUSES=ipc"), "tcp " + dir},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x.spec.Dir = dir
			c := start(t, x.spec)
			if e := c.awaitKind(t, EventReady, ""); !strings.Contains(string(e.Message.Content), `"toy"`) {
				t.Errorf("ready with %s", e.Message.Content)
			}
			if o := c.run(t, "where").need(t); o.stdout != x.want {
				t.Errorf("ran on %q, want %q", o.stdout, x.want)
			}
		})
	}
}

func TestK12_InterruptModeMessage(t *testing.T) {
	t.Parallel()
	spec := toy(t, "TOY_INTERRUPTS=message") // a signal would end it with code 99
	spec.InterruptMode = "message"
	c := start(t, spec)
	id := c.begin(t, "sleep 60")
	if err := c.Interrupt(id); err != nil { // before the kernel has it
		t.Fatal(err)
	}
	if o := c.outcome(t, id); o.done.Status == StatusOK {
		t.Errorf("got %+v", o)
	}
	id = c.begin(t, "sleep 60")
	c.awaitMessage(t, id, "execute_input")
	if err := c.Interrupt(""); err != nil {
		t.Fatal(err)
	}
	if o := c.outcome(t, id); o.ename != "KeyboardInterrupt" {
		t.Errorf("got %+v", o)
	}
	if o := c.run(t, "echo well").need(t); o.stdout != "well\n" {
		t.Errorf("afterwards: %+v", o)
	}
}

func TestToyKernelKeepsItsSignals(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	id := c.begin(t, "sleep 60")
	c.awaitMessage(t, id, "execute_input")
	if err := c.Interrupt(id); err != nil {
		t.Fatal(err)
	}
	if o := c.outcome(t, id); o.ename != "KeyboardInterrupt" {
		t.Errorf("got %+v", o)
	}
}

func TestMissingIdleAndRefusalsDoNotHang(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.awaitKind(t, EventReady, "")
	t0 := time.Now()
	o := c.run(t, "noidle\necho x").need(t)
	if took := time.Since(t0); o.stdout != "x\n" || o.done.Reason == "" || took < time.Second || took > 4*time.Second {
		t.Errorf("without idle: %+v after %s", o, took)
	}
	if o := c.run(t, "abort\necho y").need(t); o.stdout != "y\n" {
		t.Errorf("refused once: %+v", o)
	}
}

func TestStopOnErrorEndsWhatWaits(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	ids := []string{newID(), newID(), newID()}
	for i, code := range []string{"fail oh", "echo never", "echo never"} {
		if err := c.Execute(Execute{ID: ids[i], Code: code, StopOnError: true}); err != nil {
			t.Fatal(err)
		}
	}
	if o := c.outcome(t, ids[0]); o.done.Status != StatusError || o.ename != "ValueError" {
		t.Errorf("got %+v", o)
	}
	for _, id := range ids[1:] {
		if o := c.outcome(t, id); o.done.Status != StatusAborted || o.stdout != "" {
			t.Errorf("got %+v", o)
		}
	}
	if o := c.run(t, "echo next").need(t); o.stdout != "next\n" {
		t.Errorf("afterwards: %+v", o)
	}
}

func TestToyKernelAsksAndAnswers(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	id := c.begin(t, "ask who?")
	c.awaitKind(t, EventInputRequest, id)
	if err := c.Input("me"); err != nil {
		t.Fatal(err)
	}
	if o := c.outcome(t, id).need(t); o.stdout != "me" {
		t.Errorf("got %+v", o)
	}
	m, err := c.Request(t.Context(), "shell", "complete_request", map[string]int{"cursor_pos": 3})
	if err != nil || m.Type != "complete_reply" || !strings.Contains(string(m.Content), `"cursor_pos": 3`) {
		t.Errorf("got %s %s, %v", m.Type, m.Content, err)
	}
	c.begin(t, "buffers")
	e := c.await(t, "buffers", func(events []Event) bool {
		last := events[len(events)-1]
		return last.Kind == EventDone
	})
	for _, e := range e {
		if e.Message != nil && e.Message.Type == "comm_msg" && (len(e.Message.Buffers) != 2 || string(e.Message.Buffers[0]) != "one") {
			t.Errorf("buffers %q", e.Message.Buffers)
		}
	}
}

func TestFailuresToStart(t *testing.T) {
	t.Parallel()
	missing := toy(t)
	missing.Argv[0] = "/no/such/python"
	nowhere := toy(t)
	nowhere.Dir = "/no/such/folder"
	empty := toy(t)
	empty.Argv = nil
	for name, x := range map[string]struct {
		spec         LaunchSpec
		stderr, what string
		code         int
	}{
		"ends at once":   {toy(t, "TOY_FAILS=No module named ipykernel"), "No module named ipykernel", "code 1", 1},
		"no interpreter": {missing, "", "/no/such/python", -1},
		"no folder":      {nowhere, "", "/no/such/folder", -1},
		"no command":     {empty, "", "no command", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t0 := time.Now()
			c := start(t, x.spec)
			if err := c.Execute(Execute{ID: newID(), Code: "echo never"}); err != nil && domain.CodeOf(err) != domain.CodeKernelUnavailable {
				t.Error(err) // it may have failed already
			}
			e := c.awaitKind(t, EventFailed, "")
			if e.Exit.Code != x.code || !strings.Contains(e.Exit.Stderr, x.stderr) || !strings.Contains(e.Exit.Reason, x.what) || time.Since(t0) > 5*time.Second {
				t.Errorf("after %s: %+v", time.Since(t0), e.Exit)
			}
		})
	}
}

func TestLongSocketPathIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), strings.Repeat("long", 30))
	_, err := StartHost(t.Context(), HostConfig{Dir: dir, Command: command(t)}, toy(t))
	if domain.CodeOf(err) != domain.CodeInvalidArgument || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("got %v", err)
	}
}

func TestHostThatCannotStartIsReported(t *testing.T) {
	t.Parallel()
	h, err := StartHost(t.Context(), HostConfig{Dir: newDir(t), Command: []string{"/bin/sh", "-c", "echo no such thing >&2; exit 3"}}, toy(t))
	if err == nil {
		_ = h.Close()
	}
	if domain.CodeOf(err) != domain.CodeKernelUnavailable || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("got %v", err)
	}
}
