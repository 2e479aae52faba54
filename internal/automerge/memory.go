package automerge

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// withMemory makes the machines that are instantiated with ctx have memory of ours.
func withMemory(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(newMemory))
}

// reserved is the memory of one machine: addresses for all that it may ever
// have, for which the system gives pages as they are touched. It does not move
// when it grows, so that nothing is copied, the stack that a machine hardly uses
// costs nothing, and all is given back when the machine ends.
type reserved struct{ space []byte }

// newMemory reserves addresses, or takes memory of the Go heap where the system refuses that.
func newMemory(_, limit uint64) experimental.LinearMemory {
	space, err := unix.Mmap(-1, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err != nil {
		return &ordinary{limit: limit}
	}
	keepPagesSmall(space)
	return &reserved{space}
}

// Reallocate returns the first size bytes, nil when there are not that many.
func (m *reserved) Reallocate(size uint64) []byte {
	if size > uint64(len(m.space)) {
		return nil
	}
	return m.space[:size:size]
}

// Free gives the memory back. Nobody may look at it any more.
func (m *reserved) Free() {
	if m.space != nil {
		_ = unix.Munmap(m.space) // fails only for what is no mapping
		m.space = nil
	}
}

// ordinary is memory of the Go heap.
type ordinary struct {
	limit uint64
	bytes []byte
}

// Reallocate returns the memory with size bytes, nil when that is too much.
func (m *ordinary) Reallocate(size uint64) []byte {
	if size > m.limit {
		return nil
	}
	if more := int(size) - len(m.bytes); more > 0 {
		m.bytes = append(m.bytes, make([]byte, more)...)
	}
	return m.bytes[:size]
}

// Free leaves the memory to the collector.
func (m *ordinary) Free() { m.bytes = nil }
