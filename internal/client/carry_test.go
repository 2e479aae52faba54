package client

import (
	"errors"
	"testing"

	"runt/internal/automerge"
	"runt/internal/notebook"
	"runt/internal/testenv"
)

// TestCarry loses a connection between an edit and its arrival, and takes the
// edit along, together with what the room did meanwhile.
func TestCarry(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n")
	if _, err := h.Edit(t.Context(), setSource("first", "arrived")); err != nil {
		t.Fatal(err)
	}
	if err := h.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	room := d.Room("n")
	room.Do(func() { // the daemon reads nothing while it is locked
		if _, err := h.Edit(t.Context(), setSource("first", "arrived, not arrived")); err != nil {
			t.Fatal(err)
		}
		d.DropAll()
		<-h.Done()
	})
	testenv.Await(t, t.Context(), "the peer to go", func() bool { return len(room.Peers()) == 0 })
	if _, err := room.NB.Edit(func(tx *notebook.Tx) error {
		return errors.Join(tx.AddCell(notebook.NewCell{ID: "other"}, notebook.Last))
	}); err != nil {
		t.Fatal(err)
	}
	o := d.options("a")
	o.Carry = h
	again, err := Join(t.Context(), o, "n")
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(t, again)
	if err := again.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, nb := range map[string]*notebook.Doc{"client": again.Notebook(), "daemon": room.NB} {
		if s, _ := nb.Source("first"); s != "arrived, not arrived" || nb.Len() != 2 {
			t.Errorf("the %s reads %q in %d cells", name, s, nb.Len())
		}
	}
}

// TestCarryWhatTheDaemonLost: the daemon passed on an edit of another client, and
// died before that was on its disk. Whoever got it brings it back, and its own edit too.
func TestCarryWhatTheDaemonLost(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n")
	if err := h.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	room := d.Room("n")
	saved, err := room.NB.Engine().Save()
	if err != nil {
		t.Fatal(err)
	}
	other := d.join(t, "b", "n")
	if _, err := other.Edit(t.Context(), setSource("first", "of the other")); err != nil {
		t.Fatal(err)
	}
	await(t, h, func() bool { s, _ := h.Notebook().Source("first"); return s == "of the other" })
	if _, err := h.Edit(t.Context(), func(tx *notebook.Tx) error {
		return tx.AddCell(notebook.NewCell{ID: "own"}, notebook.Last)
	}); err != nil {
		t.Fatal(err)
	}
	testenv.Await(t, t.Context(), "the daemon to have all", func() bool {
		return automerge.SameHeads(h.nbSync.peer.TheirHeads(), h.Notebook().Engine().Heads())
	})
	d.DropAll()
	<-h.Done()
	<-other.Done()
	d.restore(t, "n", saved)
	o := d.options("a")
	o.Carry = h
	again, err := Join(t.Context(), o, "n")
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(t, again)
	if err := again.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, nb := range map[string]*notebook.Doc{"client": again.Notebook(), "daemon": d.Room("n").NB} {
		if s, _ := nb.Source("first"); s != "of the other" || nb.Len() != 2 {
			t.Errorf("the %s reads %q in %d cells", name, s, nb.Len())
		}
	}
}

// restore puts a room back to what it was when its notebook was saved.
func (d *FakeDaemon) restore(t *testing.T, id string, saved []byte) {
	t.Helper()
	d.mu.Lock()
	old := d.rooms[id]
	delete(d.rooms, id)
	d.mu.Unlock()
	t.Cleanup(old.shard.Close)
	room := d.Room(id)
	nb, err := notebook.Load(room.shard, saved, "runtimed-again")
	if err != nil {
		t.Fatal(err)
	}
	room.NB = nb
}

// TestCarryIntoAnotherHistory rejoins a notebook that was made anew meanwhile:
// what was edited in the old one must not be mixed into it.
func TestCarryIntoAnotherHistory(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n")
	d.DropAll()
	<-h.Done()
	d.mu.Lock()
	old := d.rooms["n"]
	delete(d.rooms, "n")
	d.mu.Unlock()
	defer old.shard.Close()
	room := d.Room("n")
	if _, err := room.NB.Edit(setSource("first", "anew")); err != nil {
		t.Fatal(err)
	}
	o := d.options("a")
	o.Carry = h
	again, err := Join(t.Context(), o, "n")
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(t, again)
	if s, _ := again.Notebook().Source("first"); s != "anew" || again.Notebook().Len() != 1 {
		t.Errorf("source %q in %d cells", s, again.Notebook().Len())
	}
}
