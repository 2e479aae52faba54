package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"time"

	"runt/internal/domain"
	"runt/internal/failpoint"
	"runt/internal/session"
	"runt/internal/toolspec"
)

// call is one call of a tool.
type call struct {
	c        *Client
	tool     *toolspec.Tool
	id       string // names the call for good: the same when it is sent again
	again    bool   // it is sent again: what it asks for may have been done
	args     args
	turn     uint64 // place in the client's order; 0 for none
	progress func(ctx context.Context, text string)
}

// begun lets the client's next call begin. It may be called twice.
func (k *call) begun() {
	if k.turn > 0 {
		k.c.order.leave(k.turn)
	}
}

// request is what comes with a call besides the tool's name.
type callRequest struct {
	id       string // "" for a fresh one
	again    bool
	turn     uint64
	raw      json.RawMessage
	progress func(ctx context.Context, text string) // nil when nobody listens
}

// run performs one call.
func (c *Client) run(ctx context.Context, name string, r callRequest) (rep *reply, err error) {
	tool, ok := toolspec.Find(name)
	h, implemented := handlers[name]
	if !ok || !implemented {
		return nil, invalidf("There is no tool %q.", name).WithHint("Ask for the list of tools.")
	}
	k := &call{c: c, tool: tool, id: r.id, again: r.again, turn: r.turn, progress: r.progress}
	if k.id == "" {
		k.id = callID(c.session, json.RawMessage(c.srv.ids.UUID()))
	}
	if k.progress == nil {
		k.progress = func(context.Context, string) {}
	}
	defer func() {
		if p := recover(); p != nil {
			c.srv.o.Logger.Error("tool panicked", "tool", name, "panic", p, "stack", string(debug.Stack()))
			rep, err = nil, domain.Errorf(domain.CodeInternal, "The tool %s failed inside runt.", name).WithHint("Read the cells to see what was done, then try again.")
		}
	}()
	if k.turn > 0 {
		if err := c.order.enter(ctx, k.turn); err != nil {
			return nil, err
		}
		defer k.begun()
	}
	if k.args, err = decodeArgs(tool, r.raw); err != nil {
		return nil, err
	}
	started := time.Now()
	rep, err = h.do(ctx, k)
	if failed := failpoint.Inject("mcpserver/before-answer"); failed != nil {
		return nil, failed
	}
	c.srv.o.Logger.Debug("tool called", "tool", name, "call", k.id, "took", time.Since(started), "code", domain.CodeOf(err))
	return rep, err
}

// handler performs the calls of one tool.
type handler struct {
	plain func(ctx context.Context, k *call) (*reply, error)          // resolves notebooks by itself, and calls begun
	book  func(ctx context.Context, k *call, b *book) (*reply, error) // gets the notebook that the call names
	ahead bool                                                        // begins before the documents show what the client was told: it reads nothing of that
}

func (h handler) do(ctx context.Context, k *call) (*reply, error) {
	if h.plain != nil {
		return h.plain(ctx, k)
	}
	ref, err := k.c.sessions.Resolve(k.args.text("notebook"))
	k.begun()
	if err != nil {
		return nil, err
	}
	defer ref.Release()
	s, err := ref.Await(ctx)
	if err != nil {
		return nil, err
	}
	b := &book{k: k, ref: ref, s: s}
	if !h.ahead {
		b.settle(ctx)
	}
	return h.book(ctx, k, b)
}

// isLost says whether an error means that the connection to the daemon broke.
func isLost(err error) bool {
	return errors.Is(err, &domain.Error{Code: domain.CodeSessionDisconnected}) || errors.Is(err, session.ErrNoDaemon)
}
