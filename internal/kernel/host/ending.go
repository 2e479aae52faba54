package host

import (
	"encoding/json"
	"fmt"
	"syscall"
	"time"

	"runt/internal/kernel/link"
)

// How long a kernel gets to end by itself after a shutdown_request, less when
// it is running something, and after SIGTERM.
const (
	askIdle = 3 * time.Second
	askBusy = time.Second
	askTerm = time.Second
)

// How long a kernel may live after it has closed a channel: it is about to end,
// and code may have asked it to, which lets it tidy up.
const (
	lostLimit  = time.Second
	leaveLimit = 10 * time.Second
)

// shutdown ends the kernel: it is asked, then told, then killed.
func (c *core) shutdown(reply answer) {
	if reply != nil {
		c.requested = true
		if c.phase == phaseEnded {
			accept(reply)
			return
		}
		c.stops = append(c.stops, reply)
	}
	if c.phase == phaseStopping || c.phase == phaseEnded {
		return
	}
	was := c.phase
	c.phase = phaseStopping
	if was == phaseStarting {
		c.kill(syscall.SIGKILL)
		return
	}
	c.own(chControl, "shutdown_request", map[string]bool{"restart": false})
	wait := askIdle
	if c.current != nil {
		wait = askBusy
	}
	c.fx.after(wait, func() {
		c.kill(syscall.SIGTERM)
		c.fx.after(askTerm, func() { c.kill(syscall.SIGKILL) })
	})
}

func (c *core) kill(sig syscall.Signal) {
	if c.phase == phaseEnded {
		return
	}
	if err := c.fx.signal(sig); err != nil {
		c.log.Warn("cannot signal the kernel", "signal", sig.String(), "error", err)
	}
}

// channelLost takes the end of a kernel channel while the process still lives:
// it is given a moment to end by itself, then it is ended.
func (c *core) channelLost(channel string) {
	if c.phase != phaseStarting && c.phase != phaseReady {
		return
	}
	wait := lostLimit
	if c.leaving {
		wait = leaveLimit
	}
	c.fx.after(wait, func() {
		if c.phase == phaseStarting || c.phase == phaseReady {
			c.log.Warn("kernel closed a channel and lives on", "channel", channel)
			c.lateReason = "the kernel closed its " + channel + " channel and was ended"
			c.kill(syscall.SIGKILL)
		}
	})
}

// exited takes the end of the kernel process, after everything it had published.
func (c *core) exited(exit link.Exit) {
	if c.phase == phaseEnded {
		return
	}
	e := link.Event{Kind: link.EventDied, Exit: &exit}
	if c.phase == phaseStarting {
		e.Kind = link.EventFailed
	} // when it is stopped meanwhile, it died as requested
	exit.Requested = c.phase == phaseStopping
	if c.lateReason != "" {
		exit.Reason, exit.Forced = c.lateReason, true
	}
	if c.current != nil {
		e.ExecutionID = c.current.ID
	}
	c.phase = phaseEnded
	c.current, c.queue, c.asked = nil, nil, nil
	c.emit(e)
	for id, reply := range c.requests {
		delete(c.requests, id)
		refuse(reply, "the kernel ended")
	}
	for _, reply := range c.stops {
		accept(reply)
	}
	c.stops = nil
}

// heartbeat takes an answer of the kernel to a ping, or that none came.
func (c *core) heartbeat(answered bool) {
	if !answered && !c.silent && c.phase == phaseReady {
		c.emit(link.Event{Kind: link.EventUnresponsive})
	}
	c.silent = !answered
}

// lostOutput notes that a message was too large to be taken in.
func (c *core) lostOutput(x tooLarge) {
	c.log.Warn("message of the kernel is over the limit", "channel", x.channel, "bytes", x.err.Bytes, "frames", x.err.Parts)
	if x.channel != chIOPub || c.current == nil {
		return
	}
	text, err := json.Marshal(map[string]string{"name": "stderr",
		"text": fmt.Sprintf("[runt: an output of %d bytes was dropped, it is over the limit of one message]\n", x.err.Bytes)})
	if err != nil {
		return // a map of strings can always be encoded
	}
	c.emit(link.Event{Kind: link.EventMessage, ExecutionID: c.current.ID,
		Message: &link.Message{Type: "stream", ParentID: c.current.ID, Content: text}})
}
