package automerge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// link is a connection between two documents with messages on their way.
type link struct {
	a, b   *Peer
	ab, ba [][]byte
	opts   ReceiveOptions // of a
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

// deliver gives the oldest message on its way to a, or to b.
func (l *link) deliver(t testing.TB, toA bool) (Received, bool) {
	t.Helper()
	p, q, o := l.b, &l.ab, ReceiveOptions{}
	if toA {
		p, q, o = l.a, &l.ba, l.opts
	}
	if len(*q) == 0 {
		return Received{}, false
	}
	msg := (*q)[0]
	*q = (*q)[1:]
	rec, err := p.Receive(msg, o)
	must(t, err)
	return rec, true
}

// reconnect is what both ends do when the connection between them breaks.
func (l *link) reconnect() {
	l.ab, l.ba = nil, nil
	l.a.Reset()
	l.b.Reset()
}

// settle exchanges messages on all links until nobody has anything to say.
func settle(t testing.TB, links ...*link) {
	t.Helper()
	for range 1000 {
		busy := false
		for _, l := range links {
			busy = l.pump(t) || busy
			_, toA := l.deliver(t, true)
			_, toB := l.deliver(t, false)
			busy = busy || toA || toB
		}
		if !busy {
			return
		}
	}
	t.Fatal("sync does not end")
}

func sameState(t testing.TB, ds ...*Doc) {
	t.Helper()
	want, _ := ds[0].Get()
	for i, d := range ds {
		if !SameHeads(d.Heads(), ds[0].Heads()) {
			t.Fatalf("heads of 0 and %d differ: %v and %v", i, ds[0].Heads(), d.Heads())
		}
		got, _ := d.Get()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("states of 0 and %d differ:\n%s", i, diff)
		}
		checkMirror(t, d)
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

func TestLivePeersSayNothingTwice(t *testing.T) {
	ds := seeded(t, 3)
	l1, l2 := newLink(ds[0], ds[1]), newLink(ds[0], ds[2])
	settle(t, l1, l2)
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", 1) })
	m1, err := l1.a.Generate()
	must(t, err)
	m2, err := l2.a.Generate()
	must(t, err)
	if len(m1) == 0 || &m1[0] != &m2[0] {
		t.Error("two live peers do not share one frame")
	}
	if again, _ := l1.a.Generate(); again != nil {
		t.Error("the same changes are sent twice")
	}
	l1.ab = append(l1.ab, m1)
	rec, _ := l1.deliver(t, false)
	if !rec.HadChanges || !rec.HeadsKnown || len(rec.Hashes) != 1 {
		t.Errorf("received %+v", rec)
	}
	ack, err := l1.b.Generate()
	must(t, err)
	if ack == nil {
		t.Fatal("no acknowledgement")
	}
	got, err := l1.a.Receive(ack, ReceiveOptions{})
	must(t, err)
	if got.HadChanges || !got.HeadsKnown {
		t.Errorf("acknowledgement: %+v", got)
	}
	if answer, _ := l1.a.Generate(); answer != nil {
		t.Error("an acknowledgement is answered")
	}
}

// TestRandomSchedulesConverge runs a hub with three peers, each pair on the
// fast path or on the library, with changes and messages in random order.
func TestRandomSchedulesConverge(t *testing.T) {
	for seed := range seeds(t, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 2))
			ds := seeded(t, 4)
			var links []*link
			for _, d := range ds[1:] {
				l := newLink(ds[0], d)
				l.a.pure, l.b.pure = r.IntN(4) == 0, r.IntN(3) == 0
				links = append(links, l)
			}
			for range 150 {
				l := links[r.IntN(len(links))]
				switch r.IntN(6) {
				case 0, 1:
					randomChange(t, r, ds[r.IntN(len(ds))])
				case 2:
					l.deliver(t, true)
				case 3:
					l.deliver(t, false)
				default:
					l.pump(t)
				}
			}
			settle(t, links...)
			sameState(t, ds...)
			for i, l := range links {
				if l.a.Live() == l.a.pure || l.b.Live() == l.b.pure {
					t.Errorf("link %d: live %v %v, library only %v %v", i, l.a.Live(), l.b.Live(), l.a.pure, l.b.pure)
				}
			}
		})
	}
}

// TestLostMessagesAreRecovered breaks the promise of a reliable stream: any
// message may be lost, doubled or overtaken. When the stream is good again and
// both ends have made a change, everything must arrive.
func TestLostMessagesAreRecovered(t *testing.T) {
	for seed := range seeds(t, 40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 3))
			ds := seeded(t, 2)
			l := newLink(ds[0], ds[1])
			l.a.pure, l.b.pure = r.IntN(4) == 0, r.IntN(4) == 0
			if r.IntN(2) == 0 {
				settle(t, l)
			}
			for range 80 {
				switch r.IntN(6) {
				case 0, 1:
					randomChange(t, r, ds[r.IntN(2)])
				case 2:
					disturb(r, &l.ab)
					disturb(r, &l.ba)
				case 3:
					l.deliver(t, r.IntN(2) == 0)
				default:
					l.pump(t)
				}
			}
			l.ab, l.ba = nil, nil
			for range 6 {
				for i, d := range ds {
					apply(t, d, func(b *Batch) { b.Put(b.Root(), fmt.Sprint("last", i), r.Int64()) })
				}
				settle(t, l)
			}
			sameState(t, ds...)
		})
	}
}

func TestReconnectRecoversAtOnce(t *testing.T) {
	for seed := range seeds(t, 20) {
		r := rand.New(rand.NewPCG(uint64(seed), 4))
		ds := seeded(t, 2)
		l := newLink(ds[0], ds[1])
		for range 40 {
			randomChange(t, r, ds[r.IntN(2)])
			l.pump(t)
			l.deliver(t, r.IntN(2) == 0)
			disturb(r, &l.ab)
		}
		l.reconnect()
		settle(t, l)
		sameState(t, ds...)
	}
}

// disturb loses, doubles or swaps messages on their way.
func disturb(r *rand.Rand, q *[][]byte) {
	n := len(*q)
	if n == 0 {
		return
	}
	i := r.IntN(n)
	switch r.IntN(3) {
	case 0:
		*q = append((*q)[:i:i], (*q)[i+1:]...)
	case 1:
		*q = append(*q, (*q)[i])
	default:
		j := r.IntN(n)
		(*q)[i], (*q)[j] = (*q)[j], (*q)[i]
	}
}
