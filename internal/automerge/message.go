package automerge

import (
	"encoding/binary"
	"fmt"
)

// A sync message is, in this order: version byte, heads, need, have (pairs of
// last-sync hashes and a Bloom filter), chunks, and flags that old versions omit.
// Numbers are LEB128 and every list has its length in front.
const (
	messageV1 byte = 0x42
	messageV2 byte = 0x43

	flagReset    byte = 1 << 0 // forget what you believe to have sent me
	flagReadOnly byte = 1 << 1 // I take no changes
	flagCanReset byte = 1 << 2 // I understand flagReset

	flagMarker  byte = 0x80 // set in the byte that holds the flags
	flagLegacy2 byte = 0x02 // how old versions say that they read V2
)

// message is a parsed sync message. It refers to the bytes it was parsed from.
type message struct {
	version byte
	heads   []Hash
	need    []Hash
	have    []have
	chunks  [][]byte
	flagged bool // the sender writes flags, so it reads V2
	flags   byte
}

type have struct {
	lastSync []Hash
	bloom    []byte
}

// parseMessage reads a sync message and checks every length in it.
func parseMessage(b []byte) (message, error) {
	var m message
	if len(b) == 0 || (b[0] != messageV1 && b[0] != messageV2) {
		return m, fmt.Errorf("%w: not a sync message", ErrCorrupt)
	}
	m.version = b[0]
	r := leb{b: b[1:]}
	m.heads = r.hashes()
	m.need = r.hashes()
	for range r.count() {
		m.have = append(m.have, have{lastSync: r.hashes(), bloom: r.bytes()})
	}
	for range r.count() {
		m.chunks = append(m.chunks, r.bytes())
	}
	if len(r.b) > 0 {
		m.flagged = true
		for _, f := range r.bytes() {
			if f&flagMarker != 0 {
				m.flags |= f &^ flagMarker
			}
		}
	}
	if r.bad {
		return message{}, fmt.Errorf("%w: sync message is cut short", ErrCorrupt)
	}
	return m, nil
}

// count reads the length of a list whose elements take at least one byte each.
func (r *leb) count() uint64 {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return 0
	}
	return n
}

// appendMessage appends the one kind of message that is made in Go: our heads,
// no need, and a promise that the peer has all up to these heads, so that it
// sends whatever else it has.
//
// The promise must name exactly the heads sent. With older heads and an empty
// Bloom filter the peer would send our own changes back; with heads that it
// cannot have it would answer with a reset.
func appendMessage(dst []byte, heads []Hash, chunks []byte, flags byte) []byte {
	dst = append(dst, messageV2)
	dst = appendLebHashes(dst, heads)
	dst = append(dst, 0, 1) // need nothing; one have
	dst = appendLebHashes(dst, heads)
	dst = append(dst, 0) // an empty Bloom filter
	if len(chunks) > 0 {
		dst = binary.AppendUvarint(append(dst, 1), uint64(len(chunks)))
		dst = append(dst, chunks...)
	} else {
		dst = append(dst, 0)
	}
	return append(dst, 2, flagLegacy2, flagMarker|flagCanReset|flags)
}

func appendLebHashes(dst []byte, hs []Hash) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(hs)))
	for _, h := range hs {
		dst = append(dst, h[:]...)
	}
	return dst
}
