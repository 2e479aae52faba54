package roomactor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/journal"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// The documents of a room, by their place in every per-document array.
const (
	docNotebook = iota
	docRuntime
	docComms
	docComments
	numDocs
)

// document is one Automerge document of the room and how it travels.
type document struct {
	engine   *automerge.Doc
	frame    wire.FrameType
	record   byte // type of its changes in the journal
	readOnly bool // peers may not change it
}

// Types of journal records. The numbers are in files: never reuse one.
const (
	recMeta            byte = 1 // JSON of roomMeta
	recStep            byte = 3 // a runtimeStep and changes of the runtime state document
	recNotebookSave    byte = 10
	recRuntimeSave     byte = 11
	recCommsSave       byte = 12
	recCommentsSave    byte = 13
	recNotebookChanges byte = 20
	recRuntimeChanges  byte = 21
	recCommsChanges    byte = 22
	recCommentsChanges byte = 23
)

func (r *Room) setDocs(nb *notebook.Doc, rs *runtimestate.Doc, comms, comments *automerge.Doc) {
	r.nb, r.rs = nb, rs
	r.docs = [numDocs]*document{
		{engine: nb.Engine(), frame: wire.FrameNotebookSync, record: recNotebookChanges},
		{engine: rs.Engine(), frame: wire.FrameRuntimeSync, record: recRuntimeChanges, readOnly: true},
		{engine: comms, frame: wire.FrameCommsSync, record: recCommsChanges},
		{engine: comments, frame: wire.FrameCommentsSync, record: recCommentsChanges},
	}
}

// record appends to the journal and returns the position that has to be durable
// for it; 0 when the room has no journal.
func (r *Room) record(recs ...journal.Record) uint64 {
	if r.journal == nil || len(recs) == 0 {
		return 0
	}
	return r.journal.Append(recs...)
}

func (r *Room) journalEnd() uint64 {
	if r.journal == nil {
		return 0
	}
	return r.journal.Append()
}

// changed journals an update of a document and sends it to the peers. The one
// it came from, if any, is acknowledged when it is durable.
func (r *Room) changed(doc int, upd automerge.Update, from *peer, extra ...journal.Record) uint64 {
	recs := extra
	if len(upd.Changes) > 0 {
		recs = append([]journal.Record{{Type: r.docs[doc].record, Data: upd.Changes}}, extra...)
	}
	return r.publish(doc, upd, from, recs)
}

func (r *Room) publish(doc int, upd automerge.Update, from *peer, recs []journal.Record) uint64 {
	pos := r.record(recs...)
	if from != nil && len(upd.Changes) > 0 {
		from.holdUntil[doc] = pos
	}
	if len(upd.Changes) > 0 {
		r.pump(doc)
	}
	if from != nil {
		r.afterDurable(pos, func() { from.send(doc) })
	}
	return pos
}

// pump sends every peer what it lacks of a document.
func (r *Room) pump(doc int) {
	for _, p := range r.peers {
		p.send(doc)
	}
}

// editRuntime performs a change of the runtime state. The core takes it for
// written: when it cannot be, the room is loaded again from its journal.
func (r *Room) editRuntime(e room.EditRuntime) {
	upd, err := r.rs.Edit(func(tx *runtimestate.Tx) error {
		for _, op := range e.Ops {
			if err := op.Apply(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(fmt.Errorf("roomactor: edit runtime state: %w", err))
	}
	step := r.stepOf(e)
	var recs []journal.Record
	switch same := bytes.Equal(r.runState, e.State); {
	case !same || !step.plain():
		recs = []journal.Record{step.record(upd.Changes)}
	case len(upd.Changes) > 0:
		recs = []journal.Record{{Type: recRuntimeChanges, Data: upd.Changes}}
	}
	r.runState = e.State
	pos := r.publish(docRuntime, upd, nil, recs)
	if host := r.host; step.Seq > 0 {
		r.afterDurable(pos, func() { host.ack(step.Seq) })
	}
	r.letGo(pos, step.Archived)
	r.compact(compactAt)
}

// stepOf collects what has to be on disk together with a change.
func (r *Room) stepOf(e room.EditRuntime) runtimeStep {
	step := runtimeStep{Notes: e.Notes, State: e.State}
	if e.Leaves {
		step.Left, r.hostDir = r.hostDir, ""
	}
	if e.Seq > 0 && r.host != nil && e.Seq > r.host.written {
		r.host.written = e.Seq
		step.Host, step.Seq = r.host.dir, e.Seq
	}
	for _, x := range e.Archived {
		step.Archived = append(step.Archived, r.executionRecord(x))
	}
	return step
}

func (r *Room) pointCell(e room.PointCell) {
	if _, ok := r.nb.Cell(e.Cell); !ok {
		return
	}
	upd, err := r.nb.Edit(func(tx *notebook.Tx) error { return tx.SetExecution(e.Cell, string(e.Execution)) })
	if err != nil {
		r.log.Error("notebook edit failed", "error", err, "cell", string(e.Cell))
		return
	}
	r.changed(docNotebook, upd, nil)
}

func (r *Room) putBlob(e room.PutBlob) {
	if _, err := r.deps.Blobs.Put(e.Data, e.MediaType); err != nil {
		r.log.Error("blob not stored", "error", err, "bytes", len(e.Data))
	}
}

// notebookChanged tells the core that a peer changed the notebook.
func (r *Room) notebookChanged(upd automerge.Update) {
	r.handle(room.DocumentChanged{})
	r.noteCells(upd)
	r.compact(compactAt)
}

// noteCells tells the core which cells an update has removed and which it has made.
func (r *Room) noteCells(upd automerge.Update) {
	ids, listed := cellsIn(upd.Patches)
	if !listed {
		ids = slices.AppendSeq(r.nb.Order(), maps.Keys(r.cells))
	}
	var added, removed []domain.CellID
	for _, id := range ids {
		_, exists := r.nb.Source(id)
		switch {
		case exists && !r.cells[id]:
			r.cells[id] = true
			added = append(added, id)
		case !exists && r.cells[id]:
			delete(r.cells, id)
			removed = append(removed, id)
		}
	}
	if len(removed) > 0 {
		r.handle(room.CellsRemoved{Cells: removed})
	}
	if added = r.pointless(added); len(added) > 0 {
		r.handle(room.CellsAdded{Cells: added})
	}
}

// cellsIn returns the cells that patches of the notebook may have made or removed,
// mostly none: it is not worth looking at every cell of a large notebook at every
// change. Not listed means that it could be any.
func cellsIn(patches []automerge.Patch) (ids []domain.CellID, listed bool) {
	for _, p := range patches {
		switch {
		case len(p.Path) > 2 || len(p.Path) > 0 && p.Path[0] != "cells":
		case len(p.Path) == 2:
			if id, ok := p.Path[1].(string); ok {
				ids = append(ids, domain.CellID(id))
			}
		default:
			return nil, false
		}
	}
	return ids, true
}

// pointless returns the cells that point at no execution.
func (r *Room) pointless(ids []domain.CellID) []domain.CellID {
	var out []domain.CellID
	for _, id := range ids {
		if c, ok := r.nb.Cell(id); ok && c.ExecutionID == "" {
			out = append(out, id)
		}
	}
	return out
}

// letGo archives what has left the document, once that is on disk. Until then it
// is found here.
func (r *Room) letGo(pos uint64, records []wire.ExecutionRecord) {
	if len(records) == 0 {
		return
	}
	if r.leaving == nil {
		r.leaving = map[domain.ExecutionID]wire.ExecutionRecord{}
	}
	for _, rec := range records {
		r.leaving[domain.ExecutionID(rec.ExecutionID)] = rec
	}
	r.afterDurable(pos, func() {
		for _, rec := range records {
			r.deps.Registry.Archive(rec)
			delete(r.leaving, domain.ExecutionID(rec.ExecutionID))
		}
	})
}

func (r *Room) archive(x room.Execution) {
	r.deps.Registry.Archive(r.executionRecord(x))
}

func (r *Room) executionRecord(x room.Execution) wire.ExecutionRecord {
	seq := x.Seq
	rec := wire.ExecutionRecord{SchemaVersion: wire.ExecutionRecordVersion, ExecutionID: string(x.ID), ContextKind: "notebook",
		ContextID: string(r.id), NotebookPath: r.path, CellID: string(x.Cell), Status: x.Status, Success: x.Success,
		ExecutionCount: x.Count, Source: x.Source, Seq: &seq, SubmittedBy: x.Submitter, Outputs: manifestsJSON(x.Outputs),
		CreatedAt: x.Created.UTC(), UpdatedAt: x.Ended.UTC(), Reason: x.Reason, Hint: x.Hint}
	if x.Ended.IsZero() {
		rec.UpdatedAt = r.deps.Now().UTC()
	}
	if !x.Started.IsZero() {
		rec.Seconds = rec.UpdatedAt.Sub(x.Started).Seconds()
	}
	return rec
}

func manifestsJSON(outputs []runtimestate.Output) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(outputs))
	for _, o := range outputs {
		b, err := json.Marshal(o.Manifest)
		if err != nil {
			continue
		}
		out = append(out, b)
	}
	return out
}

// ExecutionRecord returns the record of an execution the room still has.
func (r *Room) ExecutionRecord(ctx context.Context, id domain.ExecutionID) (wire.ExecutionRecord, bool) {
	var rec wire.ExecutionRecord
	found := false
	err := r.call(ctx, func() {
		if x, ok := r.core.Execution(id); ok {
			rec, found = r.executionRecord(x), true
		} else {
			rec, found = r.leaving[id]
		}
	})
	return rec, found && err == nil
}
