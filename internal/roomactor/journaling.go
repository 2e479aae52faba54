package roomactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"runt/internal/domain"
	"runt/internal/failpoint"
	"runt/internal/ipynb"
	"runt/internal/journal"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// Files in the folder of a room.
const (
	journalFile = "journal"
	baseFile    = "base.ipynb" // the notebook file as last read or written
)

// A journal is rewritten from its documents when it is larger than this, and
// twice as large as after the last time.
const (
	compactAt    = 2 << 20  // while the room is open
	compactSmall = 64 << 10 // when it is closed
)

func (r *Room) dir() string { return filepath.Join(r.deps.RoomsDir, string(r.id)) }

// HasJournal says whether a notebook of that id is kept in the state folder.
func HasJournal(roomsDir string, id domain.NotebookID) bool {
	_, err := os.Stat(filepath.Join(roomsDir, string(id), journalFile))
	return err == nil
}

func (r *Room) journalOptions() journal.Options {
	return journal.Options{
		Fail: func(string) error { return failpoint.Inject("roomactor/journal") },
		OnDurable: func(uint64) {
			select {
			case r.durable <- struct{}{}:
			default:
			}
		},
		OnError: func(err error) {
			r.log.Error("journal not written", "error", err)
			select {
			case r.refused <- struct{}{}:
			default:
			}
		},
	}
}

func (r *Room) openJournal() error {
	if err := os.MkdirAll(r.dir(), 0o700); err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "The state folder cannot be written: %w", err).WithHint("Check its permissions.")
	}
	j, _, err := journal.Open(filepath.Join(r.dir(), journalFile), r.journalOptions())
	if err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "The journal of notebook %s cannot be opened: %w", r.id, err).
			WithHint("Run runt doctor.")
	}
	r.journal = j
	if err := r.writeBase(); err != nil {
		r.log.Warn("last saved version not kept", "error", err)
	}
	return nil
}

func (r *Room) closeJournal() {
	if r.journal == nil {
		return
	}
	if err := r.journal.Close(); err != nil {
		r.log.Error("journal not closed", "error", err)
	}
}

// fullRecords returns the records that say everything about the room.
func (r *Room) fullRecords() []journal.Record {
	recs := []journal.Record{{Type: recMeta, Data: r.meta().encode()}}
	for i, d := range r.docs {
		b, err := d.engine.Save()
		if err != nil {
			r.log.Error("document not saved", "doc", i, "error", err)
			return nil
		}
		recs = append(recs, journal.Record{Type: recNotebookSave + byte(i), Data: b})
	}
	step := runtimeStep{State: r.runState, Notes: r.core.Notes(), Gone: r.core.Archived()}
	if r.host != nil {
		step.Host, step.Seq = r.host.dir, r.host.written
	}
	return append(recs, step.record(nil))
}

// compact rewrites the journal when it is larger than limit and has grown enough.
func (r *Room) compact(limit int64) {
	if r.deps.CompactAt > 0 {
		limit = r.deps.CompactAt
	}
	if r.journal == nil || r.journal.Size() < max(limit, 2*r.compacted) {
		return
	}
	recs := r.fullRecords()
	if recs == nil {
		return
	}
	r.compacted = 0
	for _, rec := range recs {
		r.compacted += int64(len(rec.Data))
	}
	r.log.Debug("journal rewritten", "from", r.journal.Size(), "to", r.compacted)
	r.journal.Rewrite(recs)
}

// forgetJournal removes what is kept of a room that closes when its file has
// everything. It returns whether it did.
func (r *Room) forgetJournal() bool {
	if r.journal == nil || r.kind != FileBacked || r.core.Status().Dirty {
		return false
	}
	r.closeJournal()
	if err := os.RemoveAll(r.dir()); err != nil {
		r.log.Warn("journal not removed", "error", err)
	}
	return true
}

// recovered is what a journal says.
type recovered struct {
	meta  roomMeta
	docs  [numDocs][]byte
	host  string // folder of the kernel host
	seq   uint64 // its last event that is in the documents
	state []byte
	notes map[domain.ExecutionID]string
	left  string // folder of the host before that one
	gone  []domain.ExecutionID
	found bool
	// Records of executions that may not have reached the catalog.
	archived []wire.ExecutionRecord
}

func readRecords(recs []journal.Record) (recovered, error) {
	out := recovered{notes: map[domain.ExecutionID]string{}}
	for _, rec := range recs {
		switch {
		case rec.Type == recMeta:
			if err := json.Unmarshal(rec.Data, &out.meta); err != nil {
				return out, fmt.Errorf("decode room record: %w", err)
			}
			out.found = true
		case rec.Type == recStep:
			step, changes, err := readStep(rec.Data)
			if err != nil {
				return out, err
			}
			out.take(step)
			out.change(docRuntime, changes)
		case rec.Type >= recNotebookSave && rec.Type < recNotebookSave+numDocs:
			out.docs[rec.Type-recNotebookSave] = slices.Clip(rec.Data) // what is appended goes elsewhere
		case rec.Type >= recNotebookChanges && rec.Type < recNotebookChanges+numDocs:
			out.change(int(rec.Type-recNotebookChanges), rec.Data)
		}
	}
	return out, nil
}

func (s *recovered) take(step runtimeStep) {
	if step.Left != "" {
		s.left, s.host, s.seq = step.Left, "", 0
	}
	if step.Host != "" {
		s.host, s.seq = step.Host, step.Seq
	}
	s.gone = append(s.gone, step.Gone...)
	for _, rec := range step.Archived {
		s.gone = append(s.gone, domain.ExecutionID(rec.ExecutionID))
	}
	s.archived = append(s.archived, step.Archived...)
	s.state = step.State
	for _, n := range step.Notes {
		s.notes[n.Execution] = n.Text
	}
}

func (s *recovered) change(doc int, changes []byte) {
	s.docs[doc] = append(s.docs[doc], changes...)
}

// Restore makes the room of a notebook from its journal. hosts are the folders of
// the kernel hosts that still run for it, the newest first: one of them at most is taken, the others are ended.
func Restore(ctx context.Context, deps Deps, id domain.NotebookID, hosts []string) (*Room, error) {
	r := newRoom(deps, id)
	j, rec, err := journal.Open(filepath.Join(r.dir(), journalFile), r.journalOptions())
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "The journal of notebook %s cannot be read: %w", id, err).
			WithHint("Run runt doctor; nothing was changed.")
	}
	r.journal = j
	if rec.Torn || rec.Corrupt != "" {
		r.log.Warn("journal was damaged", "torn", rec.Torn, "kept", rec.Corrupt)
	}
	return r.restore(ctx, rec.Records, hosts)
}

// restore makes the room from records.
func (r *Room) restore(ctx context.Context, recs []journal.Record, hosts []string) (*Room, error) {
	state, err := readRecords(recs)
	if err == nil && !state.found {
		err = errors.New("it has no room record")
	}
	if err == nil {
		err = r.loadDocs(state)
	}
	if err != nil {
		r.cancel(errGone)
		r.closeJournal()
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "The journal of notebook %s cannot be used: %w", r.id, err).
			WithHint("Run runt doctor; nothing was changed.")
	}
	r.runState = state.state
	r.restoreFile(state.meta)
	r.restoreExecutions(state)
	r.restoreKernel(ctx, state, hosts)
	for _, rec := range state.archived {
		r.deps.Registry.Archive(rec)
	}
	return r, nil
}

func (r *Room) loadDocs(s recovered) error {
	r.path, r.kind, r.workingDir, r.kernelName = s.meta.Path, s.meta.Kind, s.meta.WorkingDir, s.meta.KernelName
	shard, err := r.deps.Engine.NewShard()
	if err != nil {
		return fmt.Errorf("place room: %w", err)
	}
	r.shard = shard
	nb, err1 := notebook.Load(shard, s.docs[docNotebook], r.docActor(""))
	rs, err2 := runtimestate.Load(shard, s.docs[docRuntime], r.docActor("state:"))
	comms, err3 := shard.Load(s.docs[docComms], r.docActor("comms:"))
	comments, err4 := shard.Load(s.docs[docComments], r.docActor("comments:"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		shard.Close()
		return err
	}
	r.setDocs(nb, rs, comms, comments)
	return nil
}

// restoreFile reads the version of the file that the documents were last equal to.
func (r *Room) restoreFile(m roomMeta) {
	if r.kind != FileBacked {
		return
	}
	r.file.hash = m.FileHash
	data, err := os.ReadFile(filepath.Join(r.dir(), baseFile))
	if err != nil {
		r.log.Warn("last saved version not found", "error", err)
		return
	}
	if base, err := ipynb.Parse(data, nil); err == nil {
		r.file.base, r.file.known = base, true
	}
}

func (r *Room) restoreExecutions(s recovered) {
	kept := room.Restored{Latest: map[domain.CellID]domain.ExecutionID{}, Kernel: r.rs.Kernel(), Input: r.rs.InputRequest(),
		Notes: s.notes, State: s.state, Archived: s.gone, Text: func(ref map[string]any) (string, bool) {
			b, err := content(ref, r.deps.Blobs)
			return string(b), err == nil
		}}
	for _, c := range r.nb.Cells() {
		if c.ExecutionID != "" {
			kept.Latest[c.ID] = domain.ExecutionID(c.ExecutionID)
		}
	}
	for _, x := range r.rs.Executions() {
		kept.Executions = append(kept.Executions, room.Execution{ID: domain.ExecutionID(x.ID), Cell: domain.CellID(x.CellID), Status: x.Status,
			Source: x.Source, Submitter: x.Submitter, Count: x.Count, Success: x.Success, Seq: x.Seq, Outputs: x.Outputs, Created: r.deps.Now()})
	}
	executing, queued := r.rs.Queue()
	kept.Running = domain.ExecutionID(executing)
	for _, q := range queued {
		kept.Queued = append(kept.Queued, domain.ExecutionID(q))
	}
	r.core.Restore(kept)
}
