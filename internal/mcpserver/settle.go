package mcpserver

import (
	"context"
	"slices"
	"sync"
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
)

// settleLimit bounds the wait for the documents to show what was told directly.
const settleLimit = 2 * time.Second

// finished is an execution whose end the client was told.
type finished struct {
	cell      domain.CellID
	execution domain.ExecutionID
}

// told remembers the executions whose end was answered before the documents
// showed it, so that the client's next call does not read older state than it knows.
type told struct {
	mu  sync.Mutex // guards all
	all map[domain.NotebookID][]finished
}

// add notes an execution, in place of an earlier one of the same cell: the
// documents show executions in the order of their ends.
func (t *told) add(id domain.NotebookID, f finished) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[domain.NotebookID][]finished{}
	}
	same := func(other finished) bool { return other.cell == f.cell }
	t.all[id] = append(slices.DeleteFunc(t.all[id], same), f)
}

// take returns what was added for a notebook since the last take.
func (t *told) take(id domain.NotebookID) []finished {
	t.mu.Lock()
	defer t.mu.Unlock()
	fs := t.all[id]
	delete(t.all, id)
	return fs
}

// settle waits until the replica shows the executions whose end this client has
// been told. It is a matter of milliseconds; when it is not, the call goes on.
func (b *book) settle(ctx context.Context) {
	fs := b.k.c.told.take(b.h().ID())
	if len(fs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err := b.h().WaitFor(ctx, func() bool {
		for _, f := range fs {
			if !b.shows(f) {
				return false
			}
		}
		return true
	})
	if err != nil {
		b.k.c.srv.o.Logger.Debug("documents lag behind", "notebook", b.h().ID(), "err", err)
	}
}

// shows says whether the documents show the end of an execution, or a later one in its place.
func (b *book) shows(f finished) bool {
	status := b.runtime().Status(string(f.execution))
	if f.cell == "" {
		return runtimestate.Terminal(status)
	}
	c, ok := b.doc().Cell(f.cell)
	if !ok {
		return true
	}
	return runtimestate.Terminal(status) && c.ExecutionID != "" && (c.ExecutionID == string(f.execution) || b.later(c.ExecutionID, string(f.execution)))
}

// later says whether one execution was asked for after another.
func (b *book) later(a, than string) bool {
	x, okX := b.runtime().Execution(a)
	y, okY := b.runtime().Execution(than)
	return okX && okY && x.Seq > y.Seq
}
