package notebook

import (
	"errors"
	"fmt"

	"runt/internal/automerge"
	"runt/internal/docvalue"
	"runt/internal/domain"
)

// Tx collects the operations of one edit. Its methods check what they are asked
// against the document and the operations before them, and change nothing yet.
// It must not be used after the function it was given to has returned.
type Tx struct {
	doc     *Doc
	batch   *automerge.Batch
	changed bool

	places   []place // all cells in order, with this edit's changes; nil until needed
	cells    map[domain.CellID]*draft
	metadata map[string]any  // of the notebook, with this edit's changes; nil until needed
	ops      []domain.CellID // the cell that the n-th operation is about
}

// draft is what an edit knows about a cell that it touches.
type draft struct {
	obj     automerge.Obj
	raw     map[string]any // as it was before the edit; nil for a new cell
	source  *string        // nil when a splice of this edit has made it unknown
	text    bool           // the source is a Text
	deleted bool
}

// Edit lets fn describe changes and applies them as one change of the document.
// While fn runs the document stays as it is, provided that messages of peers
// are taken through Receive; so fn may read it, and should not take long. What
// was read before Edit may be out of date: make such an edit at the heads it
// was read at, with automerge.WithAtHeads. When fn returns an error, or an operation does not fit the document, nothing
// is changed. An edit without operations makes no change; its Update has the
// same heads before and after.
func (d *Doc) Edit(fn func(*Tx) error, opts ...automerge.ApplyOption) (automerge.Update, error) {
	d.edit.Lock()
	defer d.edit.Unlock()
	tx := &Tx{doc: d, batch: automerge.NewBatch(), cells: map[domain.CellID]*draft{}}
	if err := fn(tx); err != nil {
		return automerge.Update{}, err
	}
	if !tx.changed {
		heads := d.am.Heads()
		return automerge.Update{Before: heads, Heads: heads}, nil
	}
	update, err := d.am.Apply(tx.batch, opts...)
	if err != nil {
		return automerge.Update{}, tx.explain(err)
	}
	return update, nil
}

// Receive takes a message of a peer's sync session between two edits, never
// during one.
func (d *Doc) Receive(p *automerge.Peer, message []byte, o automerge.ReceiveOptions) (automerge.Received, error) {
	d.edit.Lock()
	defer d.edit.Unlock()
	return p.Receive(message, o)
}

// explain turns an operation that failed because a peer deleted its cell
// meanwhile into the error that the operation would have given a moment later.
func (tx *Tx) explain(err error) error {
	var op *automerge.OpError
	if errors.As(err, &op) && op.Index >= 0 && op.Index < len(tx.ops) {
		id := tx.ops[op.Index]
		if d := tx.cells[id]; d != nil && d.raw != nil {
			if _, ok := tx.doc.Cell(id); !ok {
				return tx.doc.notFound(id)
			}
		}
	}
	return fmt.Errorf("edit notebook: %w", err)
}

// SetIdentity writes the ids that a notebook and its companion documents are known by.
func (tx *Tx) SetIdentity(id domain.NotebookID) {
	root := tx.batch.Root()
	tx.batch.Put(root, "notebook_id", string(id))
	tx.batch.Put(root, "runtime_state_doc_id", "runtime:"+string(id))
	tx.batch.Put(root, "comms_doc_id", "comms:"+string(id))
	tx.did("")
}

// SetMetadata sets one key of the notebook's metadata. When it holds a map
// and value is one, only the keys that differ are written.
func (tx *Tx) SetMetadata(key string, value any) error {
	want, err := docvalue.FromJSON(value)
	if err != nil {
		return domain.Errorf(domain.CodeInvalidArgument, "metadata %q cannot be stored: %w", key, err)
	}
	old := tx.notebookMetadata()
	if docvalue.MergeKey(tx.batch, tx.batch.At("metadata"), key, old, want) > 0 {
		old[key] = want
		tx.did("")
	}
	return nil
}

// DeleteMetadata removes one key of the notebook's metadata, if it is there.
func (tx *Tx) DeleteMetadata(key string) {
	old := tx.notebookMetadata()
	if _, ok := old[key]; ok {
		tx.batch.Delete(tx.batch.At("metadata"), key)
		delete(old, key)
		tx.did("")
	}
}

func (tx *Tx) notebookMetadata() map[string]any {
	if tx.metadata == nil {
		tx.metadata = tx.doc.Metadata()
	}
	return tx.metadata
}

// did records which cell the operations added since the last call are about.
func (tx *Tx) did(id domain.CellID) {
	tx.changed = true
	for len(tx.ops) < tx.batch.Len() {
		tx.ops = append(tx.ops, id)
	}
}

// exists says whether there is a cell with that id, as far as this edit has come.
func (tx *Tx) exists(id domain.CellID) bool {
	if d := tx.cells[id]; d != nil {
		return !d.deleted
	}
	found := false
	tx.doc.am.View(func(root map[string]any) { _, found = section(root, "cells")[string(id)].(map[string]any) })
	return found
}

// draft returns what is known about a cell, or a cell_not_found error.
func (tx *Tx) draft(id domain.CellID) (*draft, error) {
	if d := tx.cells[id]; d != nil {
		if d.deleted {
			return nil, tx.doc.notFound(id)
		}
		return d, nil
	}
	d := &draft{}
	tx.doc.am.View(func(root map[string]any) {
		if m, ok := section(root, "cells")[string(id)].(map[string]any); ok {
			d.raw = snapshot(m)
		}
	})
	if d.raw == nil {
		return nil, tx.doc.notFound(id)
	}
	source, _ := docvalue.Text(d.raw["source"])
	d.source = &source
	_, d.text = d.raw["source"].(automerge.Text)
	d.obj = tx.batch.At("cells", string(id))
	tx.cells[id] = d
	return d, nil
}

// snapshot copies a cell out of the mirror, keeping the kind of its source.
func snapshot(m map[string]any) map[string]any {
	c := docvalue.Map(m)
	if source, ok := m["source"]; ok {
		c["source"] = source
	}
	return c
}
