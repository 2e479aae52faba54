package proc

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Alive says whether the process with this number is the one that started at
// start and has not ended. A process that ended and waits for its parent is not alive.
func Alive(pid int, start string) bool {
	if pid <= 0 || start == "" {
		return false
	}
	got, err := Start(pid)
	return err == nil && got == start
}

// SignalGroup sends a signal to a process group. A group that is gone is no error.
func SignalGroup(pgid int, sig syscall.Signal) error {
	if pgid <= 1 {
		return fmt.Errorf("signal process group %d: not one of ours", pgid)
	}
	err := syscall.Kill(-pgid, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return fmt.Errorf("signal process group %d: %w", pgid, err)
}

// Kill ends the process with this number if it is the one that started at start.
func Kill(pid int, start string) error {
	if !Alive(pid, start) {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}

// Await waits until done says so, asking at growing intervals of at most 20 ms.
func Await(ctx context.Context, done func() bool) error {
	t := time.NewTimer(0)
	defer t.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if done() {
			return nil
		}
		t.Reset(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// GroupGone says whether no process of the group is left but those that have ended and wait for their parent.
func GroupGone(pgid int) bool {
	if err := syscall.Kill(-pgid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	members, err := Group(pgid)
	return err == nil && len(members) == 0
}
