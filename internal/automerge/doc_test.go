package automerge

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestApplyReturnsOneChangeAndUpdatesTheMirror(t *testing.T) {
	d := newTestDoc(t, "a")
	up := apply(t, d, func(b *Batch) {
		cells := b.Put(b.Root(), "cells", Map{})
		c := b.Put(cells, "c1", map[string]any{"id": "c1", "source": Text("x = 1"), "n": 3, "u": Uint(4), "f": 1.0, "b": []byte{1}})
		b.Put(c, "later", true)
		b.Splice(b.Get(c, "source"), 4, 1, "2")
		l := b.Put(b.Root(), "list", List{"a", nil})
		b.Insert(l, 1, "b")
		b.SetIndex(l, 0, "A")
		b.Put(b.Root(), "count", Counter(2))
		b.Increment(b.Root(), "count", 3)
	})
	want := map[string]any{
		"cells": map[string]any{"c1": map[string]any{
			"id": "c1", "source": Text("x = 2"), "n": int64(3), "u": uint64(4), "f": 1.0, "b": []byte{1}, "later": true,
		}},
		"list":  []any{"A", "b", nil},
		"count": Counter(5),
	}
	got, _ := d.Get()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mirror (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, truth(t, d)); diff != "" {
		t.Errorf("machine (-want +got):\n%s", diff)
	}
	if len(up.Hashes) != 1 || !d.Has(up.Hashes[0]) || !SameHeads(up.Heads, d.Heads()) {
		t.Errorf("update %+v does not fit heads %v", up, d.Heads())
	}
	other := newTestDoc(t, "b")
	if _, err := other.ApplyChanges(up.Changes); err != nil {
		t.Fatal(err)
	}
	got, _ = other.Get()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other document (-want +got):\n%s", diff)
	}
}

func TestFailedOperationRollsBackAndNamesIt(t *testing.T) {
	d := newTestDoc(t, "a")
	up := apply(t, d, func(b *Batch) { b.Put(b.Root(), "k", Text("v")) })
	b := NewBatch()
	b.Put(b.Root(), "x", 1)
	b.Get(b.Root(), "missing")
	b.Put(b.Root(), "y", 1)
	_, err := d.Apply(b)
	var oe *OpError
	if !errors.As(err, &oe) || oe.Index != 1 {
		t.Fatalf("error %v, want one about operation 1", err)
	}
	if !SameHeads(d.Heads(), up.Heads) {
		t.Error("heads moved")
	}
	if _, ok := d.Get("x"); ok {
		t.Error("an operation of the failed batch is visible")
	}
	for name, f := range map[string]func(b *Batch){
		"splice beyond the end": func(b *Batch) { b.Splice(b.Get(b.Root(), "k"), 2, 0, "z") },
		"delete beyond the end": func(b *Batch) { b.Splice(b.Get(b.Root(), "k"), 0, 2, "") },
		"negative position":     func(b *Batch) { b.Splice(b.Get(b.Root(), "k"), -1, 0, "") },
		"unknown type":          func(b *Batch) { b.Put(b.Root(), "z", struct{}{}) },
		"scalar as object":      func(b *Batch) { b.Put(b.Put(b.Root(), "s", 1), "t", 2) },
	} {
		b := NewBatch()
		f(b)
		if _, err := d.Apply(b); !errors.As(err, &oe) {
			t.Errorf("%s: error %v, want an OpError", name, err)
		}
	}
	apply(t, d, func(b *Batch) { b.Put(b.Root(), "after", 1) })
	if _, err := d.Save(); err != nil {
		t.Errorf("save after rollbacks: %v", err)
	}
}

func TestFirstChangeRolledBackLeavesASavableDocument(t *testing.T) {
	d := newTestDoc(t, "a")
	b := NewBatch()
	b.Put(b.Root(), "x", Text("abc"))
	b.Get(b.Root(), "missing")
	if _, err := d.Apply(b); err == nil {
		t.Fatal("no error")
	}
	if _, err := d.Save(); err != nil {
		t.Fatal(err)
	}
	up, err := d.Apply(NewBatch())
	must(t, err)
	if up.Changes != nil || len(d.Heads()) != 0 {
		t.Error("an empty batch made a change")
	}
}

func TestSaveAndLoad(t *testing.T) {
	d := newTestDoc(t, "a")
	apply(t, d, func(b *Batch) { b.Put(b.Root(), "t", Text("hé🙂llo")) })
	saved, err := d.Save()
	must(t, err)
	up := apply(t, d, func(b *Batch) { b.Splice(b.At("t"), 3, 1, "LL") })
	for name, in := range map[string][]byte{"save and changes": append(append([]byte{}, saved...), up.Changes...)} {
		e, err := newShard(t).Load(in, "b")
		must(t, err)
		if v, _ := e.Get("t"); v != Text("hé🙂LLlo") {
			t.Errorf("%s: text %q", name, v)
		}
		if !SameHeads(e.Heads(), d.Heads()) || !e.Has(up.Hashes...) {
			t.Errorf("%s: heads %v, want %v", name, e.Heads(), d.Heads())
		}
	}
	v, ok, err := d.GetAt(up.Before, "t")
	if err != nil || !ok || v != Text("hé🙂llo") {
		t.Errorf("text at old heads: %q %v %v", v, ok, err)
	}
}

func TestEditAtOldHeadsKeepsBothEdits(t *testing.T) {
	d := newTestDoc(t, "a")
	first := apply(t, d, func(b *Batch) { b.Put(b.Root(), "t", Text("one two")) })
	apply(t, d, func(b *Batch) { b.Splice(b.At("t"), 0, 3, "ONE") })
	b := NewBatch()
	b.Splice(b.At("t"), 4, 3, "TWO")
	up, err := d.Apply(b, WithAtHeads(first.Heads))
	must(t, err)
	if len(up.Heads) != 2 {
		t.Errorf("%d heads, want 2", len(up.Heads))
	}
	if v, _ := d.Get("t"); v != Text("ONE TWO") {
		t.Errorf("text %q", v)
	}
	if diff := cmp.Diff(truth(t, d), any(d.root)); diff != "" {
		t.Errorf("mirror (-machine +mirror):\n%s", diff)
	}
	cs, _, err := parseChanges(up.Changes)
	must(t, err)
	if len(cs) != 1 || cs[0].actor != "a" {
		t.Errorf("changes %+v, want one by actor a", cs)
	}
	if _, err := d.Save(); err != nil {
		t.Error(err)
	}
}

func TestConflictsListsAllValues(t *testing.T) {
	ds := seeded(t, 2)
	a := apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "k", "from a") })
	b := apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "k", "from b") })
	_, err := ds[0].ApplyChanges(b.Changes)
	must(t, err)
	_, err = ds[1].ApplyChanges(a.Changes)
	must(t, err)
	for _, d := range ds {
		vs, err := d.Conflicts("k")
		must(t, err)
		if len(vs) != 2 {
			t.Fatalf("values %v, want two", vs)
		}
		if v, _ := d.Get("k"); v != vs[1] {
			t.Errorf("shown %v, want the last of %v", v, vs)
		}
	}
}
