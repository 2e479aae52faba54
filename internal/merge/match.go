package merge

import (
	"strings"

	"runt/internal/ipynb"
)

// empties says why a file must not be merged: it would empty a notebook that had text.
func empties(base, disk ipynb.Notebook) string {
	if len(base.Cells) == 0 {
		return ""
	}
	if len(disk.Cells) == 0 {
		return "The file on disk has no cells; the notebook is left as it is."
	}
	if blank(base.Cells) || !blank(disk.Cells) {
		return ""
	}
	known := index(base.Cells)
	for _, d := range disk.Cells {
		if _, ok := known[d.ID]; ok {
			return ""
		}
	}
	return "The file on disk has only new cells without text; the notebook is left as it is."
}

func blank(cells []ipynb.Cell) bool {
	for _, c := range cells {
		if strings.TrimSpace(c.Source) != "" {
			return false
		}
	}
	return true
}

// adopt gives cells of the file that had no id the ids of the cells of the base that they are.
func adopt(base, disk []ipynb.Cell) []ipynb.Cell {
	named := map[string]bool{} // ids that the file gives by itself
	anonymous := 0
	for _, d := range disk {
		if d.IDMade {
			anonymous++
		} else {
			named[d.ID] = true
		}
	}
	if anonymous == 0 {
		return disk
	}
	a := adoption{base: base, disk: append([]ipynb.Cell(nil), disk...), to: make([]int, len(disk))}
	taken := map[string]int{}
	for i, b := range base {
		taken[b.ID] = i
	}
	for k, d := range disk {
		a.to[k] = -1
		if i, ok := taken[d.ID]; ok && !d.IDMade {
			a.to[k] = i
		}
	}
	a.free = make([]bool, len(base))
	for i, b := range base {
		a.free[i] = !named[b.ID]
	}
	a.byContent()
	a.byPlace()
	return a.rename(named)
}

// adoption matches cells of the disk without ids with free cells of the base.
type adoption struct {
	base, disk []ipynb.Cell
	to         []int  // for each cell of the disk its cell of the base, or -1
	free       []bool // cells of the base that nothing has been matched with
}

func (a *adoption) open(k int) bool { return a.to[k] < 0 && a.disk[k].IDMade }

func (a *adoption) match(k, i int) { a.to[k], a.free[i] = i, false }

// byContent matches equal cells, in order: first what is alike at both ends,
// then equal cells wherever they are.
func (a *adoption) byContent() {
	same := func(i, k int) bool {
		return a.free[i] && a.open(k) && a.base[i].Type == a.disk[k].Type && text(a.base[i]) == text(a.disk[k])
	}
	for i := 0; i < min(len(a.base), len(a.disk)) && same(i, i); i++ {
		a.match(i, i)
	}
	for n := 1; n <= min(len(a.base), len(a.disk)) && same(len(a.base)-n, len(a.disk)-n); n++ {
		a.match(len(a.disk)-n, len(a.base)-n)
	}
	waiting := map[string][]int{}
	key := func(c ipynb.Cell) string { return c.Type + "\x00" + text(c) }
	for i, b := range a.base {
		if a.free[i] {
			waiting[key(b)] = append(waiting[key(b)], i)
		}
	}
	for k, d := range a.disk {
		if list := waiting[key(d)]; a.open(k) && len(list) > 0 {
			a.match(k, list[0])
			waiting[key(d)] = list[1:]
		}
	}
}

// byPlace matches what is left between two matches: in order, cells of the
// same type; all of them when both sides have equally many, and otherwise
// those that are alike.
func (a *adoption) byPlace() {
	last := -1 // the base cell of the match before
	for k := 0; k < len(a.disk); {
		if !a.open(k) {
			if a.to[k] >= 0 {
				last = a.to[k]
			}
			k++
			continue
		}
		end := k
		for end < len(a.disk) && a.open(end) {
			end++
		}
		a.gap(k, end, last)
		for ; k < end; k++ {
			if a.to[k] >= 0 {
				last = a.to[k]
			}
		}
	}
}

// gap matches the open cells of the disk from k to end with the free cells of the base after last.
func (a *adoption) gap(k, end, last int) {
	var free []int
	for i := last + 1; i < len(a.base) && a.free[i]; i++ {
		free = append(free, i)
	}
	if len(free) == end-k {
		for n, i := range free {
			if a.base[i].Type == a.disk[k+n].Type {
				a.match(k+n, i)
			}
		}
		return
	}
	next := 0
	for ; k < end; k++ {
		for n := next; n < len(free); n++ {
			if alike(a.base[free[n]], a.disk[k]) {
				a.match(k, free[n])
				next = n + 1
				break
			}
		}
	}
}

// alike says that two cells of the same type have half of their lines in common.
func alike(a, b ipynb.Cell) bool {
	if a.Type != b.Type {
		return false
	}
	count := map[string]int{}
	lines := strings.Split(text(a), "\n")
	for _, l := range lines {
		count[strings.TrimSpace(l)]++
	}
	others := strings.Split(text(b), "\n")
	common := 0
	for _, l := range others {
		if l = strings.TrimSpace(l); count[l] > 0 {
			count[l]--
			common++
		}
	}
	return 2*common >= max(len(lines), len(others))
}

// rename returns the cells of the disk with the ids of their cells of the base,
// and makes sure that no made id equals one of another cell.
func (a *adoption) rename(used map[string]bool) []ipynb.Cell {
	for k, i := range a.to {
		if i >= 0 {
			a.disk[k].ID = a.base[i].ID
			used[a.disk[k].ID] = true
		}
	}
	for _, b := range a.base {
		used[b.ID] = true // a new cell is not one that is gone
	}
	for k := range a.disk {
		for a.open(k) && used[a.disk[k].ID] {
			a.disk[k].ID += "-2"
		}
		used[a.disk[k].ID] = true
	}
	return a.disk
}
