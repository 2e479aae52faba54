package roomactor

import (
	"context"
	"fmt"

	"runt/internal/domain"
	"runt/internal/journal"
	"runt/internal/room"
	"runt/internal/wire"
)

// Wreck is what is left of a room that ended by a fault.
type Wreck struct {
	ID      domain.NotebookID
	Hosts   []string         // folder of its kernel host, which still runs
	Records []journal.Record // what a journal would say, for a room that had none; nil when there is nothing
}

// wreck collects what is left. The fault may be in what it looks at.
func (r *Room) wreck() (w Wreck) {
	w.ID = r.id
	if r.host != nil {
		w.Hosts = []string{r.host.dir}
	}
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("documents of a failed room not saved", "panic", fmt.Sprint(v))
		}
	}()
	if r.journal == nil {
		w.Records = r.fullRecords()
	}
	return w
}

// Recover makes the room again of which w is left.
func Recover(ctx context.Context, deps Deps, w Wreck) (*Room, error) {
	if w.Records == nil {
		return Restore(ctx, deps, w.ID, w.Hosts)
	}
	return newRoom(deps, w.ID).restore(ctx, w.Records, w.Hosts)
}

// answerArchived is answer for an execution that the room no longer has.
func (r *Room) answerArchived(e room.AnswerArchived) {
	r.start(func(ctx context.Context) {
		rec, ok := r.deps.Registry.Archived(ctx, e.Execution)
		if !ok {
			r.log.Warn("archived execution not found", "execution", string(e.Execution))
			return
		}
		r.post(func() {
			r.done(e.To, wire.ExecutionDone{ExecutionID: rec.ExecutionID, CellID: rec.CellID, Status: rec.Status,
				ExecutionCount: rec.ExecutionCount, Success: rec.Success, Outputs: rec.Outputs, Seconds: rec.Seconds,
				Reason: rec.Reason, Hint: rec.Hint})
		})
	})
}
