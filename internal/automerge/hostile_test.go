package automerge

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// flip changes a few bits of a chunk's body and makes its checksum right again,
// so that the damage gets past the first gate.
func flip(r *rand.Rand, c chunk) []byte {
	body := append([]byte{}, c.body...)
	for range 1 + r.IntN(3) {
		if len(body) > 0 {
			body[r.IntN(len(body))] ^= 1 << r.IntN(8)
		}
	}
	return makeChunk(c.kind, body)
}

func makeChunk(kind byte, body []byte) []byte {
	head := binary.AppendUvarint([]byte{kind}, uint64(len(body)))
	sum := sha256.Sum256(append(append([]byte{}, head...), body...))
	out := append(chunkMagic[:], sum[:4]...)
	return append(append(out, head...), body...)
}

// flipIn damages one of the chunks in b.
func flipIn(t testing.TB, r *rand.Rand, b []byte) []byte {
	t.Helper()
	cs, err := parseChunks(b)
	must(t, err)
	if len(cs) == 0 {
		return b
	}
	hit := r.IntN(len(cs))
	var out []byte
	for i, c := range cs {
		if i == hit {
			out = append(out, flip(r, c)...)
		} else {
			out = append(out, c.raw...)
		}
	}
	return out
}

// victim returns a document with some history, for others to damage copies of.
func victim(t testing.TB, r *rand.Rand) *Doc {
	t.Helper()
	ds := seeded(t, 2)
	for range 12 {
		randomChange(t, r, ds[r.IntN(2)])
		exchange(t, ds[0], ds[1])
	}
	return ds[0]
}

// tolerable says whether err is one of those that damaged input may cause.
func tolerable(err error) bool {
	var oe *OpError
	return err == nil || errors.Is(err, ErrTrap) || errors.Is(err, ErrRefused) || errors.Is(err, ErrCorrupt) ||
		errors.Is(err, ErrMissingDeps) || errors.As(err, &oe)
}

// use does with a document what a room does.
func use(t testing.TB, r *rand.Rand, d *Doc) {
	t.Helper()
	b := NewBatch()
	b.Put(b.Root(), "used", r.Int64())
	_, err := d.Apply(b)
	p := d.NewPeer()
	_, gerr := p.Generate()
	_, serr := d.Save()
	_, cerr := d.ChangesSince(nil)
	_, _, verr := d.GetAt(nil)
	for _, e := range []error{err, gerr, serr, cerr, verr} {
		if !tolerable(e) {
			t.Fatalf("error %v", e)
		}
	}
}

func TestDamagedSavesNeverHurtOtherShards(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	v := victim(t, r)
	saved, err := v.Save()
	must(t, err)
	raw, err := v.ChangesSince(nil)
	must(t, err)
	healthy := newTestDoc(t, "healthy")
	apply(t, healthy, func(b *Batch) { b.Put(b.Root(), "n", -1) })
	traps, loaded := 0, 0
	for i := range seeds(t, 300) {
		in := saved
		if i%2 == 0 {
			in = raw
		}
		s := newShard(t)
		d, err := s.Load(flipIn(t, r, in), "x")
		if !tolerable(err) {
			t.Fatalf("error %v", err)
		}
		if errors.Is(err, ErrTrap) {
			traps++
		}
		if err == nil {
			loaded++
			use(t, r, d)
		}
		s.Close()
		apply(t, healthy, func(b *Batch) { b.Put(b.Root(), "n", i) })
	}
	checkMirror(t, healthy)
	if n := int(healthy.hist.last()); n != seeds(t, 300)+1 {
		t.Errorf("healthy document has %d changes", n)
	}
	t.Logf("%d loaded, %d traps", loaded, traps)
}

func TestDamagedMessagesLeaveTheDocumentUsable(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	traps, refused := 0, 0
	for range seeds(t, 150) {
		ds := seeded(t, 2)
		l := newLink(ds[0], ds[1])
		if r.IntN(2) == 0 {
			settle(t, l)
		}
		for range 3 {
			randomChange(t, r, ds[1])
		}
		l.pump(t)
		for _, msg := range l.ba {
			before := ds[0].Heads()
			_, err := l.a.Receive(damage(t, r, msg), ReceiveOptions{})
			if !tolerable(err) {
				t.Fatalf("error %v", err)
			}
			if errors.Is(err, ErrTrap) {
				traps++
			}
			if err != nil {
				refused++
				if !SameHeads(before, ds[0].Heads()) {
					t.Fatal("a refused message moved the heads")
				}
			}
		}
		use(t, r, ds[0])
		checkMirror(t, ds[0])
	}
	t.Logf("%d refused, %d traps", refused, traps)
}

// damage flips bits of a message: in its chunks with repaired checksums, or anywhere.
func damage(t testing.TB, r *rand.Rand, msg []byte) []byte {
	t.Helper()
	m, err := parseMessage(msg)
	must(t, err)
	if len(m.chunks) == 0 || r.IntN(4) == 0 {
		out := append([]byte{}, msg...)
		for range 1 + r.IntN(3) {
			out[r.IntN(len(out))] ^= 1 << r.IntN(8)
		}
		return out
	}
	out := []byte{m.version}
	out = appendLebHashes(out, m.heads)
	out = appendLebHashes(out, m.need)
	out = append(out, 0)
	out = binary.AppendUvarint(out, uint64(len(m.chunks)))
	for _, c := range m.chunks {
		c = flipIn(t, r, c)
		out = binary.AppendUvarint(out, uint64(len(c)))
		out = append(out, c...)
	}
	return append(out, 2, flagLegacy2, flagMarker|flagCanReset)
}

// bomb returns a change of a few bytes that puts nothing into one key n times.
func bomb(n int64) []byte {
	run := func(v ...byte) []byte { return append(appendSleb(nil, n), v...) }
	cols := []struct {
		spec uint64
		data []byte
	}{
		{0x15, run(1, 'k')}, {0x34, binary.AppendUvarint(nil, uint64(n))}, {0x42, run(1)}, {0x56, run(0)}, {0x70, run(0)},
	}
	body := []byte{0, 1, 'a', 1, 1, 0, 0, 0, byte(len(cols))}
	for _, c := range cols {
		body = binary.AppendUvarint(body, c.spec)
		body = binary.AppendUvarint(body, uint64(len(c.data)))
	}
	for _, c := range cols {
		body = append(body, c.data...)
	}
	return makeChunk(chunkChange, body)
}

func appendSleb(b []byte, n int64) []byte {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func TestOperationBombsAreRefusedUnopened(t *testing.T) {
	d := newTestDoc(t, "victim")
	if _, err := d.ApplyChanges(bomb(2)); err != nil {
		t.Fatalf("a small one: %v", err)
	}
	for _, n := range []int64{maxOpsInChange + 1, 1 << 40, 1<<62 + 1} {
		e := newTestDoc(t, "victim")
		if _, err := e.ApplyChanges(bomb(n)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d operations: error %v", n, err)
		}
		if _, err := newShard(t).Load(bomb(n), ""); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d operations, loaded: error %v", n, err)
		}
	}
	if _, err := newShard(t).Load(makeChunk(3, nil), ""); !errors.Is(err, ErrCorrupt) {
		t.Errorf("bundle: error %v", err)
	}
}
