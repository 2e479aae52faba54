package automerge

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

// sampleMessages are real sync messages of both versions, with changes, with a
// whole document, and made in Go.
func sampleMessages(t testing.TB) [][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	ds := seeded(t, 2)
	for range 5 {
		randomChange(t, r, ds[1])
	}
	l := newLink(ds[0], ds[1])
	var out [][]byte
	for range 10 {
		randomChange(t, r, ds[r.IntN(2)])
		l.pump(t)
		out = append(append(out, l.ab...), l.ba...)
		l.deliver(t, true)
		l.deliver(t, false)
	}
	return out
}

func FuzzParseMessage(f *testing.F) {
	for _, m := range sampleMessages(f) {
		f.Add(m)
	}
	f.Add([]byte{})
	f.Add([]byte{messageV2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(b)
		if err != nil {
			return
		}
		size := 32 * (len(m.heads) + len(m.need))
		for _, h := range m.have {
			size += 32*len(h.lastSync) + len(h.bloom)
		}
		for _, c := range m.chunks {
			size += len(c)
		}
		if size > len(b) {
			t.Fatalf("%d bytes were read out of %d", size, len(b))
		}
	})
}

func FuzzParseChanges(f *testing.F) {
	for _, m := range sampleMessages(f) {
		msg, err := parseMessage(m)
		must(f, err)
		for _, c := range msg.chunks {
			f.Add(c)
		}
	}
	f.Add(makeChunk(chunkCompressed, []byte{0x4b, 0x4c, 0x4a, 6, 0}))
	f.Add(makeChunk(chunkChange, []byte{1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		cs, pure, err := parseChanges(b)
		if err != nil {
			return
		}
		if pure && !bytes.Equal(joinRaw(cs), b) && len(b) > 0 {
			t.Fatal("the changes do not add up to the input")
		}
	})
}

// FuzzAnswer reads arbitrary bytes as an answer of the shim: it must never
// panic or ask for more memory than the bytes could fill.
func FuzzAnswer(f *testing.F) {
	d := seeded(f, 1)[0]
	f.Add([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0})
	b, err := appendValue(nil, map[string]any{"a": List{1, "x", Text("t"), nil, 2.5}}, 0)
	must(f, err)
	f.Add(b)
	up := apply(f, d, func(b *Batch) { b.Put(b.Root(), "m", Map{{"k", List{1}}}) })
	f.Add(up.Changes)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := decoder{b: b}
		r.value(0)
		r = decoder{b: b}
		root := map[string]any{"text": Text("x"), "list": List{}}
		_, _ = applyPatches(root, r.patches())
		var l loaded
		l.read(&decoder{b: b})
		var n news
		n.read(&decoder{b: b})
	})
}

// FuzzReceive gives arbitrary messages to a live peer and to a new one. The
// seeds are real messages, so mutations get far.
func FuzzReceive(f *testing.F) {
	for _, m := range sampleMessages(f) {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		ds := seeded(t, 2)
		l := newLink(ds[0], ds[1])
		settle(t, l)
		for _, p := range []*Peer{l.a, ds[0].NewPeer()} {
			if _, err := p.Receive(msg, ReceiveOptions{}); !tolerable(err) {
				t.Fatal(err)
			}
			if _, err := p.Generate(); !tolerable(err) {
				t.Fatal(err)
			}
		}
		checkMirror(t, ds[0])
	})
}

// FuzzCodePoints checks the conversions of positions against each other.
func FuzzCodePoints(f *testing.F) {
	for _, s := range pieces {
		f.Add(s+s, 1, 1, "x")
	}
	f.Add("\xff\xfe", 1, 0, "")
	f.Fuzz(func(t *testing.T, s string, pos, del int, ins string) {
		n := CodePointLen(s)
		if pos >= 0 && pos <= n {
			if got := CodePointOfByte(s, ByteOffset(s, pos)); got != pos {
				t.Errorf("byte and back: %d, want %d", got, pos)
			}
			if got := CodePointOfUTF16(s, UTF16OfCodePoint(s, pos)); got != pos {
				t.Errorf("UTF-16 and back: %d, want %d", got, pos)
			}
		}
		out, ok := spliceText(s, pos, del, ins)
		if want := pos >= 0 && del >= 0 && pos <= n && del <= n-pos; ok != want {
			t.Fatalf("splice at %d of %d in %d: %v", pos, del, n, ok)
		}
		if ok && utf8.ValidString(s+ins) && CodePointLen(out) != n-del+CodePointLen(ins) {
			t.Errorf("splice made %d code points of %d", CodePointLen(out), n)
		}
		if !utf8.ValidString(validText(s)) {
			t.Error("text is not valid")
		}
	})
}
