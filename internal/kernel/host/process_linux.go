package host

import "syscall"

// processAttributes puts a kernel into a process group of its own and has it killed when this process dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
