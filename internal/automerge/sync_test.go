package automerge

import "testing"

// link is a connection between two documents with messages on their way.
type link struct {
	a, b   *Peer
	ab, ba [][]byte
}

func newLink(a, b *Doc) *link { return &link{a: a.NewPeer(), b: b.NewPeer()} }

// pump lets both ends say what they have to say; it reports whether they did.
func (l *link) pump(t testing.TB) bool {
	t.Helper()
	said := false
	for _, end := range []struct {
		p *Peer
		q *[][]byte
	}{{l.a, &l.ab}, {l.b, &l.ba}} {
		msg, err := end.p.Generate()
		must(t, err)
		if msg != nil {
			*end.q = append(*end.q, msg)
			said = true
		}
	}
	return said
}

func deliver(t testing.TB, p *Peer, q *[][]byte) (Received, bool) {
	t.Helper()
	if len(*q) == 0 {
		return Received{}, false
	}
	msg := (*q)[0]
	*q = (*q)[1:]
	rec, err := p.Receive(msg, ReceiveOptions{})
	must(t, err)
	return rec, true
}

// settle exchanges messages on all links until nobody has anything to say.
func settle(t testing.TB, links ...*link) {
	t.Helper()
	for range 1000 {
		busy := false
		for _, l := range links {
			busy = l.pump(t) || busy
			_, da := deliver(t, l.a, &l.ba)
			_, db := deliver(t, l.b, &l.ab)
			busy = busy || da || db
		}
		if !busy {
			return
		}
	}
	t.Fatal("sync does not end")
}

func sameState(t testing.TB, ds ...*Doc) {
	t.Helper()
	for _, d := range ds[1:] {
		if !SameHeads(d.Heads(), ds[0].Heads()) {
			t.Fatalf("heads differ: %v and %v", ds[0].Heads(), d.Heads())
		}
	}
}

func TestTwoPeersConvergeAndGoLive(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", 1) })
	settle(t, l)
	sameState(t, ds...)
	if !l.a.Live() || !l.b.Live() {
		t.Fatalf("live: %v %v", l.a.Live(), l.b.Live())
	}
	apply(t, ds[0], func(b *Batch) { b.Splice(b.At("text"), 0, 0, "A") })
	apply(t, ds[1], func(b *Batch) { b.Splice(b.At("text"), 5, 0, "B") })
	settle(t, l)
	sameState(t, ds...)
	if !l.a.Live() || !l.b.Live() {
		t.Errorf("live: %v %v", l.a.Live(), l.b.Live())
	}
	if v, _ := ds[1].Get("text"); v != Text("AhelloB") {
		t.Errorf("text %q", v)
	}
}

func TestTrapLeavesTheDocumentAsItWas(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	settle(t, l)
	d := ds[0]
	apply(t, d, func(b *Batch) { b.Put(b.Root(), "x", 1) })
	heads := d.Heads()
	d.mu.Lock()
	err := d.call(callCrash, 0, nil)
	d.mu.Unlock()
	if !isTrap(err) {
		t.Fatalf("error %v, want a trap", err)
	}
	up := apply(t, d, func(b *Batch) { b.Put(b.Root(), "y", 2) })
	if !SameHeads(up.Before, heads) {
		t.Errorf("heads before %v, want %v", up.Before, heads)
	}
	settle(t, l)
	sameState(t, ds...)
}
