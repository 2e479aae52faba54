package automerge

import (
	"testing"
)

// Each test here pins one of the traps that a first daemon fell into.

// A peer whose Bloom filter is wrong, or whose message was lost, names a head
// that did not come with it. Such a message must be answered by the library,
// which asks for the change; a hand-made answer would stall for ever.
func TestHeadsWithoutTheirChangeAreAskedFor(t *testing.T) {
	for name, pure := range map[string]bool{"remote on the fast path": false, "remote with only the library": true} {
		t.Run(name, func(t *testing.T) {
			ds := seeded(t, 2)
			l := newLink(ds[0], ds[1])
			l.b.pure = pure
			settle(t, l)
			if !l.a.Live() {
				t.Fatal("not live")
			}
			up := apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "x", 1) })
			if l.pump(t); len(l.ba) != 1 {
				t.Fatalf("%d messages, want 1", len(l.ba))
			}
			l.ba[0] = withoutChanges(up)
			rec, _ := l.deliver(t, true)
			if rec.HeadsKnown || rec.HadChanges || l.a.Live() {
				t.Errorf("received %+v, live %v", rec, l.a.Live())
			}
			msg, err := l.a.Generate()
			must(t, err)
			m, err := parseMessage(msg)
			must(t, err)
			if len(m.need) != 1 || m.need[0] != up.Hashes[0] {
				t.Errorf("answer needs %v, want the dropped change", m.need)
			}
			l.ab = append(l.ab, msg)
			settle(t, l)
			sameState(t, ds...)
		})
	}
}

// withoutChanges returns the message that names up's heads but lacks its change.
func withoutChanges(up Update) []byte {
	msg := appendLebHashes([]byte{messageV2}, up.Heads)
	msg = append(msg, 0, 1)
	msg = appendLebHashes(msg, up.Before)
	return append(msg, 0, 0, 2, flagLegacy2, flagMarker|flagCanReset)
}

// A change that builds on one that was dropped is kept aside and completed.
func TestChangeAfterADroppedOneIsCompleted(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	settle(t, l)
	apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "x", 1) })
	l.pump(t)
	l.ba = nil
	apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "y", 2) })
	l.pump(t)
	rec, _ := l.deliver(t, true)
	if !rec.HadChanges || rec.HeadsKnown || rec.Changes != nil {
		t.Errorf("received %+v", rec)
	}
	settle(t, l)
	sameState(t, ds...)
	if v, ok := ds[0].Get("x"); !ok || v != int64(1) {
		t.Errorf("x = %v", v)
	}
}

// A hand-made message promises that the remote has exactly what was sent to it.
// With any other promise the remote sends our own changes back, or a reset.
func TestFramesPromiseExactlyTheHeadsSent(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	l.b.pure = true
	settle(t, l)
	for i := range 20 {
		apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", i) })
		if i%3 == 0 {
			apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "y", i) })
		}
		l.pump(t)
		for _, msg := range l.ab {
			m, err := parseMessage(msg)
			must(t, err)
			if len(m.have) != 1 || !SameHeads(m.have[0].lastSync, m.heads) || len(m.have[0].bloom) != 0 {
				t.Fatalf("frame promises %+v with heads %v", m.have, m.heads)
			}
		}
		for {
			rec, more := l.deliver(t, true)
			if !more {
				break
			}
			if rec.HadChanges && len(rec.Hashes) == 0 {
				t.Error("the remote sent back what it had from us")
			}
		}
		l.deliver(t, false)
	}
	settle(t, l)
	sameState(t, ds...)
	if !l.a.Live() {
		t.Error("the steady state was left")
	}
}

// Nothing but Apply makes changes: no call commits by accident.
func TestNoCallCommitsSilently(t *testing.T) {
	ds := seeded(t, 2)
	d := ds[0]
	remote := apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "r", 1) })
	up := apply(t, d, func(b *Batch) { b.Put(b.Root(), "x", 1) })
	bad := NewBatch()
	bad.Put(bad.Root(), "lost", 1)
	bad.Get(bad.Root(), "missing")
	if _, err := d.Apply(bad); err == nil {
		t.Fatal("no error")
	}
	p := d.NewPeer()
	for name, call := range map[string]func() error{
		"save":     func() error { _, err := d.Save(); return err },
		"changes":  func() error { _, err := d.ChangesSince(nil); return err },
		"generate": func() error { _, err := p.Generate(); return err },
		"read":     func() error { _, _, err := d.GetAt(up.Before, "x"); return err },
		"actor":    func() error { return d.SetActor("other") },
		"empty":    func() error { _, err := d.Apply(NewBatch()); return err },
	} {
		must(t, call())
		if !SameHeads(d.Heads(), up.Heads) {
			t.Errorf("%s made a change", name)
		}
	}
	got, err := d.ApplyChanges(remote.Changes)
	must(t, err)
	if len(got.Heads) != 2 || len(got.Hashes) != 1 {
		t.Errorf("a remote change brought more than itself: %+v", got)
	}
}

// Nested values are written in the order of a hash map, unless the batch is plain.
func TestPlainBatchesGiveTheSameHashEverywhere(t *testing.T) {
	make1 := func() Hash {
		d := newTestDoc(t, "same")
		b := NewBatch().Plain()
		m := Map{}
		for _, k := range []string{"z", "y", "x", "w", "v", "u", "t", "s"} {
			m = append(m, Entry{k, Map{{"k", k}, {"l", List{k, Text(k)}}}})
		}
		b.Put(b.Root(), "m", m)
		b.Put(b.Root(), "g", map[string]any{"b": 1, "a": 2, "c": Text("t")})
		up, err := d.Apply(b)
		must(t, err)
		return up.Hashes[0]
	}
	want := make1()
	for range 5 {
		if got := make1(); got != want {
			t.Fatalf("hash %v, want %v", got, want)
		}
	}
}
