package session

import (
	"context"
	"errors"
	"time"

	"runt/internal/domain"
)

// A keeper that fails waits from firstRetry, doubling to lastRetry, plus up to
// half of that as jitter; a sign of life of the daemon ends the wait.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// keeper joins one lost slot again. Its identity is the generation of the
// rejoin: only the keeper that the slot names may install.
type keeper struct{ cancel context.CancelFunc }

// keepLocked starts a keeper for s unless it has one or needs none.
func (c *Client) keepLocked(s *slot) {
	if s.live || s.removed != nil || s.keeper != nil || c.closed {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	k := &keeper{cancel: cancel}
	s.keeper = k
	c.wg.Go(func() {
		defer cancel()
		c.keep(ctx, s, k)
	})
}

func (c *Client) keepAllLocked() {
	for _, s := range c.slots {
		c.keepLocked(s)
	}
}

// keep dials until the slot is joined, is let go, or turns out to be gone for good.
func (c *Client) keep(ctx context.Context, s *slot, k *keeper) {
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		c.mu.Lock()
		target, up, carry := s.target, c.daemonUp, s.carry()
		c.mu.Unlock()
		h, err := c.o.Dialer.Dial(ctx, target, carry)
		if err == nil {
			if unused := c.installKept(s, k, h); unused != nil {
				unused.Close()
			}
			return
		}
		if c.giveUp(s, k, err) {
			return
		}
		timer := time.NewTimer(delay + time.Duration(c.o.Jitter()*float64(delay)/2))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-up:
			timer.Stop()
			delay = firstRetry / 2
		case <-timer.C:
		}
	}
}

// carry is the handle whose unsent edits a rejoin takes along.
func (s *slot) carry() Handle {
	if s.handle == nil {
		return nil
	}
	return s.handle.Handle
}

// installKept is the last step of a rejoin: check and install under one lock.
// It returns the handle to close: h itself when it is not wanted any more.
func (c *Client) installKept(s *slot, k *keeper, h Handle) Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.keeper != k || s.removed != nil || c.closed {
		return h
	}
	return c.installLocked(s, h)
}

// giveUp records why a rejoin failed and reports whether it is not worth another
// try: the slot is no longer this keeper's, or the daemon says the notebook is gone.
func (c *Client) giveUp(s *slot, k *keeper, err error) bool {
	c.mu.Lock()
	if s.keeper != k || s.removed != nil {
		c.mu.Unlock()
		return true
	}
	if domain.CodeOf(err) != domain.CodeNotebookUnavailable {
		switch {
		case !errors.Is(err, ErrNoDaemon):
			s.lastErr = err
		case s.waiters > 0: // the first attempt may have met a daemon that was about to die
			c.wakeLocked()
		}
		c.mu.Unlock()
		return false
	}
	d := Drop{Target: s.identity(), Reason: DropEvicted, Detail: messageOf(err)}
	h := c.removeLocked(s, d)
	c.mu.Unlock()
	c.o.Logger.Info("notebook is gone", "notebook", d.Target.String(), "cause", err)
	if h != nil {
		h.Close()
	}
	return true
}

func messageOf(err error) string {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// Rejoin joins all held notebooks again, over connections that replace those of now.
func (c *Client) Rejoin() {
	c.mu.Lock()
	for _, s := range c.slots {
		if s.live {
			c.lostLocked(s)
		}
	}
	c.signalUpLocked()
	c.mu.Unlock()
}

// signalUpLocked ends the waits of all keepers: the daemon is said to be there.
func (c *Client) signalUpLocked() {
	close(c.daemonUp)
	c.daemonUp = make(chan struct{})
}

// wakeLocked starts the daemon in the background if nobody is doing that already.
func (c *Client) wakeLocked() {
	if c.waking || c.closed {
		return
	}
	c.waking = true
	c.wg.Go(func() {
		err := c.o.Dialer.Wake(c.ctx)
		c.mu.Lock()
		c.waking, c.wakeErr = false, err
		if err == nil {
			c.signalUpLocked()
		}
		c.mu.Unlock()
		if err != nil && c.ctx.Err() == nil {
			c.o.Logger.Warn("cannot start the daemon", "err", err)
		}
	})
}
