package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func sleeper(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & sleep 60")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = SignalGroup(cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd
}

func TestAliveTellsProcessesApart(t *testing.T) {
	start, err := Start(os.Getpid())
	if err != nil || start == "" {
		t.Fatalf("%q, %v", start, err)
	}
	if !Alive(os.Getpid(), start) || Alive(os.Getpid(), start+"x") || Alive(os.Getpid(), "") || Alive(0, start) {
		t.Error("this process is not told from others")
	}
}

func TestGroupIsEndedAndReapedLast(t *testing.T) {
	cmd := sleeper(t, "RUNT_PROC_TEST=here")
	pid := cmd.Process.Pid
	start, err := Start(pid)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	two := func() bool { g, err := Group(pid); return err == nil && len(g) >= 2 }
	if err := Await(ctx, two); err != nil {
		t.Fatal(err)
	}
	if found, err := WithEnv("RUNT_PROC_TEST", "here"); err != nil || len(found) < 2 {
		t.Errorf("by environment: %v, %v", found, err)
	}
	if err := Kill(pid, "another time"); err != nil || !Alive(pid, start) {
		t.Fatalf("a process of another time was killed: %v", err)
	}
	if err := Kill(pid, start); err != nil {
		t.Fatal(err)
	}
	AwaitExit(pid)
	if Alive(pid, start) {
		t.Error("a process that waits to be reaped counts as alive")
	}
	if GroupGone(pid) {
		t.Error("the child of the killed process does not count")
	}
	if err := SignalGroup(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("killed and no error")
	}
	if err := Await(ctx, func() bool { return GroupGone(pid) }); err != nil {
		t.Error(err)
	}
	if err := SignalGroup(pid, syscall.SIGKILL); err != nil {
		t.Errorf("signal to a group that is gone: %v", err)
	}
}

func TestSignalGroupRefusesOthers(t *testing.T) {
	for _, pgid := range []int{-5, 0, 1} {
		if err := SignalGroup(pgid, 0); err == nil {
			t.Errorf("group %d was signalled", pgid)
		}
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := Await(ctx, func() bool { return false }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
