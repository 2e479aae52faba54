package automerge

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// The types of chunks in saves, changes and messages. A fourth, the bundle, is
// experimental in the crate and not taken.
const (
	chunkDocument byte = iota
	chunkChange
	chunkCompressed
)

// maxInflated bounds what a compressed change may unfold to.
const maxInflated = 256 << 20

var (
	chunkMagic = [4]byte{0x85, 0x6f, 0x4a, 0x83}
	// concurrencyMagic begins the actor of a change that was made at old heads
	// while the same actor had gone on; the plain actor follows a number.
	concurrencyMagic = []byte{0x13, 0xb2, 0x23, 0x09}
)

// chunk is one piece of a save, of a list of changes, or of a sync message.
type chunk struct {
	kind byte
	raw  []byte // with header
	body []byte
}

// change is what Go needs to know of a change without applying it.
type change struct {
	hash  Hash
	deps  []Hash
	actor string
	seq   uint64
	raw   []byte
}

// parseChunks splits b into chunks. Checksums are verified by parseChange, or
// by the crate for the other kinds.
func parseChunks(b []byte) ([]chunk, error) {
	var chunks []chunk
	for len(b) > 0 {
		if len(b) < 10 || [4]byte(b) != chunkMagic {
			return nil, fmt.Errorf("%w: no chunk header", ErrCorrupt)
		}
		n, w := uvarint(b[9:])
		head := 9 + w
		if w == 0 || n > uint64(len(b)-head) {
			return nil, fmt.Errorf("%w: chunk is cut short", ErrCorrupt)
		}
		end := head + int(n)
		chunks = append(chunks, chunk{kind: b[8], raw: b[:end:end], body: b[head:end:end]})
		b = b[end:]
	}
	return chunks, nil
}

// parseChange reads a change chunk, compressed or not, and verifies its checksum.
func parseChange(c chunk) (change, error) {
	body := c.body
	if c.kind == chunkCompressed {
		var err error
		if body, err = inflate(body); err != nil {
			return change{}, err
		}
	}
	ch := change{hash: changeHash(body), raw: c.raw}
	if !bytes.Equal(ch.hash[:4], c.raw[4:8]) {
		return change{}, fmt.Errorf("%w: checksum of a change is wrong", ErrCorrupt)
	}
	r := leb{b: body}
	ch.deps = r.hashes()
	ch.actor = plainActor(r.bytes())
	ch.seq = r.uint()
	if err := r.checkChange(); err != nil {
		return change{}, err
	}
	return ch, nil
}

func inflate(body []byte) ([]byte, error) {
	r := flate.NewReader(bytes.NewReader(body))
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, maxInflated+1))
	if err != nil || len(out) > maxInflated {
		return nil, fmt.Errorf("%w: compressed change does not unfold", ErrCorrupt)
	}
	return out, nil
}

// changeHash is the hash of an uncompressed change with the given body.
func changeHash(body []byte) Hash {
	h := sha256.New()
	var head [1 + binary.MaxVarintLen64]byte
	head[0] = chunkChange
	n := binary.PutUvarint(head[1:], uint64(len(body)))
	h.Write(head[:1+n])
	h.Write(body)
	return Hash(h.Sum(nil))
}

// plainActor strips what the crate puts before the actor of an isolated change.
func plainActor(actor []byte) string {
	if rest, ok := bytes.CutPrefix(actor, concurrencyMagic); ok {
		if _, w := uvarint(rest); w > 0 {
			return string(rest[w:])
		}
	}
	return string(actor)
}

// parseChanges reads the changes in b. pure is false when a whole document is
// among them, which only the crate can read.
func parseChanges(b []byte) (cs []change, pure bool, err error) {
	chunks, err := parseChunks(b)
	if err != nil {
		return nil, false, err
	}
	pure = true
	for _, c := range chunks {
		switch c.kind {
		case chunkDocument:
			pure = false
			if err := checkDocument(c.body); err != nil {
				return nil, false, err
			}
		case chunkChange, chunkCompressed:
			ch, err := parseChange(c)
			if err != nil {
				return nil, false, err
			}
			cs = append(cs, ch)
		default:
			return nil, false, fmt.Errorf("%w: chunk of unknown type %d", ErrCorrupt, c.kind)
		}
	}
	return cs, pure, nil
}

// uvarint reads an unsigned LEB128 number; w is 0 when there is none.
func uvarint(b []byte) (n uint64, w int) {
	n, w = binary.Uvarint(b)
	return n, max(w, 0)
}

// leb reads the LEB128 structures of changes and sync messages in place.
type leb struct {
	b   []byte
	bad bool
}

func (r *leb) fail() {
	r.bad = true
	r.b = nil
}

func (r *leb) uint() uint64 {
	n, w := uvarint(r.b)
	if w == 0 {
		r.fail()
		return 0
	}
	r.b = r.b[w:]
	return n
}

func (r *leb) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	x := r.b[:n:n]
	r.b = r.b[n:]
	return x
}

func (r *leb) bytes() []byte { return r.take(r.uint()) }

func (r *leb) hashes() []Hash {
	n := r.uint()
	if n > uint64(len(r.b)/len(Hash{})) {
		r.fail()
		return nil
	}
	hs := make([]Hash, n)
	for i := range hs {
		hs[i] = Hash(r.take(32))
	}
	return hs
}
