package host

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/link"
	"runt/internal/trace"
)

// execution is one that was asked for and is not over.
type execution struct {
	link.Execute
	started   bool // the kernel runs its code
	startedAt time.Time
	reply     *executeReply // nil until it came
	repliedAt time.Time
	idle      bool
	doubted   bool      // iopub was quiet for so long that idle is taken for lost
	told      bool      // an error message of it was published
	aborts    int       // how often the kernel refused it by mistake
	heard     time.Time // when something of it last came on iopub
	interrupt interruption
}

type executeReply struct {
	Status  string          `json:"status"`
	Count   *int64          `json:"execution_count"`
	Payload json.RawMessage `json:"payload"`
	errorReport
}

// errorReport is the part of a reply that an error message has too.
type errorReport struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// execute records an execution and sends it as soon as the kernel is free.
func (c *core) execute(x *link.Execute, reply answer) {
	if x == nil || x.ID == "" {
		refuse(reply, "an execution needs an id")
		return
	}
	if c.known[x.ID] {
		accept(reply)
		return
	}
	if !c.alive(reply) {
		return
	}
	trace.Mark("host.command", x.ID)
	c.remember(x.ID)
	c.emit(link.Event{Kind: link.EventAccepted, ExecutionID: x.ID, Execute: x})
	c.queue = append(c.queue, &execution{Execute: *x})
	c.next()
	accept(reply)
}

// remember notes an id, and forgets the oldest when there are too many.
func (c *core) remember(id string) {
	c.known[id] = true
	c.order = append(c.order, id)
	if len(c.order) > maxKnown {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}

// next gives the kernel the first execution that waits, if the kernel is free.
func (c *core) next() {
	if c.phase != phaseReady || c.current != nil || len(c.queue) == 0 || c.leaving {
		return
	}
	c.current, c.queue = c.queue[0], c.queue[1:]
	c.sendExecute(c.current)
}

func (c *core) sendExecute(x *execution) {
	c.fx.send(chShell, c.message(x.ID, "execute_request", map[string]any{
		"code": x.Code, "silent": x.Silent, "store_history": x.StoreHistory && !x.Silent, "user_expressions": struct{}{},
		"allow_stdin": x.AllowStdin,
		// Nothing else is ever queued in the kernel, and a kernel that aborts after
		// an error may abort what is sent a moment later too.
		"stop_on_error": false,
	}))
}

// cancel ends an execution that the kernel does not have yet.
func (c *core) cancel(id string, reply answer) {
	i := slices.IndexFunc(c.queue, func(x *execution) bool { return x.ID == id })
	if i < 0 {
		refuse(reply, "that execution is not waiting")
		return
	}
	x := c.queue[i]
	c.queue = slices.Delete(c.queue, i, i+1)
	c.finish(x, link.Done{Status: link.StatusAborted, Reason: "cancelled before it started"})
	accept(reply)
}

// finish reports the end of an execution that is no longer in the queue.
func (c *core) finish(x *execution, d link.Done) {
	if !c.busy() {
		c.idleFrom = c.fx.now()
	}
	c.emit(link.Event{Kind: link.EventDone, ExecutionID: x.ID, Done: &d})
}

// executeReply takes the answer to the current execution.
func (c *core) executeReply(m jmsg.Message) {
	x := c.current
	var r executeReply
	if err := json.Unmarshal(m.Content, &r); err != nil {
		r = executeReply{Status: link.StatusError}
	}
	aborted := r.Status == link.StatusAborted || r.Status == "abort"
	if aborted && !x.started && !x.interrupt.wanted && x.aborts < maxAborts {
		x.aborts++
		c.fx.after(abortRetry, func() {
			if c.current == x && x.reply == nil {
				x.idle = false
				c.sendExecute(x)
			}
		})
		return
	}
	if aborted {
		r.Status = link.StatusAborted
	} else if r.Status != link.StatusOK {
		r.Status = link.StatusError
	}
	if string(r.Payload) == "[]" || string(r.Payload) == "null" {
		r.Payload = nil
	}
	x.reply, x.repliedAt = &r, c.fx.now()
	x.heard = x.repliedAt
	if !c.checkDone() {
		c.awaitIdle(x, idleQuiet)
	}
}

// awaitIdle ends the execution without its idle once iopub was quiet for long
// enough. A large message takes its time to be read, and one that was read may
// still be behind this timer in the mailbox, so a quiet iopub is looked at twice.
func (c *core) awaitIdle(x *execution, d time.Duration) {
	c.fx.after(d, func() {
		if c.current != x {
			return
		}
		now := c.fx.now()
		if c.fx.hearing() {
			x.heard = now
		}
		quiet := now.Sub(x.heard)
		switch {
		case quiet < idleQuiet && now.Sub(x.repliedAt) < idleLimit:
			x.doubted = false
			c.awaitIdle(x, idleQuiet-quiet)
		case !x.doubted:
			x.doubted = true
			c.awaitIdle(x, idleCheck)
		default:
			c.log.Warn("kernel did not say that it is idle", "execution", x.ID)
			c.endCurrent("the kernel did not report idle")
		}
	})
}

// checkDone ends the current execution if both its reply and its idle are there.
func (c *core) checkDone() bool {
	if x := c.current; x == nil || x.reply == nil || !x.idle {
		return false
	}
	c.endCurrent("")
	return true
}

func (c *core) endCurrent(reason string) {
	x := c.current
	trace.Mark("host.done", x.ID)
	c.current, c.asked = nil, nil
	r := x.reply
	if r.Status == link.StatusError && !x.told && !x.Silent {
		c.tellError(x)
	}
	c.finish(x, link.Done{Status: r.Status, Count: r.Count, Payload: r.Payload, Reason: reason})
	if asksToExit(r.Payload) {
		c.leaving = true
		c.fx.after(exitLimit, func() {
			c.leaving = false
			c.next()
		})
	}
	if r.Status == link.StatusError && x.StopOnError {
		behind := c.queue
		c.queue = nil
		for _, y := range behind {
			c.finish(y, link.Done{Status: link.StatusAborted, Reason: "an earlier execution failed"})
		}
	}
	c.next()
}

// asksToExit says whether a payload announces that the kernel is about to end:
// code called exit(). What it would be sent now would be lost.
func asksToExit(payload json.RawMessage) bool {
	type entry struct {
		Source     string `json:"source"`
		KeepKernel bool   `json:"keepkernel"`
	}
	var list []entry
	if len(payload) == 0 || json.Unmarshal(payload, &list) != nil {
		return false
	}
	return slices.ContainsFunc(list, func(e entry) bool { return e.Source == "ask_exit" && !e.KeepKernel })
}

// tellError publishes the error of an execution in the name of a kernel that did
// not: some only put it into the reply, and ipykernel says nothing of an
// interrupt that hits it before the code proper.
func (c *core) tellError(x *execution) {
	f := x.reply.errorReport
	if f.Name == "" && x.interrupt.attempt > 0 {
		f.Name = "KeyboardInterrupt"
	}
	if f.Name == "" {
		return
	}
	if f.Traceback == nil {
		f.Traceback = []string{strings.TrimSuffix(f.Name+": "+f.Value, ": ")}
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return // strings can always be encoded
	}
	c.emit(link.Event{Kind: link.EventMessage, ExecutionID: x.ID, Message: &link.Message{Type: "error", ParentID: x.ID, Content: raw}})
}

// iopubMessage takes what the kernel publishes.
func (c *core) iopubMessage(m jmsg.Message) {
	if !c.live {
		c.live = true
		c.checkReady()
	}
	if c.probes[m.Parent.ID] || m.Header.Type == "iopub_welcome" {
		return
	}
	id := ""
	if c.known[m.Parent.ID] {
		id = m.Parent.ID
	}
	x := c.current
	if x != nil && x.ID != id {
		x = nil
	}
	if x != nil {
		x.heard = c.fx.now()
	}
	if m.Header.Type == "stream" {
		c.stream(m, id)
		return
	}
	c.emit(link.Event{Kind: link.EventMessage, ExecutionID: id, Message: toLink(m)})
	if x == nil {
		return
	}
	switch m.Header.Type {
	case "execute_input":
		c.startedNow(x)
	case "error":
		x.told = true
	case "status":
		c.statusOf(x, m.Content)
	}
}

// statusOf takes a busy or idle of the current execution.
func (c *core) statusOf(x *execution, content json.RawMessage) {
	var s struct {
		State string `json:"execution_state"`
	}
	if json.Unmarshal(content, &s) != nil {
		return
	}
	switch s.State {
	case "busy":
		c.fx.after(startedGuess, func() {
			if c.current == x {
				c.startedNow(x)
			}
		})
	case "idle":
		x.idle = true
		if !c.checkDone() {
			c.awaitReply(x)
		}
	}
}

// awaitReply ends an execution whose reply does not come though the kernel went
// idle: ipykernel drops it when an interrupt hits it just before or after the code.
func (c *core) awaitReply(x *execution) {
	wait := idleQuiet
	if x.interrupt.attempt > 0 {
		wait = interruptedQuiet
	}
	aborts := x.aborts
	c.fx.after(wait, func() {
		if c.current != x || x.reply != nil || x.aborts != aborts || !x.idle {
			return
		}
		c.log.Warn("kernel went idle without a reply", "execution", x.ID, "interrupts", x.interrupt.attempt)
		reason := "the kernel went idle without a reply"
		if x.interrupt.attempt > 0 {
			reason = "interrupted at its very beginning or end"
		}
		x.reply = &executeReply{Status: link.StatusError}
		c.endCurrent(reason)
	})
}
