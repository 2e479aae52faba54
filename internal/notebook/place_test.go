package notebook

import (
	"errors"
	"fmt"
	"testing"

	"runt/internal/automerge"
	"runt/internal/domain"
)

func TestPlaces(t *testing.T) {
	for _, tc := range []struct {
		name  string
		where Where
		added string // order after adding n to a b c
		moved string // order after moving b there
	}{
		{"last", Last, "a b c n", "a c b"},
		{"zero value", Where{}, "a b c n", "a c b"},
		{"first", First, "n a b c", "b a c"},
		{"after a", After("a"), "a n b c", "a b c"},
		{"after c", After("c"), "a b c n", "a c b"},
		{"before a", Before("a"), "n a b c", "b a c"},
		{"before c", Before("c"), "a b n c", "a b c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := withCells(t, "", "", "")
			edit(t, d, func(tx *Tx) error { return tx.MoveCell("b", tc.where) })
			wantOrder(t, d, tc.moved)
			d = withCells(t, "", "", "")
			edit(t, d, func(tx *Tx) error { return tx.AddCell(NewCell{ID: "n"}, tc.where) })
			wantOrder(t, d, tc.added)
		})
	}
}

func TestPlacesWithinOneEdit(t *testing.T) {
	d := withCells(t, "", "", "")
	edit(t, d, func(tx *Tx) error {
		return errors.Join(
			tx.AddCell(NewCell{ID: "x"}, After("a")), tx.AddCell(NewCell{ID: "y"}, After("x")), tx.DeleteCell("b"),
			tx.MoveCell("c", First), tx.AddCell(NewCell{ID: "z"}, Before("y")), tx.AddCell(NewCell{ID: "b", Source: "again"}, Last),
		)
	})
	wantOrder(t, d, "c a x z y b")
	if s, _ := d.Source("b"); s != "again" {
		t.Errorf("a cell deleted and added in one edit reads %q", s)
	}
}

// TestNoRoom puts cells between neighbours whose positions leave no room.
func TestNoRoom(t *testing.T) {
	for name, positions := range map[string][3]string{
		"all equal":               {"80", "80", "80"},
		"first two equal":         {"80", "80", "9080"},
		"last two equal":          {"7080", "80", "80"},
		"malformed":               {"a", "b", "c"},
		"malformed in the middle": {"80", "8X", "90"},
		"a foreign dead end":      {"80", "8000", "800000"},
		"lowest":                  {"00", "0000", "01"},
	} {
		for i, where := range []Where{First, After("a"), After("b"), Last} {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				d := withCells(t, "", "", "")
				b := automerge.NewBatch()
				for k, p := range positions {
					b.Put(b.At("cells", string(rune('a'+k))), "position", p)
				}
				if _, err := d.Engine().Apply(b); err != nil {
					t.Fatal(err)
				}
				wantOrder(t, d, "a b c")
				edit(t, d, func(tx *Tx) error { return tx.AddCell(NewCell{ID: "n"}, where) })
				wantOrder(t, d, []string{"n a b c", "a n b c", "a b n c", "a b c n"}[i])
			})
		}
	}
}

func TestManyCellsInOneEdit(t *testing.T) {
	d := newDoc(t, newShard(t), "local:me/test")
	const n = 2000
	edit(t, d, func(tx *Tx) error {
		for i := range n {
			if err := tx.AddCell(NewCell{ID: domain.CellID(fmt.Sprintf("c%04d", n-i)), Source: "x"}, Last); err != nil {
				return err
			}
		}
		return nil
	})
	cells := d.Cells()
	if len(cells) != n || d.Len() != n {
		t.Fatalf("%d cells, want %d", len(cells), n)
	}
	for i, c := range cells {
		if want := domain.CellID(fmt.Sprintf("c%04d", n-i)); c.ID != want {
			t.Fatalf("cell %d is %s, want %s", i, c.ID, want)
		}
		if len(c.Position) > 6 {
			t.Fatalf("position %q of cell %d is long", c.Position, i)
		}
	}
}
