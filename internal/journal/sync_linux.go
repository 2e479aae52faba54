package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData waits until the content of f, and its size, are on disk.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
