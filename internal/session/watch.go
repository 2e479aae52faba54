package session

import "context"

// facts collects what Classify needs.
func (c *Client) factsLocked() Facts {
	f := Facts{WasDisconnected: c.wasDisconnected}
	if c.initial != nil {
		f.Initial = c.initial.target
	}
	for _, s := range c.slots {
		switch {
		case s.handle != nil:
			f.HasSession = true
		case s != c.initial && (f.DisconnectTarget.IsZero() || s == c.def):
			f.DisconnectTarget = s.target
		}
	}
	return f
}

// Apply decides what an event means for this client and does it. It never blocks:
// joining happens in keepers. A decision to exit is only returned.
func (c *Client) Apply(e Event) Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := Classify(e, c.factsLocked())
	switch d.Kind {
	case MarkDisconnected:
		c.wasDisconnected = true
	case RejoinInitial, RejoinContinuation:
		c.initial = nil
		c.wasDisconnected = false
		c.rejoinDeadLocked()
	}
	if e.Kind == Connected || e.Kind == Upgraded {
		c.signalUpLocked()
	}
	return d
}

// rejoinDeadLocked starts keepers for slots that need one. The guard: a handle
// that still works is left alone, whatever the event said, because another
// goroutine may have joined since, and because a slow daemon is not a dead one.
func (c *Client) rejoinDeadLocked() {
	for _, s := range c.slots {
		if s.live && isDone(s.handle) {
			c.lostLocked(s)
		}
		c.keepLocked(s)
	}
}

func isDone(h Handle) bool {
	select {
	case <-h.Done():
		return true
	default:
		return false
	}
}

// Watch applies the events of one process's connection to all its clients until
// one of them decides to exit, or ctx ends. It returns the exit code.
func Watch(ctx context.Context, events <-chan Event, clients func() []*Client) int {
	for {
		e := Event{Kind: Closed}
		select {
		case <-ctx.Done():
			return 0
		case got, ok := <-events:
			if ok {
				e = got
			}
		}
		if d := Classify(e, Facts{}); d.Kind == Exit {
			return d.Code
		}
		for _, c := range clients() {
			c.Apply(e)
			if e.Kind == Upgraded {
				// A new process is there as much as an old one is: what was put
				// aside when the former one died need not wait for the next heartbeat.
				c.Apply(Event{Kind: Connected, Incarnation: e.Incarnation})
			}
		}
	}
}
