package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/present"
	"runt/internal/session"
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
		state, ok := b.runtime().Execution(id)
		if !ok {
			known = append(known, b.runtime().ExecutionIDs()...)
			continue
		}
		cell, wait := domain.CellID(state.CellID), waitFor{timeout: seconds(k.args.number("wait_secs"))}
		again := func(context.Context) (*client.Execution, error) { return b.h().Follow(cell, domain.ExecutionID(id)) }
		e, err := again(ctx)
		if err != nil {
			return nil, named(err, domain.ExecutionID(id))
		}
		v, err := b.await(ctx, e, again, wait)
		if err != nil {
			return nil, err
		}
		return k.c.show(ctx, v, o), nil
	}
	return k.record(ctx, id, known, o)
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
	rec, err := client.ExecutionResult(ctx, k.c.srv.o.Socket, domain.ExecutionID(id))
	if isLost(err) {
		if err = k.c.dialer.Wake(ctx); err == nil {
			rec, err = client.ExecutionResult(ctx, k.c.srv.o.Socket, domain.ExecutionID(id))
		}
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
