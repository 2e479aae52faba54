package main

import "golang.org/x/sys/unix"

// dupAway returns a copy of fd that children do not inherit.
func dupAway(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3) }
