package session

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"runt/internal/domain"
)

// Defaults of Options.
const (
	DefaultWait  = 20 * time.Second // how long a call waits for a lost notebook
	DefaultLimit = 32               // notebooks a client holds at once
)

// Options configure a Client.
type Options struct {
	Dialer    Dialer
	Initial   []Initial           // notebooks to join as soon as the daemon is there
	Canonical func(string) string // absolute, symlinks resolved; nil leaves paths as they are
	Jitter    func() float64      // in [0,1), spreads retries; nil means none
	Wait      time.Duration       // 0 means DefaultWait
	Limit     int                 // 0 means DefaultLimit
	Logger    *slog.Logger        // nil discards
}

// Client holds the notebooks of one MCP client. It is safe for concurrent use.
type Client struct {
	o      Options
	ctx    context.Context // ends with Close; keepers and activations work under it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu              sync.Mutex // guards what follows; held only for moments
	slots           []*slot    // notebooks held, least recently used first
	def             *slot      // the default one; nil for none
	acts            []*activation
	initial         *slot // the default that was handed over, until it is consumed
	wasDisconnected bool
	dropped         drops
	lastDrop        *Drop         // what became of the last default; nil while there is one
	daemonUp        chan struct{} // closed and replaced at every sign that the daemon is there
	retired         []*joint      // replaced by a newer handle, but still read by some call
	waking          bool          // a Wake is under way
	wakeErr         error         // why the last Wake failed; nil after one that succeeded
	closed          bool
}

// slot is a notebook that is held. Its fields are guarded by Client.mu.
type slot struct {
	target  Target
	handle  *joint        // the last one; nil before the first join. Stays readable when lost
	live    bool          // handle is joined and not known to be gone
	removed *Drop         // set when the slot is no longer held
	changed chan struct{} // closed and replaced when live or removed changes
	lastErr error         // why the last rejoin failed
	keeper  *keeper       // the rejoin under way; nil for none
	waiters int           // calls that wait for it to be joined
	turns   queue
}

// joint is a handle with the calls that read it. Its fields are guarded by Client.mu.
type joint struct {
	Handle
	users   int
	retired bool
}

// Info describes a notebook that a client holds.
type Info struct {
	Target
	Default bool
	Live    bool // joined now; false while it is being rejoined
}

// NewClient returns a client that holds o.Initial, not joined yet: the first
// Connected event, or a call that needs one, makes it join them.
func NewClient(o Options) *Client {
	o.Wait = cmp.Or(o.Wait, DefaultWait)
	o.Limit = cmp.Or(o.Limit, DefaultLimit)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Canonical == nil {
		o.Canonical = func(s string) string { return s }
	}
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 0 }
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{o: o, ctx: ctx, cancel: cancel, daemonUp: make(chan struct{})}
	for _, in := range o.Initial {
		s := &slot{target: in.Target, changed: make(chan struct{})}
		c.slots = append(c.slots, s)
		if in.Default {
			c.def, c.initial = s, s
		}
	}
	if c.initial == nil && len(c.slots) > 0 {
		c.initial = c.slots[0]
	}
	return c
}

// Close leaves every notebook and waits until all goroutines have ended. It may be called twice.
func (c *Client) Close() error {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	handles := c.retired
	c.retired = nil
	for _, s := range c.slots {
		if s.handle != nil {
			handles = append(handles, s.handle)
		}
	}
	c.mu.Unlock()
	for _, h := range handles {
		h.Close()
	}
	c.wg.Wait()
	return nil
}

// Held lists the notebooks held, the most recently used one last.
func (c *Client) Held() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heldLocked()
}

func (c *Client) heldLocked() []Info {
	infos := make([]Info, len(c.slots))
	for i, s := range c.slots {
		infos[i] = c.infoLocked(s)
	}
	return infos
}

func (c *Client) infoLocked(s *slot) Info {
	return Info{Target: s.identity(), Default: s == c.def, Live: s.live}
}

// identity is the target with what the handle knows by now.
func (s *slot) identity() Target {
	t := s.target
	if s.handle != nil {
		t = Target{Path: cmp.Or(s.handle.Path(), t.Path), ID: s.handle.ID()}
	}
	return t
}

// touchLocked makes s the most recently used slot.
func (c *Client) touchLocked(s *slot) {
	if i := slices.Index(c.slots, s); i >= 0 {
		c.slots = append(slices.Delete(c.slots, i, i+1), s)
	}
}

// defaultOrLocked returns the slot of t, or the default one when t is zero; nil for none.
func (c *Client) defaultOrLocked(t Target) *slot {
	if t.IsZero() {
		return c.def
	}
	return c.findLocked(t)
}

func (c *Client) findLocked(t Target) *slot {
	for _, s := range c.slots {
		if s.identity().same(t) {
			return s
		}
	}
	return nil
}

// removeLocked lets go of s for the reason in d. The handle it returns (nil for
// none) must be closed by the caller after unlocking.
func (c *Client) removeLocked(s *slot, d Drop) Handle {
	c.slots = slices.DeleteFunc(c.slots, func(o *slot) bool { return o == s })
	if c.def == s {
		c.def, c.lastDrop = nil, &d
	}
	if c.initial == s {
		c.initial = nil
	}
	c.dropped.add(d)
	if s.keeper != nil {
		s.keeper.cancel()
		s.keeper = nil
	}
	s.removed, s.live = &d, false
	s.notify()
	if s.handle == nil {
		return nil
	}
	return s.handle.Handle
}

// notify wakes everyone who waits for a change of s. The caller holds Client.mu.
func (s *slot) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// installLocked puts h into s and starts its watch. The caller has checked that it
// is wanted, and must close the handle that is returned (nil for none).
func (c *Client) installLocked(s *slot, h Handle) Handle {
	old := c.retireLocked(s.handle)
	j := &joint{Handle: h}
	s.handle, s.live, s.lastErr = j, true, nil
	s.target = Target{Path: cmp.Or(h.Path(), s.target.Path), ID: h.ID()}
	if s.keeper != nil {
		s.keeper.cancel()
		s.keeper = nil
	}
	c.dropped.forget(s.target)
	s.notify()
	c.wg.Go(func() { c.watchHandle(s, j) })
	return old
}

// retireLocked takes note that j was replaced. It returns what must be closed
// now; a handle that some call still reads is closed when that call is over.
func (c *Client) retireLocked(j *joint) Handle {
	if j == nil {
		return nil
	}
	if j.users == 0 {
		return j.Handle
	}
	j.retired = true
	c.retired = append(c.retired, j)
	return nil
}

// watchHandle notices that a handle is gone and has its slot joined again,
// without waiting for a tool call or an event of the daemon.
func (c *Client) watchHandle(s *slot, h *joint) {
	select {
	case <-c.ctx.Done():
		return
	case <-h.Done():
	}
	c.mu.Lock()
	lost, target := s.handle == h && s.removed == nil && s.live, s.target
	if lost {
		c.lostLocked(s)
	}
	c.mu.Unlock()
	if lost {
		c.o.Logger.Info("notebook connection lost", "notebook", target.String())
	}
}

// lostLocked marks a slot as lost and starts its keeper.
func (c *Client) lostLocked(s *slot) {
	s.target = s.identity()
	s.live = false
	s.notify()
	c.keepLocked(s)
}

// setDefaultLocked makes s the default and returns what was the default before.
// A former default that is just being rejoined is let go: the user's choice
// has overtaken the rejoin. Its handle must be closed by the caller.
func (c *Client) setDefaultLocked(s *slot) (from *Info, toClose Handle) {
	old := c.def
	c.lastDrop = nil
	c.touchLocked(s)
	if old == s {
		c.consumeInitialLocked()
		return nil, nil
	}
	if old != nil {
		info := c.infoLocked(old)
		from = &info
		if !old.live {
			toClose = c.removeLocked(old, Drop{Target: old.identity(), Reason: DropSwitched,
				Detail: "you connected " + s.identity().String() + " while it was being rejoined."})
		}
	}
	c.def, c.lastDrop = s, nil
	c.consumeInitialLocked()
	return from, toClose
}

// consumeInitialLocked ends the time in which the first Connected event is
// awaited: what was handed over is joined now.
func (c *Client) consumeInitialLocked() {
	c.initial = nil
	c.keepAllLocked()
}

// trimLocked lets go of the least recently used notebooks beyond the limit.
func (c *Client) trimLocked(keep *slot) (gone []Info, toClose []Handle) {
	for len(c.slots) > c.o.Limit {
		i := slices.IndexFunc(c.slots, func(s *slot) bool { return s != c.def && s != keep })
		if i < 0 {
			break
		}
		s := c.slots[i]
		gone = append(gone, c.infoLocked(s))
		if h := c.removeLocked(s, Drop{Target: s.identity(), Reason: DropSwitched,
			Detail: "too many notebooks were connected, and it was the one not used for longest."}); h != nil {
			toClose = append(toClose, h)
		}
	}
	return gone, toClose
}

// SavedAs tells the client that the notebook of s has a new path, by which it is to be rejoined.
func (c *Client) SavedAs(s *Session, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.slot.removed == nil && s.slot.handle == s.joint && path != "" {
		s.slot.target = Target{Path: path, ID: s.Handle.ID()}
	}
}

// Disconnect lets go of the named notebook (id or path; "" means the default
// one). A connect or a rejoin of it that is under way is cancelled: nothing of it
// will be installed.
func (c *Client) Disconnect(name string) (Info, error) {
	var t Target
	if name != "" {
		t = ParseTarget(name, c.o.Canonical)
	}
	c.mu.Lock()
	info, h, err := c.disconnectLocked(t)
	c.mu.Unlock()
	if h != nil {
		h.Close()
	}
	return info, err
}

func (c *Client) disconnectLocked(t Target) (Info, Handle, error) {
	if a := c.pendingLocked(t); a != nil {
		c.endLocked(a, domain.Errorf(domain.CodeSessionDisconnected, "Connecting to %s was cancelled by disconnect_notebook.", a.target).
			WithHint("Call connect_notebook with %s if you want it.", argument(a.target)))
		s := c.findLocked(a.target)
		if s == nil {
			return Info{Target: a.target, Default: a.makesDefault}, nil, nil
		}
		t = s.identity()
	}
	s := c.defaultOrLocked(t)
	if s == nil {
		return Info{}, nil, c.notHeldLocked(t)
	}
	info := c.infoLocked(s)
	return info, c.removeLocked(s, Drop{Target: s.identity(), Reason: DropUser}), nil
}

// pendingLocked returns the newest activation of t, or of the next default when t is zero.
func (c *Client) pendingLocked(t Target) *activation {
	for _, a := range slices.Backward(c.acts) {
		if t.IsZero() && a.makesDefault || a.target.same(t) {
			return a
		}
	}
	return nil
}

// notHeldLocked explains why a call about t (zero: the default) finds no notebook.
func (c *Client) notHeldLocked(t Target) error {
	if t.IsZero() {
		if c.lastDrop != nil {
			return c.lastDrop.Err()
		}
		return errNoSession(c.heldLocked())
	}
	if d, ok := c.dropped.find(t); ok {
		return d.Err()
	}
	return domain.Errorf(domain.CodeNoSession, "You are not connected to notebook %s.", t).
		WithHint("Call connect_notebook with %s.", argument(t))
}
