package automerge

import "slices"

// history is what a document is rebuilt from: a save, and the changes since.
// The changes are numbered from 1 for ever; a live peer remembers up to which
// number it has been sent all.
type history struct {
	snapshot []byte // covers the changes up to number covered
	covered  uint64
	log      []entry // changes numbered first+1, first+2, ...
	first    uint64
	tail     int // bytes of changes that the snapshot does not cover
}

type entry struct {
	raw  []byte
	from *Peer // who sent it; nil = made here
}

const (
	// compactAt is how many bytes of changes may follow a snapshot before a new
	// one is taken, unless the snapshot itself is larger.
	compactAt = 256 << 10
	// keepForPeers is how many changes are kept for live peers that lag behind.
	keepForPeers = 512
)

func (h *history) empty() bool { return len(h.snapshot) == 0 && len(h.log) == 0 }

// last returns the number of the newest change.
func (h *history) last() uint64 { return h.first + uint64(len(h.log)) }

func (h *history) add(raw []byte, from *Peer) {
	h.log = append(h.log, entry{raw: raw, from: from})
	h.tail += len(raw)
}

// since returns the changes after number n; ok is false when some are gone.
func (h *history) since(n uint64) (es []entry, ok bool) {
	if n < h.first || n > h.last() {
		return nil, false
	}
	return h.log[n-h.first:], true
}

// parts returns the save and the changes since, to be loaded one after another.
func (h *history) parts() [][]byte {
	parts := [][]byte{}
	if len(h.snapshot) > 0 {
		parts = append(parts, h.snapshot)
	}
	es, _ := h.since(max(h.covered, h.first))
	for _, e := range es {
		parts = append(parts, e.raw)
	}
	return parts
}

func (h *history) wantsCompaction() bool {
	return h.tail > compactAt && h.tail > len(h.snapshot)
}

// compact replaces the snapshot by one that covers everything. Changes that a
// live peer may still need stay.
func (h *history) compact(saved []byte) {
	h.snapshot, h.covered, h.tail = saved, h.last(), 0
	if drop := len(h.log) - keepForPeers; drop > 0 {
		h.log = slices.Delete(h.log, 0, drop)
		h.first += uint64(drop)
	}
}
