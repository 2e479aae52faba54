package room

import (
	"runt/internal/domain"
	"runt/internal/wire"
)

// archivedKept is how many executions that left the document are remembered, so
// that a call that is sent again finds its own.
const archivedKept = 256

// execute takes the cells of a request into the queue. Either all are taken or none.
func (c *Core) execute(ev ExecuteRequested) {
	chosen := make([]domain.ExecutionID, len(ev.Items))
	inRequest := map[domain.CellID]domain.ExecutionID{}
	isNew := map[domain.ExecutionID]bool{}
	for i, it := range ev.Items {
		id, fresh, rejected := c.admit(it, ev, inRequest)
		if rejected != "" || fresh && isNew[id] {
			if rejected == "" {
				rejected = wire.RejectExists
			}
			c.after(Respond{To: ev.From, Result: wire.ResultExecutionIDRejected,
				Body: wire.ExecutionIDRejected{ExecutionID: string(it.Execution), Reason: rejected}})
			return
		}
		if chosen[i] = id; fresh {
			isNew[id] = true
		}
		if it.Cell != "" {
			inRequest[it.Cell] = id
		}
	}
	if !c.kernel.alive() && len(isNew) > 0 {
		if !ev.From.OurClient {
			c.respond(ev.From, wire.ResultNoKernel, nil)
			return
		}
		c.launch(c.kernel.info.EnvSource)
	}
	c.runs++
	taken := map[domain.ExecutionID]bool{}
	for i, it := range ev.Items {
		id := chosen[i]
		switch {
		case taken[id]:
		case isNew[id]:
			c.submit(id, it, ev.From)
		default:
			c.join(id, ev.From)
		}
		taken[id] = true
	}
	c.answerQueued(ev, chosen)
}

// answerQueued tells the caller the ids of what it asked for: at once for what the
// host is about to say that it has, else when the queue is on disk.
func (c *Core) answerQueued(ev ExecuteRequested, chosen []domain.ExecutionID) {
	all := make([]wire.CellQueued, len(chosen))
	for i, id := range chosen {
		all[i] = wire.CellQueued{CellID: string(ev.Items[i].Cell), ExecutionID: string(id)}
	}
	answer := Respond{To: ev.From, Result: wire.ResultAllCellsQueued, Body: wire.AllCellsQueued{Queued: all}, Durable: true}
	if !ev.All {
		if len(all) != 1 {
			return
		}
		answer.Result, answer.Body = wire.ResultCellQueued, all[0]
	}
	for _, id := range chosen {
		if e := c.execs[id]; e != nil && e.hidden && !e.accepted {
			answer.Durable = len(chosen) > 1
			e.held = append(e.held, answer)
			return
		}
	}
	c.after(answer)
}

// admit decides which execution an item is: a new one, the one that is already
// queued or running for the cell, or the one the same call made before.
func (c *Core) admit(it Item, ev ExecuteRequested, inRequest map[domain.CellID]domain.ExecutionID) (id domain.ExecutionID, isNew bool, rejected string) {
	if it.Execution != "" {
		switch {
		case !domain.IsUUID(string(it.Execution)):
			return "", false, wire.RejectMalformed
		case c.execs[it.Execution] == nil && !c.isArchived(it.Execution):
			return it.Execution, true, ""
		case ev.Idempotent:
			return it.Execution, false, ""
		}
		return "", false, wire.RejectExists
	}
	if it.Cell != "" {
		if id, ok := inRequest[it.Cell]; ok {
			return id, false, ""
		}
		for _, id := range append([]domain.ExecutionID{c.run}, c.queue...) {
			if e := c.execs[id]; e != nil && e.cell == it.Cell {
				return id, false, ""
			}
		}
	}
	return domain.ExecutionID(c.ids.UUID()), true, ""
}

func (c *Core) isArchived(id domain.ExecutionID) bool {
	for _, x := range c.archived {
		if x == id {
			return true
		}
	}
	return false
}

// join adds a caller to an execution that is there already.
func (c *Core) join(id domain.ExecutionID, from Caller) {
	if !from.Direct {
		return
	}
	switch e := c.execs[id]; {
	case e == nil:
		c.after(AnswerArchived{To: from, Execution: id})
	case e.terminal():
		c.materialise(e)
		c.after(Answer{from, e.view()})
	default:
		e.direct = append(e.direct, from)
	}
}

// submit takes a new execution into the queue, or hands it to the host at once
// when nothing is before it. That one stays out of the document for a moment: it
// may be over by then.
func (c *Core) submit(id domain.ExecutionID, it Item, from Caller) {
	e := &execution{id: id, cell: it.Cell, source: it.Source, from: from, run: c.runs, mayFail: it.MayFail,
		seq: c.seq, status: statusQueued, created: c.now}
	if from.Direct {
		e.direct = append(e.direct, from)
	}
	if c.kernel.lost != "" {
		e.reason = c.kernel.lost + " This is a new kernel: the variables of the one before are lost."
		c.kernel.lost = ""
	}
	c.seq++
	c.execs[id] = e
	c.order = append(c.order, id)
	if it.Cell != "" {
		c.latest[it.Cell] = id
	}
	c.touch(e)
	if c.run == "" && len(c.queue) == 0 && c.kernel.lifecycle == Running && !c.kernel.behind {
		e.hidden = true
		c.start(e)
		c.emit(SetTimer{TimerDefer, c.cfg.DeferRunning})
		return
	}
	c.queue = append(c.queue, id)
	c.pending.queue, c.pending.due = true, true
	c.reveal()
}

// start hands an execution to the host.
func (c *Core) start(e *execution) {
	c.run = e.id
	e.status, e.started = statusRunning, c.now
	c.touch(e)
	c.send(e)
}

func (c *Core) send(e *execution) {
	c.emit(HostExecute{Execution: e.id, Source: e.source, Input: e.from.OurClient, Note: e.note()})
}

// reveal lets the document have the running execution.
func (c *Core) reveal() {
	e := c.execs[c.run]
	if e == nil || !e.hidden {
		return
	}
	e.hidden = false
	c.touch(e)
	c.pending.due = true
	c.emit(StopTimer{TimerDefer})
}

// accepted notes that the host has recorded an execution. One that the room does
// not know was sent by an earlier daemon that had no time to write it down.
func (c *Core) accepted(ev KernelAccepted) {
	if ev.Generation != c.kernel.generation {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	e := c.execs[ev.Execution]
	if e == nil {
		e = c.recreate(ev)
	}
	e.accepted = true
	c.emitHeld(e)
	if e.status == statusQueued {
		c.unqueue(e.id)
		e.status, e.started = statusRunning, c.now
		c.touch(e)
		c.pending.due = true
	}
	if c.run == "" && !e.terminal() {
		c.run = e.id
	}
}

func (c *Core) recreate(ev KernelAccepted) *execution {
	e := &execution{id: ev.Execution, source: ev.Source, status: statusQueued, seq: c.seq, created: c.now}
	var n noteText
	if decodeNote(ev.Note, &n) {
		e.cell, e.from = n.Cell, Caller{Actor: n.Actor, RequestID: n.Request}
		c.seq = max(c.seq, n.Seq)
		e.seq = c.seq
		c.takeNote(e, ev.Note)
	}
	c.seq++
	c.execs[e.id] = e
	c.order = append(c.order, e.id)
	if e.cell != "" {
		c.latest[e.cell] = e.id
	}
	c.touch(e)
	return e
}

// emitHeld sends the answers that waited for the host.
func (c *Core) emitHeld(e *execution) {
	for _, r := range e.held {
		c.after(r)
	}
	e.held = nil
}

func (c *Core) executionEnded(ev ExecutionEnded) {
	if ev.Generation != c.kernel.generation {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	e := c.execs[ev.Execution]
	if e == nil || e.terminal() {
		return
	}
	if ev.Count > 0 && ev.Count != e.count {
		e.count, e.outputs.countDirty = ev.Count, true
	}
	status := statusDone
	if ev.Status != "ok" || e.failed {
		status = statusError
	}
	if e.reason == "" && status == statusError {
		e.reason = ev.Reason
	}
	c.finish(e, status)
}

// finish ends an execution: the caller is answered, the next cell is sent, and
// only then the documents are written.
func (c *Core) finish(e *execution, status string) {
	e.status, e.ended = status, c.now
	if c.run == e.id {
		c.run = ""
		c.clearInput()
	} else {
		c.unqueue(e.id)
	}
	if e.hidden {
		e.hidden = false
		c.emit(StopTimer{TimerDefer})
	}
	c.touch(e)
	c.pending.due = true
	c.answer(e)
	c.answerInterrupts(e.id)
	if status == statusError && !e.mayFail {
		c.cancelQueued("A cell before it in the same run failed.", "Run the cell again.", func(q *execution) bool { return stopsWith(q, e) })
	}
	c.sendNext()
	c.trim()
}

// stopsWith says whether a queued execution stops when failed did: it came with
// the same request, or from the same client of protocol v4, which sends the cells
// of one run as requests of their own.
func stopsWith(queued, failed *execution) bool {
	return queued.run == failed.run || !failed.from.OurClient && queued.from.Actor == failed.from.Actor
}

// answer tells everybody who wanted to know the end of an execution directly.
func (c *Core) answer(e *execution) {
	for _, r := range e.held { // the host never had it
		r.Durable = true
		c.after(r)
	}
	e.held = nil
	if len(e.direct) == 0 {
		return
	}
	c.materialise(e)
	for _, to := range e.direct {
		c.emit(Answer{to, e.view()})
	}
	e.direct = nil
}

func (c *Core) sendNext() {
	if c.run != "" || len(c.queue) == 0 || c.kernel.lifecycle != Running || c.kernel.behind {
		return
	}
	e := c.execs[c.queue[0]]
	c.queue = c.queue[1:]
	c.pending.queue, c.pending.due = true, true
	c.start(e)
}

func (c *Core) unqueue(id domain.ExecutionID) {
	kept := c.queue[:0:0]
	for _, x := range c.queue {
		if x != id {
			kept = append(kept, x)
		}
	}
	if len(kept) != len(c.queue) {
		c.queue = kept
		c.pending.queue, c.pending.due = true, true
	}
}

// cancelQueued cancels the queued executions that which chooses; they never
// ran. It returns their ids.
func (c *Core) cancelQueued(reason, hint string, which func(*execution) bool) (cancelled []string) {
	kept := c.queue[:0:0]
	var gone []*execution
	for _, id := range c.queue {
		if e := c.execs[id]; which(e) {
			gone = append(gone, e)
		} else {
			kept = append(kept, id)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	c.queue = kept
	c.pending.queue, c.pending.due = true, true
	for _, e := range gone {
		e.status, e.ended, e.reason, e.hint = statusCancelled, c.now, reason, hint
		cancelled = append(cancelled, string(e.id))
		c.touch(e)
		c.answer(e)
	}
	return cancelled
}

func all(*execution) bool { return true }

// abortAll ends everything unfinished because the kernel is gone.
func (c *Core) abortAll(reason, hint string) {
	c.cancelQueued(reason, hint, all)
	if e := c.execs[c.run]; e != nil {
		c.endByForce(e, reason, hint)
	}
}

// endByForce ends an execution that its kernel will not end.
func (c *Core) endByForce(e *execution, reason, hint string) {
	e.reason, e.hint = reason, hint
	c.addKernelError(e)
	c.finish(e, statusError)
}

func (c *Core) cancelOne(ev CancelRequested) {
	if running := c.execs[c.run]; running != nil && running.id == ev.Execution && c.kernel.alive() {
		c.emit(HostInterrupt{Execution: running.id})
		c.respondDurably(ev.From, wire.ResultOK, nil)
		return
	}
	cancelled := c.cancelQueued("It was cancelled before it ran.", "", func(e *execution) bool { return e.id == ev.Execution })
	if len(cancelled) == 0 {
		c.respondError(ev.From, domain.Errorf(domain.CodeInvalidArgument, "Execution %s neither waits nor runs.", ev.Execution).
			WithHint("Call get_results to see how it ended."))
		return
	}
	c.respondDurably(ev.From, wire.ResultOK, nil)
	c.trim()
}

// cellsRemoved forgets which execution a deleted cell pointed at, so that trim may take it.
func (c *Core) cellsRemoved(cells []domain.CellID) {
	for _, id := range cells {
		delete(c.latest, id)
	}
}

// cellsAdded points cells that have come back at their executions: a client
// brings again what was not yet on disk when an earlier daemon died.
func (c *Core) cellsAdded(cells []domain.CellID) {
	for _, id := range cells {
		if e := c.execs[c.latest[id]]; e != nil && e.inDoc {
			c.emit(PointCell{id, e.id})
		}
	}
}

// trim lets go of executions that no cell points at, beyond the configured few.
func (c *Core) trim() {
	loose := 0
	for _, id := range c.order {
		if c.loose(c.execs[id]) {
			loose++
		}
	}
	if loose <= c.cfg.KeepExecutions {
		return
	}
	kept := c.order[:0:0]
	for _, id := range c.order {
		e := c.execs[id]
		if loose <= c.cfg.KeepExecutions || !c.loose(e) {
			kept = append(kept, id)
			continue
		}
		loose--
		c.letGo(e)
	}
	c.order = kept
}

// letGo takes an execution out of the document and remembers it elsewhere.
func (c *Core) letGo(e *execution) {
	c.materialise(e)
	c.pending.removed = append(c.pending.removed, e.view())
	c.pending.due = true
	c.unindexDisplays(e)
	delete(c.execs, e.id)
	if c.archived = append(c.archived, e.id); len(c.archived) > archivedKept {
		c.archived = c.archived[1:]
	}
}

// archive keeps the record of an execution that somebody asked for.
func (c *Core) archive(e *execution) {
	if e.asked() {
		c.emit(Archive{e.view()})
	}
}

// asked says whether somebody ran it, and it does not only stand for what a file had.
func (e *execution) asked() bool { return e.from.Actor != "" || e.cell == "" }

func (c *Core) loose(e *execution) bool {
	return e.terminal() && (e.cell == "" || c.latest[e.cell] != e.id)
}
