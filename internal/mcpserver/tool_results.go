package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/present"
	"runt/internal/runtimestate"
	"runt/internal/session"
	"runt/internal/wire"
)

// getResults shows an execution that somebody has started, and waits for its
// end if asked to. It needs no session: the daemon keeps what is over.
func getResults(ctx context.Context, k *call) (*reply, error) {
	id := strings.TrimSpace(k.args.text("execution_id"))
	refs := k.candidates()
	k.begun()
	defer func() {
		for _, ref := range refs {
			ref.Release()
		}
	}()
	o := present.Options{Full: k.args.flag("full_output")}
	var known []string
	for _, ref := range refs {
		s, err := ref.Await(ctx)
		if err != nil {
			if k.args.text("notebook") != "" {
				return nil, err
			}
			continue
		}
		ref.Yield()
		b := &book{k: k, ref: ref, s: s}
		if state, ok := b.runtime().Execution(id); ok {
			return b.results(ctx, domain.CellID(state.CellID), domain.ExecutionID(id), o)
		}
		known = append(known, b.runtime().ExecutionIDs()...)
	}
	return k.record(ctx, id, known, o)
}

// results shows an execution of a notebook that is joined, after waiting as the call says.
func (b *book) results(ctx context.Context, cell domain.CellID, id domain.ExecutionID, o present.Options) (*reply, error) {
	again := func(context.Context) (*client.Execution, error) { return b.h().Follow(cell, id) }
	e, err := again(ctx)
	if err != nil {
		return nil, named(err, id)
	}
	if b.waitsForInput(e) { // unless somebody has just answered it
		b.catchUp(ctx)
	}
	v, err := b.await(ctx, e, again, waitFor{timeout: seconds(b.k.args.number("wait_secs"))})
	if err != nil {
		return nil, err
	}
	return b.k.c.show(ctx, v, o), nil
}

// resultsElsewhere shows an execution that is going on in a notebook of which
// the client has not seen it, by joining that.
func (k *call) resultsElsewhere(ctx context.Context, rec wire.ExecutionRecord, o present.Options) (*reply, error) {
	ref, err := k.c.sessions.Resolve(rec.ContextID)
	if err != nil {
		return nil, err
	}
	defer ref.Release()
	s, err := ref.Await(ctx)
	if err != nil {
		return nil, err
	}
	ref.Yield()
	b := &book{k: k, ref: ref, s: s}
	return b.results(ctx, domain.CellID(rec.CellID), domain.ExecutionID(rec.ExecutionID), o)
}

// candidates are the notebooks in which the execution may be: the named one, or
// those that the client holds and is connected to, the default one first.
func (k *call) candidates() []*session.Ref {
	names := []string{k.args.text("notebook")}
	if names[0] == "" {
		names = nil
		for _, h := range slices.Backward(k.c.sessions.Held()) {
			if h.Default {
				names = slices.Insert(names, 0, h.String())
			} else if h.Live {
				names = append(names, h.String())
			}
		}
	}
	var refs []*session.Ref
	for _, name := range names {
		if ref, err := k.c.sessions.Resolve(name); err == nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

// record shows an execution that only the daemon's archive has.
func (k *call) record(ctx context.Context, id string, known []string, o present.Options) (*reply, error) {
	var rec wire.ExecutionRecord
	err := k.c.awake(ctx, func() (err error) {
		rec, err = client.ExecutionResult(ctx, k.c.srv.o.Socket, domain.ExecutionID(id))
		return err
	})
	if err == nil && !runtimestate.Terminal(rec.Status) && domain.IsUUID(rec.ContextID) {
		return k.resultsElsewhere(ctx, rec, o)
	}
	if err == nil {
		return k.c.show(ctx, viewOfRecord(rec), o), nil
	}
	if errors.Is(err, &domain.Error{Code: domain.CodeTimeout}) || isLost(err) {
		return nil, err
	}
	unknown := invalidf("There is no execution %q.", id)
	if near := nearExecutions(known, id, 3); len(near) > 0 {
		return nil, unknown.WithHint("Known ones: %s.", strings.Join(near, ", "))
	}
	return nil, unknown.WithHint("The answer of each run names its execution id; get_cell shows the last one of a cell.")
}
