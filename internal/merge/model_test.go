package merge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"runt/internal/ipynb"
)

// apply does what a document does with the operations.
func apply(t *testing.T, live ipynb.Notebook, ops []Op) ipynb.Notebook {
	t.Helper()
	cells := slices.Clone(live.Cells)
	metadata := maps.Clone(live.Metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	find := func(id string) int {
		i := slices.IndexFunc(cells, func(c ipynb.Cell) bool { return c.ID == id })
		if i < 0 {
			t.Fatalf("an operation names the cell %q, which is not there", id)
		}
		return i
	}
	place := func(after string) int {
		if after == "" {
			return 0
		}
		return find(after) + 1
	}
	for _, op := range ops {
		switch op.Kind {
		case OpDelete:
			i := find(op.ID)
			cells = slices.Delete(cells, i, i+1)
		case OpAdd:
			cells = slices.Insert(cells, place(op.After), op.Cell)
		case OpMove:
			i := find(op.ID)
			c := cells[i]
			cells = slices.Delete(cells, i, i+1)
			cells = slices.Insert(cells, place(op.After), c)
		case OpSource:
			cells[find(op.ID)].Source = op.Cell.Source
		case OpType:
			cells[find(op.ID)].Type = op.Cell.Type
		case OpCellMetadata:
			cells[find(op.ID)].Metadata = op.Cell.Metadata
		case OpAttachments:
			cells[find(op.ID)].Attachments = op.Cell.Attachments
		case OpOutputs:
			c := &cells[find(op.ID)]
			c.Outputs, c.ExecutionCount = op.Cell.Outputs, op.Cell.ExecutionCount
		case OpMetadata:
			metadata[op.Key] = op.Value
		case OpDeleteMetadata:
			delete(metadata, op.Key)
		default:
			t.Fatalf("unknown operation %q", op.Kind)
		}
	}
	return ipynb.Notebook{Metadata: metadata, Cells: cells}
}

// diff says how two notebooks differ, or "" when they do not.
func diff(a, b ipynb.Notebook) string {
	if !slices.Equal(ids(a.Cells), ids(b.Cells)) {
		return fmt.Sprintf("cells %q and %q", ids(a.Cells), ids(b.Cells))
	}
	for i := range a.Cells {
		x, y := a.Cells[i], b.Cells[i]
		x.Extra, y.Extra = nil, nil
		if edited(x, y) || !equalRuns(x, y) {
			return fmt.Sprintf("cell %s is %+v and %+v", x.ID, x, y)
		}
	}
	if !equalMaps(a.Metadata, b.Metadata) {
		return fmt.Sprintf("metadata %v and %v", a.Metadata, b.Metadata)
	}
	return ""
}

// world makes notebooks and changes them at random.
type world struct {
	*rand.Rand
	made int
}

func (w *world) cell() ipynb.Cell {
	w.made++
	c := ipynb.Cell{ID: fmt.Sprintf("c%d", w.made), Source: w.text(), Type: []string{ipynb.TypeCode, ipynb.TypeMarkdown}[w.IntN(2)]}
	if w.IntN(2) == 0 {
		c.Metadata = map[string]any{"n": w.IntN(3)}
	}
	return c
}

// text returns a text that nobody else has written.
func (w *world) text() string {
	w.made++
	return fmt.Sprintf("text %d\nline", w.made)
}

func (w *world) notebook() ipynb.Notebook {
	n := ipynb.Notebook{Metadata: map[string]any{"a": w.IntN(3), "kernelspec": map[string]any{"name": "k", "x": w.IntN(2)}}}
	for range w.IntN(7) {
		n.Cells = append(n.Cells, w.cell())
	}
	return n
}

// change returns a copy of n with some changes.
func (w *world) change(n ipynb.Notebook) ipynb.Notebook {
	n.Cells, n.Metadata = slices.Clone(n.Cells), maps.Clone(n.Metadata)
	for range w.IntN(5) {
		if len(n.Cells) == 0 || w.IntN(5) == 0 {
			n.Cells = slices.Insert(n.Cells, w.IntN(len(n.Cells)+1), w.cell())
			continue
		}
		i := w.IntN(len(n.Cells))
		c := &n.Cells[i]
		switch w.IntN(9) {
		case 0, 1:
			c.Source = w.text()
		case 2:
			c.Type = []string{ipynb.TypeCode, ipynb.TypeMarkdown, ipynb.TypeRaw}[w.IntN(3)]
		case 3:
			c.Metadata = map[string]any{"n": w.IntN(3), "m": map[string]any{"deep": w.IntN(2)}}
		case 4:
			n.Cells = slices.Delete(n.Cells, i, i+1)
		case 5:
			j := w.IntN(len(n.Cells))
			n.Cells[i], n.Cells[j] = n.Cells[j], n.Cells[i]
		case 6:
			c.Outputs = []ipynb.Output{{Value: map[string]any{"output_type": "stream", "name": "stdout", "text": w.text()}}}
			count := int64(w.IntN(5))
			c.ExecutionCount = &count
		case 7:
			c.Attachments = map[string]any{"a.png": map[string]any{"image/png": w.text()}}
		case 8:
			n.Metadata = map[string]any{"a": w.IntN(3), "b": w.IntN(2), "kernelspec": map[string]any{"name": "k", "x": w.IntN(3)}}
		}
	}
	return n
}

// sources returns the texts of a notebook that are worth keeping.
func sources(n ipynb.Notebook) map[string]bool {
	all := map[string]bool{}
	for _, c := range n.Cells {
		if strings.TrimSpace(c.Source) != "" {
			all[text(c)] = true
		}
	}
	return all
}

// TestModel merges random changes and checks what the package promises.
func TestModel(t *testing.T) {
	conflicts, refused := 0, 0
	for seed := range uint64(4000) {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 1))}
		base := w.notebook()
		disk, live := w.change(base), w.change(base)
		r := Merge(base, disk, live, Options{})
		if d := diff(r.Merged, apply(t, live, r.Ops)); d != "" {
			t.Fatalf("seed %d: the operations do not give the result: %s", seed, d)
		}
		if r.Refused != "" {
			refused++
			if len(r.Ops) > 0 || len(disk.Cells) > 0 {
				t.Fatalf("seed %d: refused with %v", seed, r.Ops)
			}
			continue
		}
		conflicts += len(r.Conflicts)
		nothingLost(t, seed, base, disk, live, r)
		if again := Merge(base, disk, r.Merged, Options{}); len(again.Ops) > 0 {
			t.Fatalf("seed %d: merging again does %+v", seed, again.Ops)
		}
		if after := Merge(disk, disk, r.Merged, Options{}); len(after.Ops)+len(after.Conflicts) > 0 {
			t.Fatalf("seed %d: an unchanged file does %+v %+v", seed, after.Ops, after.Conflicts)
		}
		if one := Merge(base, disk, base, Options{}); diff(one.Merged, disk) != "" || len(one.Conflicts) > 0 {
			t.Fatalf("seed %d: merged with an unchanged document: %s %v", seed, diff(one.Merged, disk), one.Conflicts)
		}
		if both := Merge(base, live, live, Options{}); len(both.Ops)+len(both.Conflicts) > 0 {
			t.Fatalf("seed %d: the same on both sides does %+v %+v", seed, both.Ops, both.Conflicts)
		}
	}
	if conflicts < 400 || refused < 20 {
		t.Errorf("only %d conflicts and %d refusals: the changes are too tame", conflicts, refused)
	}
}

// nothingLost checks that each text that one side wrote is in the result, and
// each text of the base that neither side touched.
func nothingLost(t *testing.T, seed uint64, base, disk, live ipynb.Notebook, r Result) {
	t.Helper()
	was, have := sources(base), sources(r.Merged)
	onDisk, inLive := sources(disk), sources(live)
	for s := range onDisk {
		if !was[s] && !have[s] {
			t.Fatalf("seed %d: %q was written on disk and is lost: %+v", seed, s, r)
		}
	}
	for s := range inLive {
		if !was[s] && !have[s] {
			t.Fatalf("seed %d: %q was written live and is lost: %+v", seed, s, r)
		}
	}
	for s := range was {
		if onDisk[s] && inLive[s] && !have[s] {
			t.Fatalf("seed %d: %q was touched by nobody and is lost: %+v", seed, s, r)
		}
	}
	for _, c := range r.Conflicts {
		if c.Kind == ConflictSource && (!have[c.Live.(string)] && c.Live != "" || !have[c.Disk.(string)] && c.Disk != "") {
			t.Fatalf("seed %d: a conflict whose texts are not both there: %+v", seed, c)
		}
	}
}

// TestModelWithoutIDs takes the ids away from the cells on disk, as a program
// that does not know them does: cells that were not changed keep their identity, and no text is lost.
func TestModelWithoutIDs(t *testing.T) {
	for seed := range uint64(2000) {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 2))}
		base := w.notebook()
		disk, live := w.change(base), w.change(base)
		disk.Cells = slices.Clone(disk.Cells)
		for i := range disk.Cells {
			disk.Cells[i].ID, disk.Cells[i].IDMade = fmt.Sprintf("made%d", i), true
		}
		r := Merge(base, disk, live, Options{})
		if d := diff(r.Merged, apply(t, live, r.Ops)); d != "" {
			t.Fatalf("seed %d: the operations do not give the result: %s", seed, d)
		}
		if r.Refused != "" {
			continue
		}
		nothingLost(t, seed, base, disk, live, r)
		untouched := Merge(base, ipynb.Notebook{Metadata: base.Metadata, Cells: anonymous(base.Cells)}, live, Options{})
		if len(untouched.Ops)+len(untouched.Conflicts) > 0 {
			t.Fatalf("seed %d: a file that only lost its ids does %+v", seed, untouched.Ops)
		}
		one := Merge(base, disk, base, Options{})
		if len(one.Merged.Cells) != len(disk.Cells) {
			t.Fatalf("seed %d: %d cells, want %d", seed, len(one.Merged.Cells), len(disk.Cells))
		}
		for i, c := range one.Merged.Cells {
			if edited(c, disk.Cells[i]) {
				t.Fatalf("seed %d: cell %d is %+v, want %+v", seed, i, c, disk.Cells[i])
			}
		}
	}
}

func anonymous(cells []ipynb.Cell) []ipynb.Cell {
	cells = slices.Clone(cells)
	for i := range cells {
		cells[i].ID, cells[i].IDMade = fmt.Sprintf("made%d", i), true
	}
	return cells
}
