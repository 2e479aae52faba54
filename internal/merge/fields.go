package merge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"runt/internal/ipynb"
)

// text returns the source as it is compared: with LF as line ends.
func text(c ipynb.Cell) string { return strings.ReplaceAll(c.Source, "\r\n", "\n") }

// edited says that somebody worked on a cell: its outputs do not count, they can be made again.
func edited(b, c ipynb.Cell) bool {
	return text(b) != text(c) || b.Type != c.Type || !equalMaps(b.Metadata, c.Metadata) || !equalMaps(b.Attachments, c.Attachments)
}

func equalMaps(a, b map[string]any) bool {
	return len(a) == 0 && len(b) == 0 || ipynb.EqualValues(a, b)
}

// fields merges a cell that is on all three sides and returns the result.
func (m *merger) fields(b, d, l ipynb.Cell) ipynb.Cell {
	out := l
	m.sourceOf(b, d, l, &out)
	switch {
	case d.Type == b.Type || d.Type == l.Type:
	case l.Type == b.Type:
		out.Type = d.Type
		m.set(OpType, out)
	default:
		m.conflict(Conflict{Kind: ConflictType, ID: l.ID, Base: b.Type, Disk: d.Type, Live: l.Type})
	}
	if merged := m.maps(b.Metadata, d.Metadata, l.Metadata, Conflict{Kind: ConflictMetadata, ID: l.ID}); !equalMaps(merged, l.Metadata) {
		out.Metadata = merged
		m.set(OpCellMetadata, out)
	}
	if merged := m.maps(b.Attachments, d.Attachments, l.Attachments, Conflict{Kind: ConflictAttachments, ID: l.ID}); !equalMaps(merged, l.Attachments) {
		out.Attachments = merged
		m.set(OpAttachments, out)
	}
	if !m.options.KeepOutputs && !equalRuns(d, b) && !equalRuns(d, l) && equalRuns(l, b) {
		out.Outputs, out.ExecutionCount = d.Outputs, d.ExecutionCount
		m.set(OpOutputs, out)
	}
	out.Extra = d.Extra // the document does not know these keys
	return out
}

func (m *merger) set(kind OpKind, c ipynb.Cell) {
	m.ops = append(m.ops, Op{Kind: kind, ID: c.ID, Cell: c})
}

// sourceOf merges the text of a cell into out.
func (m *merger) sourceOf(b, d, l ipynb.Cell, out *ipynb.Cell) {
	switch {
	case text(d) == text(b) || text(d) == text(l):
	case text(l) == text(b):
		out.Source = d.Source
		m.set(OpSource, *out)
	default:
		kept := copyOf(d)
		m.conflict(Conflict{Kind: ConflictSource, ID: l.ID, CopyID: kept.ID, Base: b.Source, Disk: d.Source, Live: l.Source})
		_, onDisk := m.disk[kept.ID]
		_, living := m.live[kept.ID]
		if !onDisk && !living && strings.TrimSpace(d.Source) != "" {
			m.keep(kept)
			m.copies[l.ID] = kept.ID
		}
	}
}

// copyOf returns the raw cell that keeps the text that a cell has on disk. Its
// id follows from the text, so that the same conflict makes it once.
func copyOf(d ipynb.Cell) ipynb.Cell {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(d.ID), d.ID, text(d)))
	return ipynb.Cell{
		ID:     "conflict-" + hex.EncodeToString(sum[:8]),
		Type:   ipynb.TypeRaw,
		Source: d.Source,
		Metadata: map[string]any{
			"tags": []any{"conflict"},
			"runt": map[string]any{"conflict": map[string]any{"cell": d.ID, "cell_type": d.Type, "from": "file"}},
		},
	}
}

func equalRuns(a, b ipynb.Cell) bool {
	if (a.ExecutionCount == nil) != (b.ExecutionCount == nil) {
		return false
	}
	return (a.ExecutionCount == nil || *a.ExecutionCount == *b.ExecutionCount) && ipynb.EqualOutputs(a.Outputs, b.Outputs)
}

// maps merges three maps key by key, in depth. A value that both sides changed
// is reported as like.
func (m *merger) maps(b, d, l map[string]any, like Conflict) map[string]any {
	out := map[string]any{}
	keys := slices.Sorted(maps.Keys(union(d, l)))
	for _, key := range keys {
		c := like
		c.Key = strings.TrimPrefix(like.Key+"/"+key, "/")
		if v, ok := m.value(at(b, key), at(d, key), at(l, key), c); ok {
			out[key] = v
		}
	}
	return out
}

// slot is a value that may be missing.
type slot struct {
	value any
	ok    bool
}

func at(m map[string]any, key string) slot {
	v, ok := m[key]
	return slot{v, ok}
}

func (s slot) equal(t slot) bool {
	return s.ok == t.ok && (!s.ok || ipynb.EqualValues(s.value, t.value))
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}

// value merges one value. The result is missing when it is deleted.
func (m *merger) value(b, d, l slot, like Conflict) (any, bool) {
	switch {
	case d.equal(b), d.equal(l):
		return l.value, l.ok
	case l.equal(b):
		return d.value, d.ok
	}
	dm, dok := d.value.(map[string]any)
	lm, lok := l.value.(map[string]any)
	if dok && lok {
		bm, _ := b.value.(map[string]any)
		return m.maps(bm, dm, lm, like), true
	}
	like.Base, like.Disk, like.Live = b.value, d.value, l.value
	m.conflict(like)
	if !l.ok { // deleted live, changed on disk: the value is not lost
		return d.value, true
	}
	return l.value, true
}

// notebookMetadata merges the metadata of the notebook and returns the result.
func (m *merger) notebookMetadata(b, d, l map[string]any) map[string]any {
	out := m.maps(b, d, l, Conflict{Kind: ConflictMetadata})
	for _, key := range slices.Sorted(maps.Keys(union(out, l))) {
		now, was := at(out, key), at(l, key)
		switch {
		case now.equal(was):
		case now.ok:
			m.ops = append(m.ops, Op{Kind: OpMetadata, Key: key, Value: now.value})
		default:
			m.ops = append(m.ops, Op{Kind: OpDeleteMetadata, Key: key})
		}
	}
	return out
}
