package notebook

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"runt/internal/automerge"
	"runt/internal/domain"

	"github.com/google/go-cmp/cmp"
)

// exchange lets two replicas send each other messages until neither has any.
func exchange(t testing.TB, a, b *Doc) {
	t.Helper()
	pa, pb := a.Engine().NewPeer(), b.Engine().NewPeer()
	defer pa.Close()
	defer pb.Close()
	for range 100 {
		sent := pass(t, pa, pb)
		if !pass(t, pb, pa) && !sent {
			return
		}
	}
	t.Fatal("two replicas do not come to rest")
}

func pass(t testing.TB, from, to *automerge.Peer) bool {
	t.Helper()
	m, err := from.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		return false
	}
	if _, err := to.Receive(m, automerge.ReceiveOptions{}); err != nil {
		t.Fatal(err)
	}
	return true
}

// replicas returns n replicas of one document, each in a shard of its own.
func replicas(t testing.TB, n int) []*Doc {
	t.Helper()
	docs := make([]*Doc, n)
	for i := range docs {
		docs[i] = newDoc(t, newShard(t), fmt.Sprintf("local:me/r%d", i))
	}
	return docs
}

func mesh(t testing.TB, docs []*Doc) {
	t.Helper()
	for range 2 {
		for i := range docs {
			for j := range docs[:i] {
				exchange(t, docs[i], docs[j])
			}
		}
	}
}

// TestR12 lets two replicas insert at both ends of one cell at once.
func TestR12_ConcurrentInsertsAtBothEnds(t *testing.T) {
	docs := replicas(t, 2)
	edit(t, docs[0], func(tx *Tx) error { return tx.AddCell(NewCell{ID: "c", Source: "<middle>"}, Last) })
	mesh(t, docs)
	for i := range 200 {
		edit(t, docs[0], func(tx *Tx) error { return tx.SpliceSource("c", 0, 0, fmt.Sprintf("<a%d>", i)) })
		s, _ := docs[1].Source("c")
		if i%2 == 0 {
			edit(t, docs[1], func(tx *Tx) error { return tx.SetSource("c", s+fmt.Sprintf("<b%d>", i)) })
		} else {
			edit(t, docs[1], func(tx *Tx) error {
				return tx.SpliceSource("c", automerge.CodePointLen(s), 0, fmt.Sprintf("<b%d>", i))
			})
		}
		if i%20 == 0 {
			mesh(t, docs)
		}
	}
	mesh(t, docs)
	s, _ := docs[0].Source("c")
	if other, _ := docs[1].Source("c"); other != s {
		t.Fatal("the replicas differ")
	}
	for i := range 200 {
		for _, mark := range []string{fmt.Sprintf("<a%d>", i), fmt.Sprintf("<b%d>", i)} {
			if n := strings.Count(s, mark); n != 1 {
				t.Errorf("%s is there %d times", mark, n)
			}
		}
	}
	if n := strings.Count(s, "<middle>"); n != 1 {
		t.Errorf("the text between is there %d times", n)
	}
}

// TestReplicasConverge makes random edits on three replicas that exchange now
// and then, and compares everything they show.
func TestReplicasConverge(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			docs := replicas(t, 3)
			for step := range 150 {
				d := docs[r.IntN(len(docs))]
				if _, err := d.Edit(func(tx *Tx) error { return randomOp(r, d, tx, step) }); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				if step%17 == 0 {
					exchange(t, docs[r.IntN(3)], docs[r.IntN(3)])
				}
			}
			mesh(t, docs)
			for _, d := range docs[1:] {
				if diff := cmp.Diff(docs[0].Cells(), d.Cells()); diff != "" {
					t.Fatal(diff)
				}
				if diff := cmp.Diff(docs[0].Metadata(), d.Metadata()); diff != "" {
					t.Fatal(diff)
				}
			}
			order := docs[0].Order()
			if docs[0].Len() != len(order) {
				t.Error("a cell is not in the order")
			}
			for i, id := range order {
				if n, before, ok := docs[0].Place(id); !ok || n != i || i > 0 && before != order[i-1] {
					t.Errorf("place of %s: got %d after %q, %v; want %d of %v", id, n, before, ok, i, order)
				}
			}
			if _, _, ok := docs[0].Place("no such cell"); ok {
				t.Error("a cell that is not there has a place")
			}
		})
	}
}

func randomOp(r *rand.Rand, d *Doc, tx *Tx, step int) error {
	ids := d.Order()
	if len(ids) < 3 || r.IntN(4) == 0 {
		return tx.AddCell(NewCell{ID: domain.CellID(fmt.Sprintf("c%d", step)), Source: "x = 1\n"}, randomPlace(r, ids))
	}
	id := ids[r.IntN(len(ids))]
	switch r.IntN(7) {
	case 0:
		return tx.DeleteCell(id)
	case 1:
		return tx.MoveCell(id, randomPlace(r, ids))
	case 2:
		return tx.SetSource(id, fmt.Sprintf("é😀 step %d\n", step))
	case 3:
		return tx.SetCellMetadata(id, map[string]any{fmt.Sprint("k", r.IntN(3)): step, "in": map[string]any{"x": r.IntN(3)}})
	case 4:
		return tx.SetMetadata("m", map[string]any{fmt.Sprint("k", r.IntN(3)): step})
	case 5:
		return errors.Join(tx.SetCellType(id, []string{"code", "markdown"}[r.IntN(2)]), tx.SetExecution(id, fmt.Sprint(step)))
	}
	s, _ := d.Source(id)
	at := r.IntN(automerge.CodePointLen(s) + 1)
	return tx.SpliceSource(id, at, min(r.IntN(3), automerge.CodePointLen(s)-at), "<ü>")
}

func randomPlace(r *rand.Rand, ids []domain.CellID) Where {
	if len(ids) == 0 || r.IntN(4) == 0 {
		return []Where{First, Last}[r.IntN(2)]
	}
	id := ids[r.IntN(len(ids))]
	return []Where{After(id), Before(id)}[r.IntN(2)]
}

func TestConcurrentMetadataIsKept(t *testing.T) {
	docs := replicas(t, 2)
	edit(t, docs[0], func(tx *Tx) error {
		return tx.SetMetadata("runt", map[string]any{"uv": map[string]any{"dependencies": []any{"numpy"}}, "env_id": "e"})
	})
	mesh(t, docs)
	edit(t, docs[0], func(tx *Tx) error {
		return tx.SetMetadata("runt", map[string]any{"uv": map[string]any{"dependencies": []any{"numpy", "pandas"}}, "env_id": "e"})
	})
	edit(t, docs[1], func(tx *Tx) error {
		return tx.SetMetadata("runt", map[string]any{"uv": map[string]any{"dependencies": []any{"numpy"}, "requires-python": ">=3.12"}, "env_id": "e"})
	})
	mesh(t, docs)
	want := map[string]any{"runt": map[string]any{"env_id": "e", "uv": map[string]any{"dependencies": []any{"numpy", "pandas"}, "requires-python": ">=3.12"}}}
	for _, d := range docs {
		if diff := cmp.Diff(want, d.Metadata()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestVersionIsTheHighest has two peers write the version at once.
func TestVersionIsTheHighest(t *testing.T) {
	docs := replicas(t, 2)
	for i, v := range []uint64{9, 4} {
		b := automerge.NewBatch()
		b.Put(b.Root(), "schema_version", automerge.Uint(v))
		if _, err := docs[i].Engine().Apply(b); err != nil {
			t.Fatal(err)
		}
	}
	mesh(t, docs)
	for _, d := range docs {
		if v, err := d.Version(); v != 9 || err != nil {
			t.Errorf("version %d, %v, want 9", v, err)
		}
	}
}

// TestFormatterMeetsTyping applies an edit at the heads it was computed from,
// while somebody has typed on.
func TestFormatterMeetsTyping(t *testing.T) {
	d := withCells(t, "x=1")
	seen := d.Engine().Heads()
	edit(t, d, func(tx *Tx) error { return tx.SetSource("a", "x=1\ny=2") })
	if _, err := d.Edit(func(tx *Tx) error { return tx.SetSource("a", "x = 1") }, automerge.WithAtHeads(seen)); err != nil {
		t.Fatal(err)
	}
	if s, _ := d.Source("a"); s != "x = 1\ny=2" {
		t.Errorf("source %q, want both edits", s)
	}
	if s, ok, err := d.SourceAt(seen, "a"); s != "x=1" || !ok || err != nil {
		t.Errorf("the source then was %q, %v, %v", s, ok, err)
	}
	if _, ok, err := d.SourceAt(seen, "zz"); ok || err != nil {
		t.Errorf("a cell that never was: %v, %v", ok, err)
	}
}

func TestSaveAndLoad(t *testing.T) {
	d := withCells(t, "one", "two")
	saved, err := d.Engine().Save()
	if err != nil {
		t.Fatal(err)
	}
	u := edit(t, d, func(tx *Tx) error { return tx.SetSource("b", "three") })
	again, err := Load(newShard(t), append(saved, u.Changes...), "local:me/other")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Cells(), again.Cells()); diff != "" {
		t.Error(diff)
	}
	edit(t, again, func(tx *Tx) error { return tx.SetSource("a", "four") })
	exchange(t, d, again)
	if s, _ := d.Source("a"); s != "four" {
		t.Errorf("source %q after exchange with a loaded replica", s)
	}
	other, err := newShard(t).New("x")
	if err != nil {
		t.Fatal(err)
	}
	saved, err = other.Save()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(newShard(t), saved, "x"); domain.CodeOf(err) != domain.CodeFileUnreadable {
		t.Errorf("loading what is no notebook: %v", err)
	}
	if _, err := Load(newShard(t), []byte("junk"), "x"); err == nil {
		t.Error("junk was loaded")
	}
}

func BenchmarkSetSource(b *testing.B) {
	d := withCells(b, strings.Repeat("x = 1\n", 30))
	i := 0
	for b.Loop() {
		i++
		edit(b, d, func(tx *Tx) error {
			return tx.SetSource("a", fmt.Sprintf("%sy = %d", strings.Repeat("x = 1\n", 30), i))
		})
	}
}

func BenchmarkAddCellToLongNotebook(b *testing.B) {
	d := newDoc(b, newShard(b), "local:me/test")
	n := 0
	add := func(tx *Tx) error {
		n++
		return tx.AddCell(NewCell{ID: domain.CellID(fmt.Sprintf("c%d", n)), Source: "x"}, Last)
	}
	edit(b, d, func(tx *Tx) error {
		for range 1000 {
			if err := add(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for b.Loop() {
		edit(b, d, add)
	}
}

func BenchmarkSetSourceAtHeads(b *testing.B) {
	d := withCells(b, strings.Repeat("x = 1\n", 30))
	i := 0
	for b.Loop() {
		i++
		if _, err := d.Edit(func(tx *Tx) error {
			return tx.SetSource("a", fmt.Sprintf("%sy = %d", strings.Repeat("x = 1\n", 30), i))
		}, automerge.WithAtHeads(d.am.Heads())); err != nil {
			b.Fatal(err)
		}
	}
}
