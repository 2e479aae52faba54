package notebook

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/automerge"
	"runt/internal/domain"

	"github.com/google/go-cmp/cmp"
)

var engine *automerge.Engine

func TestMain(m *testing.M) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	engine = automerge.Open(automerge.Options{CacheDir: filepath.Join(cache, "runt-test", "wasm")})
	code := m.Run()
	if err := engine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close engine:", err)
		code = 1
	}
	os.Exit(code)
}

func newShard(t testing.TB) *automerge.Shard {
	t.Helper()
	s, err := engine.NewShard()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newDoc(t testing.TB, s *automerge.Shard, actor string) *Doc {
	t.Helper()
	d, err := New(s, actor)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func edit(t testing.TB, d *Doc, fn func(*Tx) error) automerge.Update {
	t.Helper()
	u, err := d.Edit(fn)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// withCells returns a document with code cells of the given sources, whose ids are a, b, c ...
func withCells(t testing.TB, sources ...string) *Doc {
	t.Helper()
	d := newDoc(t, newShard(t), "local:me/test")
	edit(t, d, func(tx *Tx) error {
		for i, s := range sources {
			if err := tx.AddCell(NewCell{ID: domain.CellID(string(rune('a' + i))), Source: s}, Last); err != nil {
				return err
			}
		}
		return nil
	})
	return d
}

func order(d *Doc) string {
	var ids []string
	for _, id := range d.Order() {
		ids = append(ids, string(id))
	}
	return strings.Join(ids, " ")
}

func wantOrder(t testing.TB, d *Doc, want string) {
	t.Helper()
	if got := order(d); got != want {
		t.Fatalf("order %q, want %q", got, want)
	}
}

// TestGenesis compares with the head that nteract's notebooks begin with.
func TestGenesis(t *testing.T) {
	d := newDoc(t, newShard(t), "local:me/test")
	heads := d.Engine().Heads()
	const want = "5cb837a3e10c24a4107f4bf04260c35621ad8f003ec7fbcbe63407028a22f33b"
	if len(heads) != 1 || heads[0].String() != want {
		t.Errorf("heads %v, want %s", heads, want)
	}
	if v, err := d.Version(); v != SchemaVersion || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
	if d.Len() != 0 || d.NotebookID() != "" || len(d.Metadata()) != 0 || len(d.Cells()) != 0 {
		t.Error("a new notebook is not empty")
	}
}

func TestCellsAsStored(t *testing.T) {
	d := newDoc(t, newShard(t), "local:me/test")
	edit(t, d, func(tx *Tx) error {
		tx.SetIdentity("n1")
		return tx.AddCell(NewCell{ID: "cell-1", Type: "markdown", Source: "# é😀", Metadata: map[string]any{"tags": []any{"x"}}, ExecutionID: "e1"}, Last)
	})
	raw, _ := d.Engine().Get()
	want := map[string]any{
		"schema_version": uint64(5), "metadata": map[string]any{},
		"notebook_id": "n1", "runtime_state_doc_id": "runtime:n1", "comms_doc_id": "comms:n1",
		"cells": map[string]any{"cell-1": map[string]any{
			"id": "cell-1", "cell_type": "markdown", "position": "80", "source": automerge.Text("# é😀"), "execution_count": "null",
			"metadata": map[string]any{"tags": []any{"x"}}, "resolved_assets": map[string]any{}, "attachments": map[string]any{}, "execution_id": "e1",
		}},
	}
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Error(diff)
	}
	cell, ok := d.Cell("cell-1")
	wantCell := Cell{
		ID: "cell-1", Type: "markdown", Position: "80", Source: "# é😀", ExecutionID: "e1", ExecutionCount: "null",
		Metadata: map[string]any{"tags": []any{"x"}}, Attachments: map[string]any{}, ResolvedAssets: map[string]any{},
	}
	if diff := cmp.Diff(wantCell, cell); !ok || diff != "" {
		t.Error(diff)
	}
	if d.NotebookID() != "n1" {
		t.Errorf("notebook id %q", d.NotebookID())
	}
	if s, ok := d.Source("cell-1"); s != "# é😀" || !ok {
		t.Errorf("source %q, %v", s, ok)
	}
}

// TestForeignShapes reads cells as careless peers may leave them.
func TestForeignShapes(t *testing.T) {
	d := newDoc(t, newShard(t), "local:me/test")
	b := automerge.NewBatch()
	cells := b.At("cells")
	b.Put(cells, "str", automerge.Map{{Key: "source", Value: "scalar"}, {Key: "metadata", Value: `{"old":1}`}, {Key: "execution_count", Value: 7}, {Key: "position", Value: "8180"}})
	b.Put(cells, "bare", automerge.Map{})
	b.Put(cells, "odd", automerge.Map{{Key: "source", Value: 5}, {Key: "metadata", Value: "no json"}, {Key: "execution_id", Value: nil}, {Key: "position", Value: "zz"}})
	b.Put(cells, "scalar", "not a cell")
	if _, err := d.Engine().Apply(b); err != nil {
		t.Fatal(err)
	}
	wantOrder(t, d, "bare str odd")
	str, _ := d.Cell("str")
	if str.Source != "scalar" || str.ExecutionCount != "7" || str.Metadata["old"] != 1.0 || str.Type != "code" {
		t.Errorf("cell %+v", str)
	}
	odd, _ := d.Cell("odd")
	if odd.Source != "" || odd.ExecutionCount != "null" || len(odd.Metadata) != 0 || odd.ExecutionID != "" {
		t.Errorf("cell %+v", odd)
	}
	edit(t, d, func(tx *Tx) error {
		return errors.Join(
			tx.SpliceSource("str", 0, 1, "S"), tx.SetSource("odd", "mended"), tx.SetSource("bare", "filled"),
			tx.SetCellMetadata("str", map[string]any{"new": true}),
			tx.AddCell(NewCell{ID: "last"}, Last),
		)
	})
	for id, want := range map[domain.CellID]string{"str": "Scalar", "odd": "mended", "bare": "filled"} {
		if v, _ := d.Engine().Get("cells", string(id), "source"); v != automerge.Text(want) {
			t.Errorf("source of %s is %#v, want the text %q", id, v, want)
		}
	}
	wantOrder(t, d, "bare str odd last")
}

func TestOneEditIsOneChange(t *testing.T) {
	d := withCells(t, "1", "2")
	u := edit(t, d, func(tx *Tx) error {
		return errors.Join(
			tx.AddCell(NewCell{ID: "n", Source: "x"}, After("a")), tx.SetSource("n", "xy"), tx.SpliceSource("n", 2, 0, "z"),
			tx.SetCellType("n", "raw"), tx.SetExecution("a", "e"), tx.SetExecutionCount("a", "3"), tx.MoveCell("b", First),
			tx.SetMetadata("kernelspec", map[string]any{"name": "python3"}), tx.SetAttachments("n", map[string]any{"f": map[string]any{}}),
			tx.SetResolvedAssets("n", map[string]any{"f": "hash"}), tx.SetCellMetadata("n", map[string]any{"k": 1}),
		)
	})
	if len(u.Hashes) != 1 || u.Changes == nil {
		t.Errorf("%d changes, want 1", len(u.Hashes))
	}
	wantOrder(t, d, "b a n")
	n, _ := d.Cell("n")
	if n.Source != "xyz" || n.Type != "raw" || n.ResolvedAssets["f"] != "hash" || n.Metadata["k"] != int64(1) || len(n.Attachments) != 1 {
		t.Errorf("cell %+v", n)
	}
	a, _ := d.Cell("a")
	if a.ExecutionID != "e" || a.ExecutionCount != "3" {
		t.Errorf("cell %+v", a)
	}
	edit(t, d, func(tx *Tx) error { return tx.SetExecution("a", "") })
	if v, ok := d.Engine().Get("cells", "a", "execution_id"); v != nil || !ok {
		t.Errorf("execution_id is %v, %v after clearing, want null", v, ok)
	}
}

func TestEditThatChangesNothing(t *testing.T) {
	d := withCells(t, "1", "2")
	edit(t, d, func(tx *Tx) error { return tx.SetMetadata("k", map[string]any{"a": 1}) })
	before := d.Engine().Heads()
	boom := errors.New("boom")
	for name, fn := range map[string]func(*Tx) error{
		"nothing":     func(*Tx) error { return nil },
		"same source": func(tx *Tx) error { return tx.SetSource("a", "1") },
		"same type":   func(tx *Tx) error { return tx.SetCellType("a", "code") },
		"same place": func(tx *Tx) error {
			return errors.Join(tx.MoveCell("a", First), tx.MoveCell("b", After("a")), tx.MoveCell("a", Before("b")))
		},
		"same metadata": func(tx *Tx) error { return tx.SetMetadata("k", map[string]any{"a": 1}) },
		"empty splice":  func(tx *Tx) error { return tx.SpliceSource("a", 0, 0, "") },
		"no execution":  func(tx *Tx) error { return tx.SetExecution("a", "") },
		"absent key":    func(tx *Tx) error { tx.DeleteMetadata("none"); return nil },
	} {
		u := edit(t, d, fn)
		if u.Changes != nil || !automerge.SameHeads(u.Heads, before) || !automerge.SameHeads(d.Engine().Heads(), before) {
			t.Errorf("%s: made a change", name)
		}
	}
	if _, err := d.Edit(func(tx *Tx) error { return errors.Join(tx.DeleteCell("a"), boom) }); !errors.Is(err, boom) {
		t.Errorf("error %v, want boom", err)
	}
	wantOrder(t, d, "a b")
}

func TestRefusedOperations(t *testing.T) {
	d := withCells(t, "héllo")
	for _, tc := range []struct {
		name string
		fn   func(*Tx) error
		code domain.Code
	}{
		{"no such cell", func(tx *Tx) error { return tx.SetSource("zz", "x") }, domain.CodeCellNotFound},
		{"no such neighbour", func(tx *Tx) error { return tx.AddCell(NewCell{ID: "n"}, After("zz")) }, domain.CodeCellNotFound},
		{"moved behind itself in vain", func(tx *Tx) error { return tx.MoveCell("zz", Last) }, domain.CodeCellNotFound},
		{"deleted before", func(tx *Tx) error {
			if err := tx.DeleteCell("a"); err != nil {
				return err
			}
			return tx.SetCellType("a", "raw")
		}, domain.CodeCellNotFound},
		{"id taken", func(tx *Tx) error { return tx.AddCell(NewCell{ID: "a"}, Last) }, domain.CodeInvalidArgument},
		{"no id", func(tx *Tx) error { return tx.AddCell(NewCell{}, Last) }, domain.CodeInvalidArgument},
		{"unknown type", func(tx *Tx) error { return tx.SetCellType("a", "sql") }, domain.CodeInvalidArgument},
		{"splice past the end", func(tx *Tx) error { return tx.SpliceSource("a", 3, 3, "") }, domain.CodeInvalidArgument},
		{"splice before the start", func(tx *Tx) error { return tx.SpliceSource("a", -1, 0, "x") }, domain.CodeInvalidArgument},
		{"unstorable metadata", func(tx *Tx) error { return tx.SetCellMetadata("a", map[string]any{"f": func() {}}) }, domain.CodeInvalidArgument},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := d.Engine().Heads()
			_, err := d.Edit(tc.fn)
			if domain.CodeOf(err) != tc.code {
				t.Errorf("error %v, want code %s", err, tc.code)
			}
			if !automerge.SameHeads(before, d.Engine().Heads()) {
				t.Error("the document changed")
			}
		})
	}
}

func TestHintNamesNearCells(t *testing.T) {
	d := newDoc(t, newShard(t), "local:me/test")
	if err := d.notFound("x"); !strings.Contains(err.Error(), "no cells") {
		t.Errorf("error %q for an empty notebook", err)
	}
	edit(t, d, func(tx *Tx) error {
		for _, id := range []domain.CellID{"cell-4f2a91d0-1111", "cell-77777777-2222", "intro"} {
			if err := tx.AddCell(NewCell{ID: id}, Last); err != nil {
				return err
			}
		}
		return nil
	})
	for id, want := range map[domain.CellID]string{
		"4f2a91d0":           "Near it are: cell-4f2a91d0-1111.",
		"cell-4f2a91d0-1112": "Near it are: cell-4f2a91d0-1111.",
		"cell-99999999-2222": "Near it are: cell-77777777-2222.",
		"intr":               "Near it are: intro.",
		"qqqqqqqqqq":         "List the cells to see the ids of all 3.",
	} {
		var e *domain.Error
		if err := d.notFound(id); !errors.As(err, &e) || e.Hint != want {
			t.Errorf("hint for %q: %q, want %q", id, e.Hint, want)
		}
	}
}
