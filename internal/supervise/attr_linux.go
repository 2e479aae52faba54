package supervise

import "syscall"

// childAttr puts the child in a process group of its own, so that a Ctrl-C in a
// terminal reaches only the parent, which then ends it in order; and has the
// kernel kill it when the parent is gone.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
