package merge

import (
	"slices"

	"runt/internal/ipynb"
)

// order returns the ids of the merged cells in their order.
func (m *merger) order(base, disk, live []ipynb.Cell) []string {
	inDisk, inLive := m.present(disk), m.present(live)
	diskMoved := !sameOrder(ids(base), inDisk)
	liveMoved := !sameOrder(ids(base), inLive)
	skeleton, other := inLive, inDisk
	if diskMoved && !sameOrder(inLive, inDisk) {
		if liveMoved {
			m.conflict(Conflict{Kind: ConflictOrder, Base: ids(base), Disk: ids(disk), Live: ids(live)})
		} else {
			skeleton, other = inDisk, inLive
		}
	}
	out := weave(skeleton, other)
	for _, l := range live {
		if id, ok := m.copies[l.ID]; ok {
			out = slices.Insert(out, 1+slices.Index(out, l.ID), id)
		}
	}
	return out
}

// present returns the ids of those cells that are in the result, without new copies.
func (m *merger) present(cells []ipynb.Cell) []string {
	var list []string
	for _, c := range cells {
		if _, ok := m.merged[c.ID]; ok {
			list = append(list, c.ID)
		}
	}
	return list
}

func ids(cells []ipynb.Cell) []string {
	list := make([]string, len(cells))
	for i, c := range cells {
		list[i] = c.ID
	}
	return list
}

// sameOrder says that the ids that are in both lists come in the same order.
func sameOrder(a, b []string) bool {
	place := make(map[string]int, len(a))
	for i, id := range a {
		place[id] = i
	}
	last := -1
	for _, id := range b {
		if i, ok := place[id]; ok {
			if i < last {
				return false
			}
			last = i
		}
	}
	return true
}

// weave puts the ids that only other has into skeleton, each after the id that it follows in other.
func weave(skeleton, other []string) []string {
	have := make(map[string]bool, len(skeleton))
	for _, id := range skeleton {
		have[id] = true
	}
	after := map[string][]string{} // what goes after an id; "" is the beginning
	anchor := ""
	for _, id := range other {
		if have[id] {
			anchor = id
		} else {
			after[anchor] = append(after[anchor], id)
		}
	}
	out := append([]string(nil), after[""]...)
	for _, id := range skeleton {
		out = append(out, id)
		out = append(out, after[id]...)
	}
	return out
}

// structure derives the deletions, additions and moves that turn the live order into the final one.
func (m *merger) structure(final []string, live []ipynb.Cell) {
	place := map[string]int{}
	for _, l := range live {
		if _, ok := m.merged[l.ID]; !ok {
			m.moves = append(m.moves, Op{Kind: OpDelete, ID: l.ID, Cell: l})
			continue
		}
		place[l.ID] = len(place)
	}
	var old []int
	for _, id := range final {
		if i, ok := place[id]; ok {
			old = append(old, i)
		}
	}
	stays := increasing(old)
	prev := ""
	for _, id := range final {
		i, ok := place[id]
		switch {
		case !ok:
			m.moves = append(m.moves, Op{Kind: OpAdd, ID: id, After: prev, Cell: m.merged[id]})
		case !stays[i]:
			m.moves = append(m.moves, Op{Kind: OpMove, ID: id, After: prev})
		}
		prev = id
	}
}

// increasing returns the members of a longest increasing subsequence of distinct numbers.
func increasing(numbers []int) map[int]bool {
	var tails []int // tails[k] is the index of the smallest end of an increasing run of k+1 numbers
	before := make([]int, len(numbers))
	for i, n := range numbers {
		k, _ := slices.BinarySearchFunc(tails, n, func(t, n int) int { return numbers[t] - n })
		before[i] = -1
		if k > 0 {
			before[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	stay := map[int]bool{}
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = before[i] {
			stay[numbers[i]] = true
		}
	}
	return stay
}
