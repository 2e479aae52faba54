package automerge

import (
	"errors"
	"testing"
)

// A peer that may not write stays in step and is told so; what it wrote stays with it.
func TestReadOnlyPeersAreFollowedButNotObeyed(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	l.opts = ReceiveOptions{StripChanges: true}
	settle(t, l)
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "ours", 1) })
	settle(t, l)
	sameState(t, ds...)
	apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "theirs", 2) })
	settle(t, l)
	if _, ok := ds[0].Get("theirs"); ok {
		t.Error("a change of a read-only peer was applied")
	}
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "more", 3) })
	settle(t, l)
	if _, ok := ds[1].Get("more"); !ok {
		t.Error("the read-only peer does not follow any more")
	}
	for i := range 3 {
		apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "theirs", i) })
		apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "more", i) })
		settle(t, l)
	}
	l.opts = ReceiveOptions{}
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "promoted", 4) })
	apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "promoted too", 4) })
	settle(t, l)
	sameState(t, ds...)
}

func TestReadOnlyPeerThatNeverWritesIsLive(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	l.opts = ReceiveOptions{StripChanges: true}
	settle(t, l)
	for i := range 5 {
		apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", i) })
		settle(t, l)
	}
	if !l.a.Live() || !l.b.Live() {
		t.Errorf("live %v, the other end %v", l.a.Live(), l.b.Live())
	}
	sameState(t, ds...)
}

func TestForeignActorsAreRefusedBeforeAnythingIsApplied(t *testing.T) {
	for name, bulk := range map[string]int{"single changes": 1, "whole document": 40} {
		t.Run(name, func(t *testing.T) {
			ds := seeded(t, 2)
			l := newLink(ds[0], ds[1])
			asked := map[string]bool{}
			l.opts.Allow = func(actor string) bool { asked[actor] = true; return actor == "actor-b" }
			settle(t, l)
			for i := range bulk {
				apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "ok", i) })
			}
			settle(t, l)
			sameState(t, ds...)
			if asked["seed"] {
				t.Error("a change that was known already was asked about")
			}
			must(t, ds[1].SetActor("mallory"))
			for i := range bulk {
				apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "bad", i) })
			}
			l.reconnect()
			before := ds[0].Heads()
			if err := untilError(t, l); !errors.Is(err, ErrForeignActor) {
				t.Fatalf("error %v, want a foreign actor", err)
			}
			if !SameHeads(before, ds[0].Heads()) {
				t.Error("something was applied")
			}
		})
	}
}

// untilError exchanges messages until a's side refuses one.
func untilError(t *testing.T, l *link) error {
	t.Helper()
	for range 20 {
		l.pump(t)
		l.deliver(t, false)
		if len(l.ba) > 0 {
			msg := l.ba[0]
			l.ba = l.ba[1:]
			if _, err := l.a.Receive(msg, l.opts); err != nil {
				return err
			}
		}
	}
	return nil
}

// The document chunk by which a far-behind peer is served must pass Allow change by change.
func TestWholeDocumentsAreExpandedForAllow(t *testing.T) {
	src := seeded(t, 2)
	must(t, src[1].SetActor("mallory"))
	apply(t, src[1], func(b *Batch) { b.Put(b.Root(), "bad", 1) })
	saved, err := src[1].Save()
	must(t, err)
	m := message{version: messageV2, heads: src[1].Heads()}
	msg := append([]byte{m.version}, appendLebHashes(nil, m.heads)...)
	msg = append(msg, 0, 0, 1)
	msg = append(appendLeb(msg, len(saved)), saved...)
	msg = append(msg, 2, flagLegacy2, flagMarker|flagCanReset)
	p := src[0].NewPeer()
	var asked []string
	allow := func(actor string) bool { asked = append(asked, actor); return actor != "mallory" }
	if _, err := p.Receive(msg, ReceiveOptions{Allow: allow}); !errors.Is(err, ErrForeignActor) {
		t.Fatalf("error %v", err)
	}
	if len(asked) != 1 || asked[0] != "mallory" {
		t.Errorf("asked about %v", asked)
	}
	rec, err := p.Receive(msg, ReceiveOptions{})
	must(t, err)
	if !rec.HeadsKnown || len(rec.Hashes) != 1 {
		t.Errorf("received %+v", rec)
	}
}

func TestChangesOfIsolatedEditsKeepTheirPlainActor(t *testing.T) {
	ds := seeded(t, 2)
	first := ds[0].Heads()
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", 1) })
	b := NewBatch()
	b.Put(b.Root(), "y", 2)
	_, err := ds[0].Apply(b, WithAtHeads(first))
	must(t, err)
	l := newLink(ds[1], ds[0])
	l.opts.Allow = func(actor string) bool { return actor == "actor-a" }
	settle(t, l)
	sameState(t, ds...)
}
