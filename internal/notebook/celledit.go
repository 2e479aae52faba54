package notebook

import (
	"unicode/utf8"

	"runt/internal/automerge"
	"runt/internal/docvalue"
	"runt/internal/domain"
)

// NewCell describes a cell to be added.
type NewCell struct {
	ID             domain.CellID
	Type           string // "code" when empty
	Source         string
	Metadata       map[string]any
	Attachments    map[string]any
	ExecutionCount string // JSON; "null" when empty
	ExecutionID    string // "" for none
}

// AddCell adds a cell at the place that where names. The id must be new.
func (tx *Tx) AddCell(c NewCell, where Where) error {
	if c.ID == "" {
		return domain.Errorf(domain.CodeInvalidArgument, "a new cell needs an id")
	}
	if tx.exists(c.ID) {
		return domain.Errorf(domain.CodeInvalidArgument, "there is a cell %q already", c.ID).
			WithHint("Use another id, or change that cell instead.")
	}
	metadata, err := documentMap("metadata of cell", c.ID, c.Metadata)
	if err != nil {
		return err
	}
	attachments, err := documentMap("attachments of cell", c.ID, c.Attachments)
	if err != nil {
		return err
	}
	position, err := tx.makeRoom(c.ID, where)
	if err != nil {
		return err
	}
	fields := automerge.Map{
		{Key: "id", Value: string(c.ID)},
		{Key: "cell_type", Value: orElse(c.Type, "code")},
		{Key: "position", Value: position},
		{Key: "source", Value: automerge.Text(c.Source)},
		{Key: "execution_count", Value: orElse(c.ExecutionCount, "null")},
		{Key: "metadata", Value: metadata},
		{Key: "resolved_assets", Value: automerge.Map{}},
		{Key: "attachments", Value: attachments},
	}
	if c.ExecutionID != "" {
		fields = append(fields, automerge.Entry{Key: "execution_id", Value: c.ExecutionID})
	}
	obj := tx.batch.Put(tx.batch.At("cells"), string(c.ID), fields)
	tx.cells[c.ID] = &draft{obj: obj, source: &c.Source, text: true}
	tx.did(c.ID)
	return nil
}

// SetSource makes the source of a cell read s, by the insertions and deletions
// that lead there, so that what others typed into the rest of it is kept.
func (tx *Tx) SetSource(id domain.CellID, s string) error {
	d, err := tx.draft(id)
	if err != nil || d.text && d.source != nil && *d.source == s {
		return err
	}
	if d.text && d.source != nil {
		tx.replaceText(tx.batch.Get(d.obj, "source"), *d.source, s)
	} else if d.text {
		tx.batch.UpdateText(tx.batch.Get(d.obj, "source"), s)
	} else {
		tx.batch.Put(d.obj, "source", automerge.Text(s))
	}
	d.text, d.source = true, &s
	tx.did(id)
	return nil
}

// maxDiff is how many characters of two texts may differ, between what they
// begin and end with alike, for the engine to find the smallest change. Its time
// grows with their product: megabytes would take hours.
const maxDiff = 10_000

// replaceText makes a text read now: by the smallest change, or, where the texts
// differ too much for that, by replacing all between their common beginning and end.
func (tx *Tx) replaceText(text automerge.Obj, was, now string) {
	head, tail := commonEnds(was, now)
	gone, come := was[head:len(was)-tail], now[head:len(now)-tail]
	if len(gone)+len(come) <= maxDiff {
		tx.batch.UpdateText(text, now)
		return
	}
	tx.batch.Splice(text, automerge.CodePointLen(was[:head]), automerge.CodePointLen(gone), come)
}

// commonEnds returns how many bytes two texts begin and end with alike, in whole
// characters, not counting any twice.
func commonEnds(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	for head > 0 && (head < len(a) && !utf8.RuneStart(a[head]) || head < len(b) && !utf8.RuneStart(b[head])) {
		head--
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
		tail--
	}
	return head, tail
}

// SpliceSource deletes del code points of a source at pos and inserts s there.
func (tx *Tx) SpliceSource(id domain.CellID, pos, del int, s string) error {
	d, err := tx.draft(id)
	if err != nil || del == 0 && s == "" {
		return err
	}
	if d.source != nil {
		if n := automerge.CodePointLen(*d.source); pos < 0 || del < 0 || pos+del > n {
			return domain.Errorf(domain.CodeInvalidArgument, "cell %s has %d characters, so %d at %d cannot be replaced", id, n, del, pos).
				WithHint("Read the cell again and count in code points.")
		}
	}
	if !d.text {
		tx.batch.Put(d.obj, "source", automerge.Text(*d.source))
		d.text = true
	}
	tx.batch.Splice(tx.batch.Get(d.obj, "source"), pos, del, s)
	d.source = nil
	tx.did(id)
	return nil
}

// SetCellType makes a cell "code", "markdown" or "raw".
func (tx *Tx) SetCellType(id domain.CellID, cellType string) error {
	switch cellType {
	case "code", "markdown", "raw":
		return tx.put(id, "cell_type", cellType)
	}
	return domain.Errorf(domain.CodeInvalidArgument, "%q is not a kind of cell", cellType).
		WithHint("Use code, markdown or raw.")
}

// DeleteCell removes a cell.
func (tx *Tx) DeleteCell(id domain.CellID) error {
	d, err := tx.draft(id)
	if err != nil {
		return err
	}
	tx.batch.Delete(tx.batch.At("cells"), string(id))
	d.deleted = true
	tx.forget(id)
	tx.did(id)
	return nil
}

// MoveCell puts a cell at the place that where names.
func (tx *Tx) MoveCell(id domain.CellID, where Where) error {
	d, err := tx.draft(id)
	if err != nil {
		return err
	}
	if there, err := tx.isAt(id, where); err != nil || there {
		return err
	}
	position, err := tx.makeRoom(id, where)
	if err != nil {
		return err
	}
	tx.batch.Put(d.obj, "position", position)
	tx.did(id)
	return nil
}

// SetExecution makes a cell show the outputs of an execution, or none when it is "".
func (tx *Tx) SetExecution(id domain.CellID, execution string) error {
	if execution == "" {
		return tx.put(id, "execution_id", nil)
	}
	return tx.put(id, "execution_id", execution)
}

// SetExecutionCount sets the count that is written to files: "null" or a number.
func (tx *Tx) SetExecutionCount(id domain.CellID, count string) error {
	return tx.put(id, "execution_count", orElse(count, "null"))
}

// SetCellMetadata brings the metadata of a cell to m, touching only what differs.
func (tx *Tx) SetCellMetadata(id domain.CellID, m map[string]any) error {
	return tx.setMap(id, "metadata", m)
}

// SetAttachments brings the attachments of a cell to m: name to media type to
// {blob_hash, encoding}.
func (tx *Tx) SetAttachments(id domain.CellID, m map[string]any) error {
	return tx.setMap(id, "attachments", m)
}

// SetResolvedAssets brings the table of a cell that maps the assets its markdown names to blob hashes to m.
func (tx *Tx) SetResolvedAssets(id domain.CellID, m map[string]any) error {
	return tx.setMap(id, "resolved_assets", m)
}

func (tx *Tx) setMap(id domain.CellID, key string, m map[string]any) error {
	d, err := tx.draft(id)
	if err != nil {
		return err
	}
	want, err := documentMap(key+" of cell", id, m)
	if err != nil {
		return err
	}
	if d.raw == nil {
		tx.batch.Put(d.obj, key, want)
		tx.did(id)
	} else if docvalue.MergeKey(tx.batch, d.obj, key, d.raw, want) > 0 {
		d.raw[key] = want
		tx.did(id)
	}
	return nil
}

// put writes one scalar of a cell unless it has that value.
func (tx *Tx) put(id domain.CellID, key string, value any) error {
	d, err := tx.draft(id)
	if err != nil {
		return err
	}
	if d.raw != nil {
		if old := d.raw[key]; docvalue.Equal(old, value) {
			return nil
		}
		d.raw[key] = value
	}
	tx.batch.Put(d.obj, key, value)
	tx.did(id)
	return nil
}

// documentMap returns m as a value for a document.
func documentMap(what string, id domain.CellID, m map[string]any) (map[string]any, error) {
	if m == nil {
		return map[string]any{}, nil
	}
	v, err := docvalue.FromJSON(m)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "%s %s cannot be stored: %w", what, id, err)
	}
	return v.(map[string]any), nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
