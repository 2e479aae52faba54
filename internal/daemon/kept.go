package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"

	"runt/internal/domain"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

// journals returns the notebooks that have a journal, open or not.
func (d *Daemon) journals() ([]domain.NotebookID, error) {
	names, err := os.ReadDir(d.roomsDir())
	if err != nil {
		return nil, fmt.Errorf("list journals: %w", err)
	}
	var ids []domain.NotebookID
	for _, n := range names {
		id := domain.NotebookID(n.Name())
		if domain.IsUUID(n.Name()) && roomactor.HasJournal(d.roomsDir(), id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (d *Daemon) listKept() (wire.KeptList, error) {
	ids, err := d.journals()
	if err != nil {
		return wire.KeptList{}, err
	}
	var out wire.KeptList
	for _, id := range ids {
		if d.rooms.has(id) {
			continue
		}
		k, err := roomactor.ReadKept(d.deps, id, nil)
		if errors.Is(err, os.ErrNotExist) {
			continue // opened and closed meanwhile
		}
		if err != nil {
			return out, err
		}
		out.Kept = append(out.Kept, wire.KeptNotebook{NotebookID: string(id), Path: k.Path, Cells: k.Cells, Title: k.Title,
			Bytes: k.Bytes, ChangedAt: k.Changed.UTC(), Issue: k.Issue})
	}
	sort.Slice(out.Kept, func(a, b int) bool { return out.Kept[a].ChangedAt.After(out.Kept[b].ChangedAt) })
	return out, nil
}

// deleteKept forgets a notebook that is not open.
func (d *Daemon) deleteKept(id domain.NotebookID) error {
	if !domain.IsUUID(string(id)) || !roomactor.HasJournal(d.roomsDir(), id) {
		return domain.Errorf(domain.CodeNotebookUnavailable, "No notebook %s is kept.", id).WithHint("List them with runt kept.")
	}
	return d.rooms.whileClosed(id, func() error {
		if err := roomactor.DeleteKept(d.roomsDir(), id); err != nil {
			return domain.Errorf(domain.CodeSaveFailed, "Notebook %s could not be deleted: %w", id, err).WithHint("Check the permissions of the state folder.")
		}
		return nil
	})
}

// has says whether a room is open or being loaded.
func (g *registry) has(id domain.NotebookID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rooms[id] != nil
}

// whileClosed calls f for a notebook that is not open and keeps it closed
// meanwhile: who wants it waits, and is told that it is gone.
func (g *registry) whileClosed(id domain.NotebookID, f func() error) error {
	e := &entry{ready: make(chan struct{}), err: domain.Errorf(domain.CodeNotebookUnavailable, "Notebook not found: %s", id).
		WithHint("List the notebooks, connect by path, or create a new one.")}
	g.mu.Lock()
	if g.rooms[id] != nil {
		g.mu.Unlock()
		return domain.Errorf(domain.CodeInvalidArgument, "Notebook %s is open.", id).WithHint("Close it first with runt stop %s.", id)
	}
	g.rooms[id] = e
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.removeLocked(id, e)
		g.mu.Unlock()
		close(e.ready)
	}()
	return f()
}

func (d *Daemon) keptRequest(req wire.PoolRequest) (typ string, body any, err error) {
	if req.Type == wire.PoolDeleteKept {
		return wire.PoolOK, nil, d.deleteKept(domain.NotebookID(req.NotebookID))
	}
	list, err := d.listKept()
	return wire.PoolKeptList, list, err
}

// failure makes the answer to a request that failed.
func failure(err error) wire.PoolFailure {
	var de *domain.Error
	if errors.As(err, &de) {
		return wire.PoolFailure{Message: de.Message, Code: string(de.Code), Hint: de.Hint}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return wire.PoolFailure{Message: err.Error(), Code: string(domain.CodeTimeout)}
	}
	return wire.PoolFailure{Message: err.Error(), Code: string(domain.CodeInternal)}
}
