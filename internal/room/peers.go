package room

import (
	"time"

	"runt/internal/domain"
)

// closingStep says which effect of the shut-down the room waits for.
type closingStep int

const (
	notClosing closingStep = iota
	closingSave
	closingBarrier
	closingHost
	closingWatcher
)

// RefusedClosing says whether a peer that joins now has to wait for the room's
// removal and load it afresh: the kernel is being stopped already.
func (c *Core) RefusedClosing() bool {
	return c.phase == Removed || c.phase == Closing && c.closing >= closingHost
}

// refuse answers a request that comes when the room is past the point of return.
func (c *Core) refuse(ev Event) bool {
	if !c.RefusedClosing() {
		return false
	}
	var from Caller
	switch ev := ev.(type) {
	case ExecuteRequested:
		from = ev.From
	case CancelRequested:
		from = ev.From
	case LaunchRequested:
		from = ev.From
	case RestartRequested:
		from = ev.From
	case ShutdownRequested:
		from = ev.From
	case InterruptRequested:
		from = ev.From
	case InputGiven:
		from = ev.From
	case SaveRequested:
		from = ev.From
	default:
		return false
	}
	if from.Peer != 0 {
		c.respondError(from, domain.Errorf(domain.CodeNotebookUnavailable, "The notebook is being closed.").WithHint("Connect to it again."))
	}
	return true
}

func (c *Core) handlePeers(ev Event) {
	switch ev := ev.(type) {
	case PeerJoined:
		c.peers[ev.Peer] = true
		c.hadPeers = true
		c.stopEvict()
		switch c.phase {
		case Idle:
			c.phase = Active
		case Closing:
			c.waiting = true
		}
	case PeerLeft:
		if !c.peers[ev.Peer] {
			return
		}
		delete(c.peers, ev.Peer)
		c.dropInterrupter(ev.Peer)
		if len(c.peers) == 0 && c.phase == Active {
			c.phase = Idle
		}
	case Unattended:
		if len(c.peers) == 0 && c.phase == Active {
			c.phase = Idle
		}
	case KeepAliveSet:
		c.keepAlive = clampKeepAlive(ev.After, c.cfg.KeepAlive)
		if c.evictArmed() {
			c.armEvict()
		}
	}
}

// clampKeepAlive keeps a wish within the limits; a configured value below the
// minimum (tests use short ones) lowers it.
func clampKeepAlive(d, configured time.Duration) time.Duration {
	return min(max(d, min(MinKeepAlive, configured)), MaxKeepAlive)
}

func (c *Core) evictArmed() bool { return c.evictSet }

func (c *Core) armEvict() {
	c.evictSet = true
	c.emit(SetTimer{TimerEvict, c.keepAlive})
}

func (c *Core) stopEvict() {
	if c.evictSet {
		c.evictSet = false
		c.emit(StopTimer{TimerEvict})
	}
}

// evict begins the ordered shut-down, fenced by "nobody is here and nothing runs".
func (c *Core) evict() {
	c.evictSet = false
	if c.phase != Idle || len(c.peers) > 0 || c.busy() {
		return
	}
	c.phase, c.closing, c.waiting = Closing, closingSave, false
	c.startSave(saveRequest{final: true})
}

// end begins the shut-down whoever is here; there is no way back.
func (c *Core) end() {
	if c.phase == Removed || c.phase == Closing && c.closing >= closingHost {
		return
	}
	c.stopEvict()
	c.abortAll("The notebook was shut down before this cell was done.", "Open the notebook and run the cell again.")
	c.phase, c.waiting = Closing, false
	c.stopHost()
}

// stopHost is the point of no return: what the kernel and its launch still report
// belongs to an old generation from here on.
func (c *Core) stopHost() {
	c.closing = closingHost
	c.pending.leaves, c.pending.due = true, true
	c.after(StopKernel{Generation: c.kernel.generation, Closing: true})
	c.kernel.generation++
}

// advanceClosing goes one step on when the effect it waits for is done. Before
// the host is stopped a waiting peer turns the room back.
func (c *Core) advanceClosing(ev Event) {
	if c.phase != Closing {
		return
	}
	switch ev.(type) {
	case SaveFinished:
		if c.closing != closingSave || c.turnBack() {
			return
		}
		c.closing = closingBarrier
		c.after(JournalBarrier{})
	case BarrierReached:
		if c.closing != closingBarrier || c.turnBack() {
			return
		}
		c.stopHost()
	case BarrierFailed:
		if c.closing == closingBarrier {
			c.waiting = true
			c.turnBack()
		}
	case HostStopped:
		if c.closing != closingHost {
			return
		}
		c.closing = closingWatcher
		c.after(CloseWatcher{})
	case WatcherClosed:
		if c.closing != closingWatcher {
			return
		}
		c.phase = Removed
		for _, id := range c.order {
			c.archive(c.execs[id])
		}
		c.after(Remove{})
	}
}

// turnBack makes a closing room active again when a peer waits for it.
func (c *Core) turnBack() bool {
	if !c.waiting {
		return false
	}
	c.waiting, c.closing = false, notClosing
	c.phase = Active
	if len(c.peers) == 0 {
		c.phase = Idle
	}
	if c.saves.dirty {
		c.documentChanged()
	}
	return true
}
