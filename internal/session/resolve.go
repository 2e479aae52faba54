package session

import (
	"cmp"
	"context"
	"slices"
	"time"

	"runt/internal/domain"
)

// Session is a joined notebook as one call uses it. It stays readable until
// Release, also when the connection is lost meanwhile.
type Session struct {
	Handle Handle
	slot   *slot
	client *Client
	joint  *joint // nil once released; guarded by Client.mu
}

// Target returns the notebook's id and path.
func (s *Session) Target() Target { return Target{Path: s.Handle.Path(), ID: s.Handle.ID()} }

// Again waits until the notebook is joined, if the handle of s is gone, and
// makes s a session with the handle of now.
func (s *Session) Again(ctx context.Context) error {
	next, err := s.client.awaitSlot(ctx, s.slot)
	if err != nil {
		return err
	}
	s.Release()
	*s = *next
	return nil
}

// Release says that the call does not use the session any more. It may be called twice.
func (s *Session) Release() {
	if s == nil {
		return
	}
	s.client.mu.Lock()
	h := s.releaseLocked()
	s.client.mu.Unlock()
	if h != nil {
		h.Close()
	}
}

// releaseLocked returns the handle to close, nil for none.
func (s *Session) releaseLocked() Handle {
	j := s.joint
	s.joint = nil
	if j == nil {
		return nil
	}
	j.users--
	if !j.retired || j.users > 0 {
		return nil
	}
	c := s.client
	c.retired = slices.DeleteFunc(c.retired, func(o *joint) bool { return o == j })
	return j.Handle
}

func (c *Client) sessionLocked(s *slot) *Session {
	s.handle.users++
	return &Session{Handle: s.handle.Handle, slot: s, client: c, joint: s.handle}
}

// Ref is the notebook that a call is about, as decided by Resolve.
type Ref struct {
	c       *Client
	slot    *slot
	act     *activation // waited for first, when set
	turns   []*turn
	session *Session
}

// Resolve decides which notebook is meant by name (id or path; "" means the
// default, which is the one connected last, even if that is still under way). It does not
// block. A notebook that was never held is joined for the call, and held from
// then on, without becoming the default. The caller must call Release.
func (c *Client) Resolve(name string) (*Ref, error) {
	var t Target
	if name != "" {
		t = ParseTarget(name, c.o.Canonical)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.pendingLocked(t)
	s := c.defaultOrLocked(t)
	switch {
	case s != nil && (a == nil || !t.IsZero()):
		return &Ref{c: c, slot: s, turns: []*turn{s.turns.enter()}}, nil
	case a != nil:
	case t.IsZero():
		return nil, c.notHeldLocked(t)
	default:
		if _, known := c.dropped.find(t); known {
			return nil, c.notHeldLocked(t)
		}
		a = c.activateLocked(&activation{target: t}, c.o.Dialer.Dial)
	}
	a.waiters++
	return &Ref{c: c, act: a, turns: []*turn{a.turns.enter()}}, nil
}

// Await waits for the call's turn and for the notebook to be joined, at most
// as long as the client's Wait, and returns the session, which lasts until Release.
func (r *Ref) Await(ctx context.Context) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, r.c.o.Wait)
	defer cancel()
	if r.act != nil {
		if err := r.awaitActivation(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.turns[len(r.turns)-1].wait(ctx); err != nil {
		return nil, r.c.whyNot(ctx, r.slot)
	}
	s, err := r.c.awaitSlot(ctx, r.slot)
	r.session = s
	return s, err
}

// awaitActivation waits for the connect that the call was queued behind, and
// queues the call for the notebook that came of it.
func (r *Ref) awaitActivation(ctx context.Context) error {
	a := r.act
	r.act = nil
	j, err := r.c.await(ctx, a)
	if err != nil {
		return err
	}
	r.slot = j.slot
	j.Release()
	if err := r.turns[0].wait(ctx); err != nil {
		return r.c.whyNot(ctx, r.slot)
	}
	r.turns = append(r.turns, r.slot.turns.enter())
	return nil
}

// Yield gives the call's turn to the next call on the notebook. It may be called twice.
func (r *Ref) Yield() {
	for _, t := range r.turns {
		t.leave()
	}
}

// Release ends the use of the notebook by the call. It may be called twice.
func (r *Ref) Release() {
	r.Yield()
	r.session.Release()
	if r.act != nil {
		r.c.mu.Lock()
		r.c.leaveLocked(r.act)
		r.c.mu.Unlock()
		r.act = nil
	}
}

// awaitSlot waits until s is joined. While it is not, the daemon is started if need be.
func (c *Client) awaitSlot(ctx context.Context, s *slot) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Wait)
	defer cancel()
	for {
		c.mu.Lock()
		if s.removed != nil {
			c.mu.Unlock()
			return nil, s.removed.Err()
		}
		if s.live && isDone(s.handle) {
			c.lostLocked(s)
		}
		if s.live {
			c.touchLocked(s)
			sess := c.sessionLocked(s)
			c.mu.Unlock()
			return sess, nil
		}
		if s == c.initial {
			c.consumeInitialLocked()
		}
		c.keepLocked(s)
		c.wakeLocked()
		changed := s.changed
		s.waiters++
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		c.mu.Lock()
		s.waiters--
		c.mu.Unlock()
		if ctx.Err() != nil {
			return nil, c.whyNot(ctx, s)
		}
	}
}

// whyNot explains why waiting for s ended without a session.
func (c *Client) whyNot(ctx context.Context, s *slot) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.removed != nil:
		return s.removed.Err()
	case ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded:
		return context.Cause(ctx)
	case !s.live:
		return errLost(s.identity(), cmp.Or(s.lastErr, c.wakeErr))
	}
	return domain.Errorf(domain.CodeTimeout, "Notebook %s was busy with earlier calls for too long.", s.identity()).WithHint("Try again.")
}

// WaitLimit is how long a call waits for a notebook that is being rejoined.
func (c *Client) WaitLimit() time.Duration { return c.o.Wait }
