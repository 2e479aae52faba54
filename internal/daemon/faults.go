package daemon

import (
	"context"
	"time"

	"runt/internal/domain"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

// A room that fails more often than this within the time is no longer loaded
// again by itself, only when somebody asks for it.
const (
	faultLimit  = 3
	faultPeriod = time.Minute
)

// Failed implements roomactor.Registry.
func (g *registry) Failed(w roomactor.Wreck) {
	now := time.Now()
	g.mu.Lock()
	g.wrecks[w.ID] = w
	recent := g.faults[w.ID][:0:0]
	for _, t := range append(g.faults[w.ID], now) {
		if now.Sub(t) < faultPeriod {
			recent = append(recent, t)
		}
	}
	g.faults[w.ID] = recent
	var failed *roomactor.Room
	if e := g.rooms[w.ID]; e != nil {
		failed = e.room
	}
	again := failed != nil && len(recent) <= faultLimit && !g.closed
	if again {
		g.open.Add(1)
	}
	g.mu.Unlock()
	if !again {
		g.d.log.Error("room is not loaded again by itself", "room", string(w.ID), "faults", len(recent))
		return
	}
	go func() {
		defer g.open.Done()
		<-failed.Gone()
		ctx, cancel := context.WithTimeout(g.d.ctx, loadTimeout)
		defer cancel()
		if _, err := g.join(ctx, w.ID); err != nil {
			g.d.log.Error("failed room not loaded again", "room", string(w.ID), "error", err)
		}
	}()
}

// wreck returns, once, what is left of a room that failed.
func (g *registry) wreck(id domain.NotebookID) (roomactor.Wreck, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, ok := g.wrecks[id]
	delete(g.wrecks, id)
	return w, ok
}

// wrecked says whether something is left of a failed room that no list of rooms has.
func (g *registry) wrecked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.wrecks) > 0
}

// Archived implements roomactor.Registry. A record may still be on its way to
// the catalog.
func (g *registry) Archived(ctx context.Context, id domain.ExecutionID) (wire.ExecutionRecord, bool) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	flushed := make(chan struct{})
	select {
	case g.d.records <- record{flushed: flushed}:
	case <-ctx.Done():
		return wire.ExecutionRecord{}, false
	case <-g.d.ctx.Done():
		return wire.ExecutionRecord{}, false
	}
	select {
	case <-flushed:
	case <-ctx.Done():
		return wire.ExecutionRecord{}, false
	case <-g.d.ctx.Done():
		return wire.ExecutionRecord{}, false
	}
	rec, ok, err := g.d.catalog.Execution(ctx, id)
	if err != nil {
		g.d.log.Error("execution record not read", "execution", string(id), "error", err)
	}
	return rec, ok && err == nil
}
