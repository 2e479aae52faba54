package notebook

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"runt/internal/automerge"
	"runt/internal/docvalue"
	"runt/internal/domain"
)

// Cell is a copy of one cell, with the gaps filled that a peer may have left.
type Cell struct {
	ID             domain.CellID
	Type           string // "code", "markdown" or "raw"
	Position       string
	Source         string
	ExecutionID    string // the run whose outputs are shown; "" when there is none
	ExecutionCount string // JSON: "null" or a number
	Metadata       map[string]any
	Attachments    map[string]any
	ResolvedAssets map[string]any
}

// Cells returns all cells in the order they are shown in.
func (d *Doc) Cells() []Cell {
	var cells []Cell
	d.am.View(func(root map[string]any) {
		raw := section(root, "cells")
		for _, p := range ordered(raw) {
			m, _ := raw[string(p.id)].(map[string]any)
			cells = append(cells, readCell(p.id, m))
		}
	})
	return cells
}

// Cell returns one cell, and whether there is one with that id.
func (d *Doc) Cell(id domain.CellID) (Cell, bool) {
	var cell Cell
	var found bool
	d.am.View(func(root map[string]any) {
		var m map[string]any
		if m, found = section(root, "cells")[string(id)].(map[string]any); found {
			cell = readCell(id, m)
		}
	})
	return cell, found
}

// Source returns the source of one cell, and whether there is such a cell.
func (d *Doc) Source(id domain.CellID) (string, bool) {
	var source string
	var found bool
	d.am.View(func(root map[string]any) {
		var m map[string]any
		if m, found = section(root, "cells")[string(id)].(map[string]any); found {
			source, _ = docvalue.Text(m["source"])
		}
	})
	return source, found
}

// SourceAt returns the source that a cell had at the given heads, and whether
// the cell existed there. The heads must be known to this replica.
func (d *Doc) SourceAt(heads []automerge.Hash, id domain.CellID) (string, bool, error) {
	v, ok, err := d.am.GetAt(heads, "cells", string(id), "source")
	if err != nil || !ok {
		return "", false, err
	}
	s, ok := docvalue.Text(v)
	return s, ok, nil
}

// Order returns the ids of all cells in the order they are shown in.
func (d *Doc) Order() []domain.CellID {
	var ids []domain.CellID
	d.am.View(func(root map[string]any) {
		for _, p := range ordered(section(root, "cells")) {
			ids = append(ids, p.id)
		}
	})
	return ids
}

// Place returns how many cells come before a cell, and the last of them. It is
// found in one pass, without putting all cells in order.
func (d *Doc) Place(id domain.CellID) (index int, before domain.CellID, ok bool) {
	d.am.View(func(root map[string]any) {
		raw := section(root, "cells")
		var cell map[string]any
		if cell, ok = raw[string(id)].(map[string]any); !ok {
			return
		}
		this, last := placeOf(id, cell), place{}
		for other, v := range raw {
			m, isCell := v.(map[string]any)
			if p := placeOf(domain.CellID(other), m); isCell && comparePlaces(p, this) < 0 {
				if index++; index == 1 || comparePlaces(last, p) < 0 {
					last = p
				}
			}
		}
		before = last.id
	})
	return index, before, ok
}

// Len returns how many cells there are.
func (d *Doc) Len() int {
	n := 0
	d.am.View(func(root map[string]any) { n = len(section(root, "cells")) })
	return n
}

// Metadata returns the metadata of the notebook.
func (d *Doc) Metadata() map[string]any {
	var m map[string]any
	d.am.View(func(root map[string]any) { m = docvalue.Map(section(root, "metadata")) })
	return m
}

// NotebookID returns the id that the daemon gave this notebook, "" before it has.
func (d *Doc) NotebookID() domain.NotebookID {
	var id string
	d.am.View(func(root map[string]any) { id, _ = docvalue.Text(root["notebook_id"]) })
	return domain.NotebookID(id)
}

// Version returns the version of the schema: the highest that any peer wrote,
// also when a lower one was written at the same time and won.
func (d *Doc) Version() (int64, error) {
	all, err := d.am.Conflicts("schema_version")
	if err != nil {
		return 0, err
	}
	var version int64
	for _, v := range all {
		if i, ok := docvalue.Int(v); ok {
			version = max(version, i)
		}
	}
	return version, nil
}

type place struct {
	id       domain.CellID
	position string
}

// ordered returns the cells of the raw map in the order they are shown in.
func ordered(raw map[string]any) []place {
	places := make([]place, 0, len(raw))
	for id, v := range raw {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		places = append(places, placeOf(domain.CellID(id), m))
	}
	slices.SortFunc(places, comparePlaces)
	return places
}

func placeOf(id domain.CellID, cell map[string]any) place {
	return place{id, textOr(cell["position"], DefaultPosition)}
}

func comparePlaces(a, b place) int {
	if c := strings.Compare(a.position, b.position); c != 0 {
		return c
	}
	return strings.Compare(string(a.id), string(b.id))
}

func readCell(id domain.CellID, m map[string]any) Cell {
	source, _ := docvalue.Text(m["source"])
	return Cell{
		ID:             id,
		Type:           textOr(m["cell_type"], "code"),
		Position:       textOr(m["position"], DefaultPosition),
		Source:         source,
		ExecutionID:    textOr(m["execution_id"], ""),
		ExecutionCount: readCount(m["execution_count"]),
		Metadata:       readMap(m["metadata"]),
		Attachments:    readMap(m["attachments"]),
		ResolvedAssets: readMap(m["resolved_assets"]),
	}
}

// readMap returns a copy of a map, also of one that an old client stored as JSON text.
func readMap(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return docvalue.Map(m)
	}
	if s, ok := docvalue.Text(v); ok {
		var m map[string]any
		if json.Unmarshal([]byte(s), &m) == nil && m != nil {
			return m
		}
	}
	return map[string]any{}
}

func readCount(v any) string {
	if i, ok := docvalue.Int(v); ok {
		return strconv.FormatInt(i, 10)
	}
	return textOr(v, "null")
}

func textOr(v any, otherwise string) string {
	if s, ok := docvalue.Text(v); ok && s != "" {
		return s
	}
	return otherwise
}

func section(root map[string]any, key string) map[string]any {
	m, _ := root[key].(map[string]any)
	return m
}
