package kernel

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"runt/internal/kernel/link"
	"runt/internal/kernel/proc"
)

const reapLimit = 3 * time.Second

func hostAlive(m Manifest) bool { return proc.Alive(m.PID, m.Start) }

// Reap kills the host of a manifest and everything that is left of its
// kernel's group, and waits until they are gone. Processes that only have their numbers are not touched.
func Reap(m Manifest) error {
	ctx, cancel := context.WithTimeout(context.Background(), reapLimit)
	defer cancel()
	errs := []error{proc.Kill(m.PID, m.Start)}
	if proc.Alive(m.KernelPID, m.KernelStart) {
		errs = append(errs, proc.SignalGroup(m.KernelPID, syscall.SIGKILL))
	}
	left := func() []int { return leftOf(m) }
	gone := func() bool {
		for _, pid := range left() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
		}
		return !hostAlive(m) && !proc.Alive(m.KernelPID, m.KernelStart) && len(left()) == 0
	}
	if err := proc.Await(ctx, gone); err != nil {
		errs = append(errs, fmt.Errorf("wait for the end of kernel %d: %w", m.KernelPID, err))
	}
	return errors.Join(errs...)
}

// leftOf lists processes of the kernel's group that carry the name of the host's folder in their environment.
func leftOf(m Manifest) []int {
	if m.KernelPID == 0 || m.Dir == "" || proc.GroupGone(m.KernelPID) {
		return nil
	}
	group, err := proc.Group(m.KernelPID)
	if err != nil {
		return nil
	}
	ours, err := proc.WithEnv(link.EnvHostDir, m.Dir)
	if err != nil {
		return nil
	}
	mine := map[int]bool{}
	for _, pid := range ours {
		mine[pid] = true
	}
	var out []int
	for _, pid := range group {
		if mine[pid] {
			out = append(out, pid)
		}
	}
	return out
}
