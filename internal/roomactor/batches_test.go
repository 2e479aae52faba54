package roomactor

import (
	"strings"
	"testing"

	"runt/internal/ipynb"
)

func TestBatchesKeepEveryCellInOrder(t *testing.T) {
	big := strings.Repeat("x", batchSize)
	for _, tc := range []struct {
		name  string
		sizes []int
		want  []int // cells in each run
	}{
		{"no cells", nil, []int{0}},
		{"small ones", []int{1, 2, 3}, []int{3}},
		{"one too large for a run", []int{batchSize, 1, 1}, []int{1, 2}},
		{"each its own", []int{batchSize, batchSize, batchSize}, []int{1, 1, 1}},
		{"halves", []int{batchSize / 2, batchSize / 2, 1}, []int{2, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var cells []ipynb.Cell
			for _, n := range tc.sizes {
				cells = append(cells, ipynb.Cell{Source: big[:n]})
			}
			next := 0
			var got []int
			for first, run := range batches(cells) {
				if first != next {
					t.Errorf("run begins at %d, want %d", first, next)
				}
				next += len(run)
				got = append(got, len(run))
			}
			if next != len(cells) || len(got) != len(tc.want) {
				t.Fatalf("runs %v of %d cells, want %v", got, len(cells), tc.want)
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("runs %v, want %v", got, tc.want)
				}
			}
		})
	}
}
