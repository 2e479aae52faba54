package notebook

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"runt/internal/automerge"
)

// TestAnyShapeIsReadable puts random values at every place that reads look at.
// Nothing that a peer writes may keep a notebook from being shown or edited.
func TestAnyShapeIsReadable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for round := range 60 {
		d := newDoc(t, newShard(t), "local:me/test")
		b := automerge.NewBatch()
		for i := range 4 {
			cell := map[string]any{}
			for _, key := range []string{"id", "cell_type", "position", "source", "execution_count", "metadata", "resolved_assets", "attachments", "execution_id"} {
				if r.IntN(4) > 0 {
					cell[key] = randomValue(r, 2)
				}
			}
			var v any = cell
			if r.IntN(6) == 0 {
				v = randomValue(r, 1)
			}
			b.Put(b.At("cells"), fmt.Sprint("c", i), v)
		}
		b.Put(b.At("metadata"), "kernelspec", randomValue(r, 2))
		b.Put(b.Root(), "notebook_id", randomValue(r, 1))
		if _, err := d.Engine().Apply(b); err != nil {
			t.Fatal(err)
		}
		cells := d.Cells()
		if len(cells) != len(d.Order()) {
			t.Fatalf("%d cells in an order of %d", len(cells), len(d.Order()))
		}
		for _, c := range cells {
			edit(t, d, func(tx *Tx) error {
				for _, err := range []error{
					tx.SetSource(c.ID, "s"), tx.SetCellMetadata(c.ID, map[string]any{"a": 1}), tx.SetCellType(c.ID, "raw"),
					tx.SetExecution(c.ID, "e"), tx.MoveCell(c.ID, First), tx.SetAttachments(c.ID, nil),
				} {
					if err != nil {
						return err
					}
				}
				return tx.SetMetadata("kernelspec", map[string]any{"name": "x"})
			})
			if got, _ := d.Cell(c.ID); got.Source != "s" || got.Type != "raw" || got.ExecutionID != "e" || got.Metadata["a"] != int64(1) || d.Order()[0] != c.ID {
				t.Fatalf("round %d: cell %+v is not as set", round, got)
			}
		}
	}
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(11); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.IntN(9) - 4
	case n == 3:
		return automerge.Uint(r.IntN(9))
	case n == 4:
		return r.Float64()
	case n == 5:
		return automerge.Text("text")
	case n == 6:
		return []byte{1, 2}
	case n == 7:
		return automerge.Counter(3)
	case n == 8 && depth > 0:
		return []any{randomValue(r, depth-1), randomValue(r, depth-1)}
	case n == 9 && depth > 0:
		return map[string]any{"k": randomValue(r, depth-1), "name": "n"}
	}
	return []string{"", "80", "8180", "8", "zz", "code", `{"a":1}`}[r.IntN(7)]
}
