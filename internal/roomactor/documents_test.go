package roomactor

import (
	"slices"
	"testing"

	"runt/internal/automerge"
	"runt/internal/domain"
)

func TestCellsThatPatchesMakeOrRemove(t *testing.T) {
	for _, c := range []struct {
		name   string
		paths  [][]any
		want   []domain.CellID
		listed bool
	}{
		{"nothing", nil, nil, true},
		{"a source", [][]any{{"cells", "a", "source", 3}}, nil, true},
		{"metadata", [][]any{{"metadata"}, {"metadata", "kernelspec"}}, nil, true},
		{"a cell made, then filled", [][]any{{"cells", "a"}, {"cells", "a", "source"}}, []domain.CellID{"a"}, true},
		{"one of two", [][]any{{"cells", "b", "source"}, {"cells", "a"}}, []domain.CellID{"a"}, true},
		{"all cells at once", [][]any{{"cells", "a"}, {"cells"}}, nil, false},
		{"the whole document", [][]any{{}}, nil, false},
	} {
		var patches []automerge.Patch
		for _, p := range c.paths {
			patches = append(patches, automerge.Patch{Path: p})
		}
		if got, listed := cellsIn(patches); !slices.Equal(got, c.want) || listed != c.listed {
			t.Errorf("%s: got %v, %v; want %v, %v", c.name, got, listed, c.want, c.listed)
		}
	}
}
