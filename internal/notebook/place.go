package notebook

import (
	"fmt"
	"slices"
	"strings"

	"runt/internal/domain"
)

// Where names a place among the cells.
type Where struct {
	kind whereKind
	cell domain.CellID
}

type whereKind int

const (
	atEnd whereKind = iota
	atStart
	behind
	inFront
)

// Last is the place behind all cells. It is the zero Where.
var Last = Where{kind: atEnd}

// First is the place in front of all cells.
var First = Where{kind: atStart}

// After is the place right behind a cell.
func After(id domain.CellID) Where { return Where{behind, id} }

// Before is the place right in front of a cell.
func Before(id domain.CellID) Where { return Where{inFront, id} }

// index returns where in places the place lies: a new cell would get that index.
func (w Where) index(doc *Doc, places []place) (int, error) {
	switch w.kind {
	case atStart:
		return 0, nil
	case atEnd:
		return len(places), nil
	}
	i := slices.IndexFunc(places, func(p place) bool { return p.id == w.cell })
	if i < 0 {
		return 0, doc.notFound(w.cell)
	}
	if w.kind == behind {
		i++
	}
	return i, nil
}

func (tx *Tx) order() []place {
	if tx.places == nil {
		tx.doc.am.View(func(root map[string]any) { tx.places = ordered(section(root, "cells")) })
		tx.places = slices.DeleteFunc(tx.places, func(p place) bool {
			d := tx.cells[p.id]
			return d != nil && d.deleted
		})
	}
	return tx.places
}

func (tx *Tx) forget(id domain.CellID) {
	if tx.places != nil {
		tx.places = slices.DeleteFunc(tx.places, func(p place) bool { return p.id == id })
	}
}

// isAt says whether a cell is where it is to be moved to.
func (tx *Tx) isAt(id domain.CellID, where Where) (bool, error) {
	places := tx.order()
	to, err := where.index(tx.doc, places)
	from := slices.IndexFunc(places, func(p place) bool { return p.id == id })
	return to == from || to == from+1, err
}

// makeRoom returns a position for the cell id at the place that where names,
// and records it there. When nothing fits, because peers gave neighbours the
// same position or a foreign one is malformed, as many of the cells around the
// place as need be get new positions too.
func (tx *Tx) makeRoom(id domain.CellID, where Where) (string, error) {
	places := slices.DeleteFunc(slices.Clone(tx.order()), func(p place) bool { return p.id == id })
	i, err := where.index(tx.doc, places)
	if err != nil {
		return "", err
	}
	low, high := i-1, i
	for low >= 0 && !ValidPosition(places[low].position) {
		low--
	}
	for {
		a, b := "", ""
		if low >= 0 {
			a = places[low].position
		}
		if high < len(places) {
			b = places[high].position
		}
		fresh, ok := Spread(a, b, high-low)
		if !ok && high < len(places) {
			high++
			continue
		}
		if !ok {
			return "", fmt.Errorf("place cell: nothing fits behind %q", a)
		}
		places = slices.Insert(places, i, place{id: id})
		for k, p := range fresh {
			moved := &places[low+1+k]
			moved.position = p
			if moved.id != id {
				if err := tx.put(moved.id, "position", p); err != nil {
					return "", err
				}
			}
		}
		tx.places = places
		return places[i].position, nil
	}
}

// notFound returns the error for a cell that is not there, with the ids that it may have meant.
func (d *Doc) notFound(id domain.CellID) error {
	ids := d.Order()
	err := domain.Errorf(domain.CodeCellNotFound, "no cell %q in this notebook", id)
	if len(ids) == 0 {
		return err.WithHint("The notebook has no cells; create one first.")
	}
	near := nearest(id, ids, 3)
	if len(near) == 0 {
		return err.WithHint("List the cells to see the ids of all %d.", len(ids))
	}
	return err.WithHint("Near it are: %s.", strings.Join(near, ", "))
}

// nearest returns up to n of ids that share enough with id to be what was meant.
func nearest(id domain.CellID, ids []domain.CellID, n int) []string {
	type scored struct {
		id    string
		score int
	}
	var found []scored
	bare := strings.TrimPrefix(string(id), "cell-")
	for _, other := range ids {
		rest := strings.TrimPrefix(string(other), "cell-")
		if score := affinity(bare, rest); score > 0 {
			found = append(found, scored{string(other), score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return b.score - a.score })
	var near []string
	for _, s := range found[:min(n, len(found))] {
		near = append(near, s.id)
	}
	return near
}

// affinity is the length of what two ids have in common at their beginning or
// end, or the whole when one contains the other; 0 when that is too little to mean anything.
func affinity(a, b string) int {
	if a != "" && (strings.Contains(b, a) || strings.Contains(a, b)) {
		return len(a) + len(b)
	}
	prefix, suffix := 0, 0
	for prefix < min(len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < min(len(a), len(b)) && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	if most := max(prefix, suffix); most >= 4 || most > 0 && most*2 >= len(a) {
		return most
	}
	return 0
}
