//go:build unix && !linux

package supervise

import "syscall"

// childAttr puts the child in a process group of its own, so that a Ctrl-C in a
// terminal reaches only the parent, which then ends it in order.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
