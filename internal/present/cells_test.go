package present

import (
	"fmt"
	"strings"
	"testing"
)

func notebook(n int) []CellView {
	cells := make([]CellView, n)
	for i := range cells {
		cells[i] = CellView{Index: i, ID: fmt.Sprintf("cell-%04d", i), Type: "code", Source: fmt.Sprintf("x%d = %d\nprint(x%d)", i, i, i)}
	}
	return cells
}

func TestMapHasOneLineACell(t *testing.T) {
	got := Map([]CellView{
		{Index: 0, ID: "a", Type: "markdown", Source: "# Title\n\ntext"},
		{Index: 1, ID: "b", Type: "code", Source: "\n\n  import pandas as pd", Status: StatusDone, Count: ptr(int64(3))},
		{Index: 2, ID: "c", Type: "code", Source: strings.Repeat("long ", 50), Status: StatusError, Tags: []string{"x", "y"}},
		{Index: 3, ID: "d", Type: "code", Source: strings.Repeat("y", 100) + "\nz"},
		{Index: 4, ID: "e", Type: "raw", Source: "\n "},
		{Index: 5, ID: "f", Type: "code", Source: "\x1b[31mevil\x07\n\u202eb"},
	})
	want := strings.Join([]string{
		"6 cells",
		"0 · a · markdown · # Title (+2 lines)",
		"1 · b · code · [3] done · import pandas as pd",
		"2 · c · code · error · tags: x, y · " + strings.Repeat("long ", 11) + "long…",
		"3 · d · code · not run · " + strings.Repeat("y", 49) + "… (+1 line)",
		"4 · e · raw · (empty)",
		"5 · f · code · not run · evil (+1 line)",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(got, "\n")[1:] {
		parts := strings.Split(line, " · ")
		if n := len([]rune(parts[len(parts)-1])); n > mapWidth {
			t.Errorf("%d characters of a cell in %q", n, line)
		}
	}
}

// A notebook of any size is read page by page without a gap.
func TestPagesCoverTheNotebook(t *testing.T) {
	all := notebook(2000)
	all[7].Source = strings.Repeat("a very long line of a cell\n", 5000)
	all[8].Outputs = []Output{stream("stdout", strings.Repeat("z", 1<<20))}
	for _, view := range []string{ViewMap, ViewSource, ViewOutputs} {
		limit := CellsLimit
		if view == ViewMap {
			limit = MapLimit
		}
		start, pages := 0, 0
		for pages < 1000 {
			pages++
			page := Cells(all[start:], CellsOptions{View: view, Total: len(all)})
			if len(page) > limit {
				t.Errorf("%s from %d: %d bytes", view, start, len(page))
			}
			if !strings.Contains(page, all[start].ID) {
				t.Errorf("%s from %d: the first cell is missing", view, start)
			}
			_, next, more := strings.Cut(page, "[… the next cells: get_all_cells view="+view+" start=")
			if !more {
				break
			}
			var at int
			if _, err := fmt.Sscan(strings.TrimRight(strings.SplitN(next, ";", 2)[0], " "), &at); err != nil || at <= start {
				t.Fatalf("%s from %d: next page %q, %v", view, start, next, err)
			}
			if !strings.Contains(page, all[at-1].ID) || strings.Contains(page, all[at].ID) {
				t.Errorf("%s from %d: the next page is said to begin at %d", view, start, at)
			}
			start = at
		}
		if pages < 5 || pages > 200 {
			t.Errorf("%s: %d pages", view, pages)
		}
	}
}

func TestViewsOfCells(t *testing.T) {
	cells := []CellView{
		{Index: 4, ID: "a", Type: "code", Source: "print('x')\r\nplot()\n", Status: StatusDone, Count: ptr(int64(2)), Outputs: []Output{
			stream("stdout", "x\ny\n"), {Type: TypeDisplay, Data: map[string]Content{"image/png": {BlobHash: "h", Size: 700}}}}},
		{Index: 5, ID: "b", Type: "markdown"},
	}
	for view, want := range map[string]string{
		ViewSource:  "9 cells\n━ 4 · a · code · [2] done\nprint('x')\nplot()\n━ 5 · b · markdown",
		ViewOutputs: "9 cells\n━ 4 · a · code · [2] done\nprint('x')\nplot()\n→ [stdout]\n  x\n  y\n  [display]\n  [image/png, 700 bytes: runt://blobs/h]\n━ 5 · b · markdown",
	} {
		if got := Cells(cells, CellsOptions{View: view, Total: 9}); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", view, got, want)
		}
	}
	for _, c := range []struct {
		cells []CellView
		o     CellsOptions
		want  string
	}{
		{nil, CellsOptions{}, "0 cells"},
		{nil, CellsOptions{Total: 3}, "3 cells; none from there on: start is at most 2"},
		{nil, CellsOptions{Total: 3, ErrorsOnly: true}, "3 cells; none of them raised in its last run"},
		{cells[1:], CellsOptions{Total: 9, ErrorsOnly: true}, "9 cells; these raised in their last run\n5 · b · markdown · (empty)"},
		{cells[1:], CellsOptions{Total: 9, More: true}, "9 cells\n5 · b · markdown · (empty)\n[… the next cells: get_all_cells view=map start=6; 9 cells in all]"},
	} {
		if got := Cells(c.cells, c.o); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestLargeCellInAViewIsCut(t *testing.T) {
	cells := notebook(2)
	cells[0].Source = strings.Repeat("a line of source\n", 10000)
	got := Cells(cells, CellsOptions{View: ViewSource})
	if len(got) > cellSource+500 || !strings.Contains(got, "left out: get_cell cell_id=cell-0000]") || !strings.Contains(got, "cell-0001") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
	if got := Cells(cells, CellsOptions{View: ViewSource, Limit: 1000}); len(got) > 1000 || !strings.Contains(got, "start=1") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
}

func BenchmarkMapOf2000Cells(b *testing.B) {
	cells := notebook(2000)
	for b.Loop() {
		Map(cells)
	}
}
