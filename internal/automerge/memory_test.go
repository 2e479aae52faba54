package automerge

import (
	"testing"

	"github.com/tetratelabs/wazero/experimental"
)

func TestMemoryOfAMachine(t *testing.T) {
	const page, limit = 64 << 10, 8 << 20
	for name, m := range map[string]experimental.LinearMemory{"reserved": newMemory(page, limit), "of the heap": &ordinary{limit: limit}} {
		t.Run(name, func(t *testing.T) {
			b := m.Reallocate(page)
			if len(b) != page || b[0] != 0 || b[page-1] != 0 {
				t.Fatalf("%d bytes, want %d zeros", len(b), page)
			}
			b[7] = 42
			b = m.Reallocate(limit)
			if len(b) != limit || b[7] != 42 || b[limit-1] != 0 {
				t.Errorf("after growing: %d bytes, the eighth is %d", len(b), b[7])
			}
			if m.Reallocate(limit+1) != nil {
				t.Error("it grows over its limit")
			}
			m.Free()
			m.Free()
		})
	}
	if _, ok := newMemory(page, 1<<62).(*ordinary); !ok {
		t.Error("addresses that there are not were reserved")
	}
}

func TestReservedMemoryDoesNotMove(t *testing.T) {
	const limit = 1 << 20
	m := newMemory(0, limit)
	defer m.Free()
	small := m.Reallocate(1 << 10)
	large := m.Reallocate(limit)
	if &small[0] != &large[0] {
		t.Error("it moved")
	}
}
