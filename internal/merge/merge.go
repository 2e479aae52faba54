package merge

import (
	"runt/internal/ipynb"
)

// OpKind says what an operation does.
type OpKind string

// The operations, in the order in which they come.
const (
	OpDelete         OpKind = "delete"           // remove the cell ID
	OpAdd            OpKind = "add"              // insert Cell after After
	OpMove           OpKind = "move"             // put the cell ID after After
	OpSource         OpKind = "source"           // replace the text of ID by Cell.Source
	OpType           OpKind = "type"             // set the type of ID to Cell.Type
	OpCellMetadata   OpKind = "cell_metadata"    // replace the metadata of ID by Cell.Metadata
	OpAttachments    OpKind = "attachments"      // replace the attachments of ID by Cell.Attachments
	OpOutputs        OpKind = "outputs"          // replace outputs and count of ID by those of Cell
	OpMetadata       OpKind = "metadata"         // set the notebook's metadata Key to Value
	OpDeleteMetadata OpKind = "metadata_deleted" // remove the notebook's metadata Key
)

// Op is one operation on the live document. They are applied in order.
type Op struct {
	Kind  OpKind
	ID    string     // of the cell
	After string     // OpAdd, OpMove: id of the cell before; empty for the first place
	Cell  ipynb.Cell // OpAdd: the whole cell; otherwise the field that changes
	Key   string
	Value any
}

// ConflictKind says what both sides changed.
type ConflictKind string

// The kinds of conflicts.
const (
	ConflictSource        ConflictKind = "source"          // both texts differ from the base and from each other
	ConflictType          ConflictKind = "type"            // the live type stays
	ConflictMetadata      ConflictKind = "metadata"        // the live value of Key stays
	ConflictAttachments   ConflictKind = "attachments"     // the live value of Key stays
	ConflictDeletedOnDisk ConflictKind = "deleted_on_disk" // the live cell was edited and stays
	ConflictDeletedLive   ConflictKind = "deleted_live"    // the cell on disk was edited and is back
	ConflictOrder         ConflictKind = "order"           // the live order stays
)

// Conflict is something that both sides changed in different ways.
type Conflict struct {
	Kind             ConflictKind
	ID               string // of the cell; empty for the notebook itself
	Key              string // of ConflictMetadata and ConflictAttachments: keys joined by a slash
	CopyID           string // of ConflictSource: the raw cell with the text on disk
	Base, Disk, Live any    // the three values; the texts for ConflictSource and deletions; nil where there is none
}

// Options change what Merge looks at. The zero value looks at everything.
type Options struct {
	// KeepOutputs leaves outputs and execution counts of the live document alone, for example while a kernel runs.
	KeepOutputs bool
}

// Result is what Merge found.
type Result struct {
	Ops       []Op
	Conflicts []Conflict
	Merged    ipynb.Notebook // the live document after Ops
	// Refused says, in a sentence, why the file was not merged at all; there are no Ops then.
	Refused string
}

// Merge merges the file on disk into the live document. base is the file as it
// was last read or written. The arguments are not changed.
func Merge(base, disk, live ipynb.Notebook, o Options) Result {
	if reason := empties(base, disk); reason != "" {
		return Result{Merged: live, Refused: reason}
	}
	disk.Cells = adopt(base.Cells, disk.Cells)
	m := &merger{options: o, base: index(base.Cells), disk: index(disk.Cells), live: index(live.Cells)}
	metadata := m.notebookMetadata(base.Metadata, disk.Metadata, live.Metadata)
	for _, d := range disk.Cells {
		m.fromDisk(d)
	}
	for _, l := range live.Cells {
		m.fromLive(l)
	}
	final := m.order(base.Cells, disk.Cells, live.Cells)
	cells := make([]ipynb.Cell, len(final))
	for i, id := range final {
		cells[i] = m.merged[id]
	}
	m.structure(final, live.Cells)
	return Result{
		Ops:       append(m.moves, m.ops...),
		Conflicts: m.conflicts,
		Merged:    ipynb.Notebook{Metadata: metadata, Cells: cells},
	}
}

// merger collects the outcome of one merge.
type merger struct {
	options          Options
	base, disk, live map[string]ipynb.Cell
	merged           map[string]ipynb.Cell // cells of the result
	copies           map[string]string     // for a cell the new copy that goes below it
	conflicts        []Conflict
	moves            []Op // deletions, additions and moves
	ops              []Op // changes of what stays
}

func index(cells []ipynb.Cell) map[string]ipynb.Cell {
	m := make(map[string]ipynb.Cell, len(cells))
	for _, c := range cells {
		m[c.ID] = c
	}
	return m
}

func (m *merger) keep(c ipynb.Cell) {
	if m.merged == nil {
		m.merged, m.copies = map[string]ipynb.Cell{}, map[string]string{}
	}
	m.merged[c.ID] = c
}

func (m *merger) conflict(c Conflict) { m.conflicts = append(m.conflicts, c) }

// fromDisk decides about a cell that is on disk.
func (m *merger) fromDisk(d ipynb.Cell) {
	b, based := m.base[d.ID]
	l, living := m.live[d.ID]
	switch {
	case living && based:
		m.keep(m.fields(b, d, l))
	case living: // new on both sides under the same id
		m.keep(m.fields(ipynb.Cell{ID: d.ID, Type: d.Type}, d, l))
	case !based:
		m.keep(d)
	case edited(b, d): // deleted live
		m.conflict(Conflict{Kind: ConflictDeletedLive, ID: d.ID, Base: b.Source, Disk: d.Source})
		m.keep(d)
	}
}

// fromLive decides about a cell of the live document that is not on disk.
func (m *merger) fromLive(l ipynb.Cell) {
	if _, ok := m.disk[l.ID]; ok {
		return
	}
	b, based := m.base[l.ID]
	if !based {
		m.keep(l)
		return
	}
	if edited(b, l) {
		m.conflict(Conflict{Kind: ConflictDeletedOnDisk, ID: l.ID, Base: b.Source, Live: l.Source})
		m.keep(l)
	}
}
