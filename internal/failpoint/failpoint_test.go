package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func set(t *testing.T, name, terms string) {
	t.Helper()
	if err := Set(name, terms); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Clear(name) })
}

func TestTermsAreUsedUpInOrder(t *testing.T) {
	set(t, "a", "1*off->2*error(disk full)->off")
	for i, want := range []bool{false, true, true, false, false} {
		err := Inject("a")
		if (err != nil) != want {
			t.Errorf("pass %d: %v", i, err)
		}
		if err != nil && (!errors.Is(err, ErrInjected) || !strings.Contains(err.Error(), "disk full at a")) {
			t.Errorf("pass %d: %v", i, err)
		}
	}
	if Hits("a") != 5 || Hits("b") != 0 || Inject("b") != nil {
		t.Errorf("hits %d, %d", Hits("a"), Hits("b"))
	}
	Clear("a")
	if armed.Load() != 0 || Inject("a") != nil {
		t.Error("a cleared place does something")
	}
}

func TestPauseLastsUntilCleared(t *testing.T) {
	set(t, "p", "1*pause")
	done := make(chan error)
	go func() { done <- Inject("p") }()
	for Hits("p") == 0 {
		select {
		case <-done:
			t.Fatal("it did not pause")
		case <-time.After(time.Millisecond):
		}
	}
	Clear("p")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPanicAndDelay(t *testing.T) {
	set(t, "x", "1*panic(boom)->delay(1ms)")
	func() {
		defer func() {
			if r := recover(); r == nil || !strings.Contains(r.(string), "boom") {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = Inject("x")
	}()
	start := time.Now()
	if err := Inject("x"); err != nil || time.Since(start) < time.Millisecond {
		t.Errorf("delay: %v after %v", err, time.Since(start))
	}
}

func TestProcessReadsItsEnvironment(t *testing.T) {
	if os.Getenv("FAILPOINT_CHILD") != "" {
		_ = Inject("child/one")
		_ = Inject("child/two")
		return
	}
	for vars, want := range map[string]string{"child/one=exit(7)": "exit status 7", "child/one=off; child/two=1*kill": "signal: killed", "": "", "bad": "exit status 2"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessReadsItsEnvironment$")
		cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", EnvVar+"="+vars)
		err := cmd.Run()
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s=%s: %q, want %q", EnvVar, vars, got, want)
		}
		if want == "signal: killed" && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Error("not SIGKILL")
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"off", "2*off->1*error(disk full)->off", "delay(3ms)", "exit(3)", "kill", "*", "1*", "-1*off", "error(", "x*error(1*2)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ts, err := parse(s)
		if err == nil && len(ts) == 0 {
			t.Errorf("%q gave no terms", s)
		}
	})
}

func BenchmarkInjectUnarmed(b *testing.B) {
	for b.Loop() {
		if Inject("none") != nil {
			b.Fatal("not nil")
		}
	}
}
