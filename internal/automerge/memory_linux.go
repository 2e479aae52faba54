package automerge

import "golang.org/x/sys/unix"

// keepPagesSmall asks the system not to back a few touched bytes with huge pages.
func keepPagesSmall(space []byte) {
	_ = unix.Madvise(space, unix.MADV_NOHUGEPAGE) // a system without huge pages refuses
}
