package host

import (
	"slices"
	"syscall"
	"time"

	"runt/internal/kernel/link"
)

// interruption is what is known of the wish to interrupt an execution.
type interruption struct {
	wanted  bool
	attempt int
}

// wakeAfter is how long after a signal the kernel's event loop is woken.
const wakeAfter = 50 * time.Millisecond

// settle is how long code runs before it is interrupted.
const settle = 20 * time.Millisecond

// interruptPauses are the waits between attempts: the first are lost now and
// then, and code may catch one.
var interruptPauses = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}

// interrupt ends an execution: one that waits is aborted, one that the kernel
// has is interrupted, now or as soon as it runs. Without an id it means the current one.
func (c *core) interrupt(id string, reply answer) {
	if !c.alive(reply) {
		return
	}
	if i := slices.IndexFunc(c.queue, func(x *execution) bool { return x.ID == id }); i >= 0 {
		x := c.queue[i]
		c.queue = slices.Delete(c.queue, i, i+1)
		c.finish(x, link.Done{Status: link.StatusAborted, Reason: "interrupted before it started"})
		accept(reply)
		return
	}
	x := c.current
	if x == nil || id != "" && x.ID != id {
		accept(reply) // it is over already
		return
	}
	accept(reply)
	if x.interrupt.wanted {
		c.deliver(x) // asked again: at once, beside the repetitions
		return
	}
	x.interrupt.wanted = true
	if x.started {
		c.firstAttempt(x)
	}
}

// firstAttempt interrupts an execution that has begun, but not before the kernel had time to get
// from announcing the code to running it: what hits it in between cuts off its answer.
func (c *core) firstAttempt(x *execution) {
	if age := c.fx.now().Sub(x.startedAt); age < settle {
		c.fx.after(settle-age, func() { c.attempt(x) })
		return
	}
	c.attempt(x)
}

// startedNow notes that the kernel runs the code, and delivers an interrupt that came before.
func (c *core) startedNow(x *execution) {
	if x.started {
		return
	}
	x.started, x.startedAt = true, c.fx.now()
	if x.interrupt.wanted {
		c.firstAttempt(x)
	}
}

// attempt interrupts and comes back until the execution is over or the attempts are used up.
func (c *core) attempt(x *execution) {
	if c.current != x || c.phase != phaseReady {
		return
	}
	n := x.interrupt.attempt
	if n > len(interruptPauses) {
		c.emit(link.Event{Kind: link.EventInterrupt, ExecutionID: x.ID, Interrupt: &link.Interrupt{Attempt: n, GaveUp: true}})
		return
	}
	c.deliver(x)
	pause := interruptPauses[min(n, len(interruptPauses)-1)]
	c.fx.after(pause, func() { c.attempt(x) })
}

// wakeLoop sends an ipykernel something to read. A signal that comes while a cell
// awaits only marks the cell as cancelled; its event loop does not look before it has another reason to.
func (c *core) wakeLoop(x *execution) {
	if c.current == x && x.reply == nil {
		c.own(chShell, "kernel_info_request", struct{}{})
	}
}

// deliver sends one interrupt and reports it.
func (c *core) deliver(x *execution) {
	if !x.started || x.reply != nil {
		return
	}
	x.interrupt.attempt++
	r := link.Interrupt{Attempt: x.interrupt.attempt}
	if c.byMsg {
		c.own(chControl, "interrupt_request", struct{}{})
	} else if err := c.fx.signal(syscall.SIGINT); err != nil {
		r.Error = err.Error()
	} else if c.ipython {
		c.fx.after(wakeAfter, func() { c.wakeLoop(x) })
	}
	c.emit(link.Event{Kind: link.EventInterrupt, ExecutionID: x.ID, Interrupt: &r})
}
