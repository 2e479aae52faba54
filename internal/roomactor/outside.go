package roomactor

import (
	"fmt"

	"runt/internal/domain"
	"runt/internal/ipynb"
	"runt/internal/journal"
	"runt/internal/merge"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
)

// Issues of a file, as the runtime state document names them.
const (
	issueConflict = "conflict" // both sides changed the same thing; both texts are in the notebook
	issueDegraded = "degraded" // the file cannot be taken over; the notebook is kept
)

// diskRead merges the file into the notebook when another program changed it.
// Own writes, and files touched without a change, are known by their hash.
func (r *Room) diskRead(path string, data []byte, err error) {
	if path != r.path || hashBytes(data) == r.file.hash && err == nil {
		return
	}
	if err != nil {
		r.fileIssue(issueDegraded, fmt.Sprintf("The file cannot be read: %v", err))
		return
	}
	disk, err := parse(path, data)
	if err != nil {
		r.fileIssue(issueDegraded, "The file was changed into something that is no notebook. "+domainText(err))
		return
	}
	base := disk.Notebook()
	if r.file.base != nil {
		base = r.file.base.Notebook()
	}
	live, err := fileNotebook(r.snapshot(true), r.file.base, r.deps.Blobs)
	if err != nil {
		r.log.Error("file not merged", "path", path, "error", err)
		return
	}
	res := merge.Merge(base, disk.Notebook(), live, merge.Options{KeepOutputs: r.core.Busy()})
	if res.Refused != "" {
		r.fileIssue(issueDegraded, res.Refused)
		return
	}
	if err := r.applyMerge(res.Ops); err != nil {
		r.log.Error("file not merged", "path", path, "error", err)
		return
	}
	r.merged(disk, data, res)
}

func domainText(err error) string { return asDomain(err).Message }

// merged takes note of the version of the file that the notebook now contains.
func (r *Room) merged(disk *ipynb.File, data []byte, res merge.Result) {
	r.file.base, r.file.hash, r.file.known = disk, hashBytes(data), true
	if err := r.writeBaseBytes(data); err != nil {
		r.log.Warn("last saved version not kept", "error", err)
	}
	r.record(journal.Record{Type: recMeta, Data: r.meta().encode()})
	r.log.Info("file merged", "path", r.path, "changes", len(res.Ops), "conflicts", len(res.Conflicts))
	issue, reason := "", ""
	if len(res.Conflicts) > 0 {
		issue, reason = issueConflict, conflictText(res.Conflicts)
	}
	r.fileIssue(issue, reason)
}

func conflictText(conflicts []merge.Conflict) string {
	c := conflicts[0]
	s := fmt.Sprintf("The file was changed outside while cell %s was edited here (%s).", c.ID, c.Kind)
	if c.CopyID != "" {
		s += fmt.Sprintf(" The text of the file is in the raw cell %s below it.", c.CopyID)
	}
	if n := len(conflicts) - 1; n > 0 {
		s += fmt.Sprintf(" There are %d more conflicts.", n)
	}
	return s
}

// fileIssue shows how the notebook stands to its file.
func (r *Room) fileIssue(issue, reason string) {
	state := r.rs.FileState()
	if state.Issue == issue && state.Reason == reason {
		return
	}
	state.Issue, state.Reason = issue, reason
	upd, err := r.rs.Edit(func(tx *runtimestate.Tx) error { return tx.SetFileState(state) })
	if err != nil {
		r.log.Error("runtime state edit failed", "error", err)
		return
	}
	if issue != "" {
		r.log.Warn("file and notebook differ", "issue", issue, "reason", reason)
	}
	r.changed(docRuntime, upd, nil)
}

// applyMerge performs the operations of a merge on the live document, as one change.
func (r *Room) applyMerge(ops []merge.Op) error {
	if len(ops) == 0 {
		return nil
	}
	dirty := r.core.Status().Dirty
	upd, err := r.nb.Edit(func(tx *notebook.Tx) error {
		for _, op := range ops {
			if err := applyOp(tx, op); err != nil {
				return fmt.Errorf("%s of cell %s: %w", op.Kind, op.ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.changed(docNotebook, upd, nil)
	r.noteCells(upd)
	var loaded []room.Execution
	for _, op := range ops {
		if op.Kind == merge.OpAdd || op.Kind == merge.OpOutputs {
			c := op.Cell
			if c.ID == "" {
				c.ID = op.ID
			}
			if x, ok := r.loadedExecution(c, 0); ok {
				loaded = append(loaded, x)
			}
		}
	}
	if len(loaded) > 0 {
		r.handle(room.OutputsLoaded{Executions: loaded})
	}
	if dirty {
		r.handle(room.DocumentChanged{})
	}
	return nil
}

func applyOp(tx *notebook.Tx, op merge.Op) error {
	id := domain.CellID(op.ID)
	switch op.Kind {
	case merge.OpDelete:
		return tx.DeleteCell(id)
	case merge.OpAdd:
		c := op.Cell
		if c.ID == "" {
			c.ID = op.ID
		}
		return tx.AddCell(newCell(c), placeAfter(op.After))
	case merge.OpMove:
		return tx.MoveCell(id, placeAfter(op.After))
	case merge.OpSource:
		return tx.SetSource(id, op.Cell.Source)
	case merge.OpType:
		return tx.SetCellType(id, op.Cell.Type)
	case merge.OpCellMetadata:
		return tx.SetCellMetadata(id, op.Cell.Metadata)
	case merge.OpAttachments:
		return tx.SetAttachments(id, op.Cell.Attachments)
	case merge.OpMetadata:
		return tx.SetMetadata(op.Key, op.Value)
	case merge.OpDeleteMetadata:
		tx.DeleteMetadata(op.Key)
	}
	return nil
}

func placeAfter(id string) notebook.Where {
	if id == "" {
		return notebook.First
	}
	return notebook.After(domain.CellID(id))
}
