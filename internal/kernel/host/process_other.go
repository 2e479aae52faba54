//go:build !linux

package host

import "syscall"

// processAttributes puts a kernel into a process group of its own; only the guard ends it when this process dies.
func processAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
