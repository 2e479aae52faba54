package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"runt/internal/domain"
)

// activation is one connect, create, or first use of a notebook by name. Its
// fields are guarded by Client.mu unless said otherwise.
type activation struct {
	target       Target // refined once the daemon was asked
	located      bool   // target says all that can be known
	makesDefault bool
	fixed        bool                    // a create: never the same as another one
	ctx          context.Context         // immutable; ends with the error its callers get
	cancel       context.CancelCauseFunc // immutable
	waiters      int
	done         chan struct{} // closed when slot, result and err are final
	slot         *slot
	result       Joined // without its Session: each waiter gets one of its own
	err          error
	turns        queue
}

// Joined is the outcome of a connect or create.
type Joined struct {
	*Session            // must be released
	Default      bool   // it is the default now; a later connect or create may have overtaken it
	Already      bool   // the client held it before
	SwitchedFrom *Info  // the former default, when it was another notebook
	LetGo        []Info // notebooks let go because of the limit
}

// Pending is a connect or create under way. Exactly one Await must follow.
type Pending struct {
	c    *Client
	act  *activation // nil when done is set
	done Joined
}

// Await waits for the outcome.
func (p *Pending) Await(ctx context.Context) (Joined, error) {
	if p.act == nil {
		return p.done, nil
	}
	return p.c.await(ctx, p.act)
}

// Connect joins the notebook and makes it the default. It is BeginConnect and Await.
func (c *Client) Connect(ctx context.Context, t Target) (Joined, error) {
	return c.BeginConnect(t).Await(ctx)
}

// Create makes a notebook and makes it the default. It is BeginCreate and Await.
func (c *Client) Create(ctx context.Context, spec CreateSpec) (Joined, error) {
	return c.BeginCreate(spec).Await(ctx)
}

// BeginConnect starts to join the notebook, to make it the default. Calls without
// a notebook's name that are resolved from now on mean this one. A connect
// to the same notebook that is under way is shared; one to another notebook is
// overtaken. It does not block.
func (c *Client) BeginConnect(t Target) *Pending {
	c.mu.Lock()
	if s := c.findLocked(t); s != nil && s.live && !isDone(s.handle) {
		c.overtakeAllLocked(s.identity())
		from, old := c.setDefaultLocked(s)
		j := Joined{Session: c.sessionLocked(s), Default: true, Already: true, SwitchedFrom: from}
		c.mu.Unlock()
		if old != nil {
			old.Close()
		}
		return &Pending{c: c, done: j}
	}
	defer c.mu.Unlock()
	a := c.pendingLocked(t)
	switch {
	case a == nil || a.fixed:
		a = c.activateLocked(&activation{target: t, makesDefault: true}, c.o.Dialer.Dial)
	case !a.makesDefault: // joined for a call by name until now
		a.makesDefault = true
		c.forgetLocked(a)
		c.acts = append(c.acts, a)
		c.overtakeLocked(a)
	}
	a.waiters++
	return &Pending{c: c, act: a}
}

// BeginCreate starts to make a notebook, to make it the default, as BeginConnect does.
func (c *Client) BeginCreate(spec CreateSpec) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &activation{target: Target{Path: spec.Path, ID: spec.ID}, makesDefault: true, fixed: true}
	c.activateLocked(a, func(ctx context.Context, _ Target, _ Handle) (Handle, error) { return c.o.Dialer.Create(ctx, spec) })
	a.waiters++
	return &Pending{c: c, act: a}
}

type dialFunc func(ctx context.Context, t Target, carry Handle) (Handle, error)

// activateLocked starts an activation and overtakes older ones.
func (c *Client) activateLocked(a *activation, dial dialFunc) *activation {
	a.located = a.fixed || a.target.Path != ""
	a.ctx, a.cancel = context.WithCancelCause(c.ctx)
	a.done = make(chan struct{})
	if c.closed {
		a.err = errNoSession(nil)
		close(a.done)
		return a
	}
	c.acts = append(c.acts, a)
	if a.makesDefault && a.located {
		c.overtakeLocked(a)
	}
	c.wg.Go(func() {
		defer a.cancel(nil)
		c.run(a, dial)
	})
	return a
}

// overtakeLocked ends every older activation that would make another notebook
// the default. One that is not located yet is left to see for itself (refine).
func (c *Client) overtakeLocked(newest *activation) {
	for _, a := range slices.Clone(c.acts) {
		if a == newest {
			return
		}
		if a.makesDefault && a.located && (a.fixed || newest.fixed || !a.target.same(newest.target)) {
			c.overtakenLocked(a)
		}
	}
}

// overtakeAllLocked ends every activation that would make another notebook than t the default.
func (c *Client) overtakeAllLocked(t Target) {
	for _, a := range slices.Clone(c.acts) {
		if a.makesDefault && (a.fixed || !a.target.same(t)) {
			c.overtakenLocked(a)
		}
	}
}

// overtakenLocked ends a connect that a later one has overtaken. A create is not
// ended, because its notebook would be lost: it only does not become the default.
func (c *Client) overtakenLocked(a *activation) {
	if a.fixed {
		a.makesDefault = false
		return
	}
	c.endLocked(a, errSuperseded(a.target))
}

// endLocked cancels a: nothing of it will be installed.
func (c *Client) endLocked(a *activation, err error) {
	a.cancel(err)
	c.forgetLocked(a)
}

// run dials for an activation and settles it. A notebook named by id is looked
// up first, so that a connect to the same notebook by path is recognised.
func (c *Client) run(a *activation, dial dialFunc) {
	c.mu.Lock()
	t, located := a.target, a.located
	var carry Handle
	if s := c.findLocked(t); s != nil {
		carry = s.carry()
	}
	c.mu.Unlock()
	if !located {
		t = c.o.Dialer.Locate(a.ctx, t)
		if leader := c.refine(a, t); leader != nil {
			c.follow(a, leader)
			return
		}
	}
	h, err := c.dialAwake(a.ctx, t, func(ctx context.Context, t Target) (Handle, error) { return dial(ctx, t, carry) })
	c.settle(a, h, err)
}

// dialAwake dials, and starts the daemon as often as it turns out not to be
// there, for as long as a call may wait.
func (c *Client) dialAwake(ctx context.Context, t Target, dial func(context.Context, Target) (Handle, error)) (Handle, error) {
	limit := time.NewTimer(c.o.Wait)
	defer limit.Stop()
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		h, err := dial(ctx, t)
		if !errors.Is(err, ErrNoDaemon) {
			return h, err
		}
		if werr := c.o.Dialer.Wake(ctx); werr != nil {
			return nil, errNoDaemon(t, werr)
		}
		if h, err = dial(ctx, t); !errors.Is(err, ErrNoDaemon) {
			return h, err
		}
		pause := time.NewTimer(delay)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		case <-limit.C:
			pause.Stop()
			return nil, errNoDaemon(t, err)
		}
	}
}

// refine records what is now known about a's notebook and puts a in its place
// among the activations under way: it returns the one for the same notebook, if
// any, and ends older ones for others, or a itself when a newer one is for another.
func (c *Client) refine(a *activation, t Target) *activation {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.target, a.located = t, true
	at := slices.Index(c.acts, a)
	if at < 0 || !a.makesDefault {
		return nil
	}
	for i, o := range c.acts {
		if i == at || !o.makesDefault || o.fixed {
			continue
		}
		if o.target.same(t) {
			o.waiters++
			return o
		}
	}
	for _, o := range c.acts[at+1:] {
		if o.makesDefault && o.located {
			c.endLocked(a, errSuperseded(t))
			return nil
		}
	}
	c.overtakeLocked(a)
	return nil
}

// follow settles a with the outcome of another activation of the same notebook.
func (c *Client) follow(a, leader *activation) {
	j, err := c.await(a.ctx, leader)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetLocked(a)
	if a.err = err; err == nil {
		a.slot = j.slot
		j.Session.releaseLocked()
		j.Session = nil
		a.result = j
	}
	close(a.done)
}

// settle is the last step of an activation: check and install under one lock.
func (c *Client) settle(a *activation, h Handle, err error) {
	c.mu.Lock()
	var toClose []Handle
	switch {
	case a.ctx.Err() != nil:
		a.err = context.Cause(a.ctx)
		toClose = append(toClose, h)
	case err != nil:
		a.err = err
	default:
		toClose = c.installActivated(a, h)
	}
	c.forgetLocked(a)
	close(a.done)
	c.mu.Unlock()
	for _, h := range toClose {
		if h != nil {
			h.Close()
		}
	}
}

// installActivated puts the handle of a successful activation into its slot and
// returns the handles to close, some of which may be nil. The caller holds c.mu.
func (c *Client) installActivated(a *activation, h Handle) []Handle {
	var toClose []Handle
	s := c.findLocked(Target{Path: h.Path(), ID: h.ID()})
	a.result.Already = s != nil && s.handle != nil
	if s == nil {
		s = c.findLocked(a.target)
	}
	switch {
	case s == nil:
		s = &slot{target: a.target, changed: make(chan struct{})}
		c.slots = append(c.slots, s)
		c.installLocked(s, h)
	case s.live && !isDone(s.handle):
		toClose = append(toClose, h)
	default:
		toClose = append(toClose, c.installLocked(s, h))
	}
	a.slot = s
	if a.makesDefault {
		from, old := c.setDefaultLocked(s)
		a.result.SwitchedFrom = from
		toClose = append(toClose, old)
	}
	gone, more := c.trimLocked(s)
	a.result.LetGo = gone
	return append(toClose, more...)
}

// forgetLocked takes a out of the list of activations under way.
func (c *Client) forgetLocked(a *activation) {
	c.acts = slices.DeleteFunc(c.acts, func(o *activation) bool { return o == a })
}

// leaveLocked gives up one caller's interest in a; without any it is cancelled.
func (c *Client) leaveLocked(a *activation) {
	a.waiters--
	if a.waiters == 0 {
		c.endLocked(a, context.Canceled)
	}
}

// await waits for an activation in which the caller is counted as a waiter.
func (c *Client) await(ctx context.Context, a *activation) (Joined, error) {
	var err error
	select {
	case <-a.done:
	case <-ctx.Done():
		err = c.waitError(ctx, a)
	case <-a.ctx.Done():
		select {
		case <-a.done:
		default:
			err = context.Cause(a.ctx)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaveLocked(a)
	switch {
	case err != nil:
		return Joined{}, err
	case a.err != nil:
		return Joined{}, a.err
	case a.slot.removed != nil:
		return Joined{}, a.slot.removed.Err()
	}
	j := a.result
	j.Session, j.Default = c.sessionLocked(a.slot), c.def == a.slot
	return j, nil
}

// waitError turns the end of a caller's context into the error it gets.
func (c *Client) waitError(ctx context.Context, a *activation) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return domain.Errorf(domain.CodeTimeout, "Notebook %s was not ready in time.", a.target).WithHint("Try again.")
}
