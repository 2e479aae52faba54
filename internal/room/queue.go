package room

import (
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// Statuses of an execution as the runtime state document names them.
const (
	statusQueued    = wire.StatusQueued
	statusRunning   = wire.StatusRunning
	statusDone      = wire.StatusDone
	statusError     = wire.StatusError
	statusCancelled = wire.StatusCancelled
)

// execution is one run of one cell, from being asked for to its end.
type execution struct {
	id      domain.ExecutionID
	cell    domain.CellID
	source  string
	from    Caller
	run     uint64 // number of the request it came with
	mayFail bool
	seq     uint64
	status  string
	count   int64
	sent    bool // the host has it
	inDoc   bool
	failed  bool // an error output was seen
	reason  string
	hint    string
	created time.Time
	started time.Time
	ended   time.Time
	outputs outputs
}

func (e *execution) terminal() bool {
	return e.status == statusDone || e.status == statusError || e.status == statusCancelled
}

// Execution is a copy of an execution for answers and records.
type Execution struct {
	ID        domain.ExecutionID
	Cell      domain.CellID
	Status    string
	Source    string
	Submitter string
	Seq       uint64
	Count     *int64
	Success   *bool
	Outputs   []runtimestate.Output
	Reason    string // why it was ended by something else than its own end
	Hint      string
	Created   time.Time
	Started   time.Time
	Ended     time.Time
}

func (e *execution) view() Execution {
	v := Execution{ID: e.id, Cell: e.cell, Status: e.status, Source: e.source, Submitter: e.from.Actor, Seq: e.seq,
		Outputs: e.outputs.manifests(), Reason: e.reason, Hint: e.hint, Created: e.created, Started: e.started, Ended: e.ended}
	if e.count > 0 {
		n := e.count
		v.Count = &n
	}
	if e.status == statusDone || e.status == statusError {
		ok := e.status == statusDone
		v.Success = &ok
	}
	return v
}

// Execution returns the execution of that id, if the room still has it.
func (c *Core) Execution(id domain.ExecutionID) (Execution, bool) {
	e := c.execs[id]
	if e == nil {
		return Execution{}, false
	}
	return e.view(), true
}

// Restore gives a fresh core the executions of a runtime state document that
// was loaded, and which one each cell points at. Those that were queued go on
// being queued; it must be called before the first event.
func (c *Core) Restore(execs []Execution, latest map[domain.CellID]domain.ExecutionID, queued []domain.ExecutionID) {
	for _, x := range execs {
		c.restoreOne(x)
	}
	for cell, id := range latest {
		c.latest[cell] = id
	}
	for _, id := range queued {
		if e := c.execs[id]; e != nil && e.status == statusQueued {
			c.queue = append(c.queue, id)
		}
	}
}

func (c *Core) restoreOne(x Execution) *execution {
	e := &execution{id: x.ID, cell: x.Cell, source: x.Source, from: Caller{Actor: x.Submitter}, seq: x.Seq,
		status: x.Status, created: x.Created, started: x.Started, ended: x.Ended, inDoc: true}
	if x.Count != nil {
		e.count = *x.Count
	}
	e.outputs.restore(x.Outputs)
	c.execs[x.ID] = e
	c.order = append(c.order, x.ID)
	c.seq = max(c.seq, x.Seq+1)
	for _, o := range e.outputs.list {
		c.indexDisplay(e, o)
	}
	return e
}

// outputsLoaded makes cells show outputs that came with the file.
func (c *Core) outputsLoaded(execs []Execution) {
	var ops []RuntimeOp
	var cells []*execution
	for _, x := range execs {
		x.Seq = c.seq
		e := c.restoreOne(x)
		c.latest[x.Cell] = x.ID
		ops = append(ops, OpExecution{e.doc()})
		cells = append(cells, e)
	}
	c.flush(append(ops, c.trim()...))
	c.point(cells)
}

// AbandonUnfinished ends what a lost kernel was running and had queued, after
// Restore, when no host could be adopted.
func (c *Core) AbandonUnfinished(now time.Time, reason, hint string) []Effect {
	c.now, c.out = now, nil
	for _, id := range c.order {
		if e := c.execs[id]; e.status == statusRunning {
			c.run = id
		}
	}
	c.abortAll(reason, hint)
	out := c.out
	c.out = nil
	return out
}

func (c *Core) execute(ev ExecuteRequested) {
	if !c.kernel.alive() {
		if !ev.From.OurClient {
			c.respond(ev.From, wire.ResultNoKernel, nil)
			return
		}
		c.launch(c.kernel.info.EnvSource)
	}
	c.runs++
	var all []wire.CellQueued
	for _, it := range ev.Items {
		id, isNew, rejected := c.admit(it, ev)
		if rejected != "" {
			c.respond(ev.From, wire.ResultExecutionIDRejected,
				wire.ExecutionIDRejected{ExecutionID: string(it.Execution), Reason: rejected})
			return
		}
		all = append(all, wire.CellQueued{CellID: string(it.Cell), ExecutionID: string(id)})
		if isNew {
			c.submit(id, it, ev.From)
		} else if e := c.execs[id]; ev.From.Direct && e.terminal() {
			c.emit(Answer{ev.From, e.view()})
		}
	}
	if ev.All {
		c.respond(ev.From, wire.ResultAllCellsQueued, wire.AllCellsQueued{Queued: all})
	} else if len(all) == 1 {
		c.respond(ev.From, wire.ResultCellQueued, all[0])
	}
	c.announce()
}

// admit decides which execution an item is: a new one, the one that is already
// queued or running for the cell, or the one the same call made before.
func (c *Core) admit(it Item, ev ExecuteRequested) (id domain.ExecutionID, isNew bool, rejected string) {
	if it.Execution != "" {
		if !domain.IsUUID(string(it.Execution)) {
			return "", false, wire.RejectMalformed
		}
		if c.execs[it.Execution] == nil {
			return it.Execution, true, ""
		}
		if ev.Idempotent {
			return it.Execution, false, ""
		}
		return "", false, wire.RejectExists
	}
	for _, id := range append([]domain.ExecutionID{c.run}, c.queue...) {
		if e := c.execs[id]; e != nil && it.Cell != "" && e.cell == it.Cell {
			return id, false, ""
		}
	}
	return domain.ExecutionID(c.ids.UUID()), true, ""
}

// submit takes a new execution into the queue, or hands it to the host at once
// when nothing is before it.
func (c *Core) submit(id domain.ExecutionID, it Item, from Caller) {
	e := &execution{id: id, cell: it.Cell, source: it.Source, from: from, run: c.runs, mayFail: it.MayFail,
		seq: c.seq, status: statusQueued, created: c.now}
	c.seq++
	c.execs[id] = e
	c.order = append(c.order, id)
	if it.Cell != "" {
		c.latest[it.Cell] = id
	}
	if c.run == "" && len(c.queue) == 0 && c.kernel.lifecycle == Running {
		c.start(e)
		c.emit(SetTimer{TimerDefer, c.cfg.DeferRunning})
		return
	}
	c.queue = append(c.queue, id)
	c.queueDirty = true
}

// start hands an execution to the host.
func (c *Core) start(e *execution) {
	c.run = e.id
	e.sent, e.status, e.started = true, statusRunning, c.now
	c.emit(HostExecute{Execution: e.id, Source: e.source, Input: e.from.OurClient})
}

// announce writes the executions that the document does not have yet, all but
// the one that was just sent: that one waits for its end or for TimerDefer.
func (c *Core) announce() {
	var ops []RuntimeOp
	var cells []*execution
	for _, id := range c.queue {
		if e := c.execs[id]; !e.inDoc {
			ops = append(ops, c.putExecution(e))
			cells = append(cells, e)
		}
	}
	if len(ops) == 0 && !c.queueDirty {
		return
	}
	if run := c.execs[c.run]; run != nil && !run.inDoc {
		ops = append([]RuntimeOp{c.putExecution(run)}, ops...)
		cells = append([]*execution{run}, cells...)
		c.emit(StopTimer{TimerDefer})
	}
	ops = append(ops, c.queueOp())
	ops = append(ops, c.activityOps()...)
	c.flush(ops)
	c.point(cells)
}

func (c *Core) point(cells []*execution) {
	for _, e := range cells {
		if e.cell != "" && c.latest[e.cell] == e.id {
			c.emit(PointCell{e.cell, e.id})
		}
	}
}

func (c *Core) queueOp() RuntimeOp {
	c.queueDirty = false
	q := make([]string, len(c.queue))
	for i, id := range c.queue {
		q[i] = string(id)
	}
	return OpQueue{Executing: string(c.run), Queued: q}
}

func (c *Core) activityOps() []RuntimeOp {
	want := ""
	if c.kernel.lifecycle == Running {
		want = "Idle"
		if c.run != "" {
			want = "Busy"
		}
	}
	if want == c.activityShown {
		return nil
	}
	c.activityShown = want
	return []RuntimeOp{OpActivity{want}}
}

func (c *Core) putExecution(e *execution) RuntimeOp {
	c.materialise(e)
	e.inDoc = true
	e.outputs.written()
	return OpExecution{e.doc()}
}

func (e *execution) doc() runtimestate.Execution {
	v := e.view()
	return runtimestate.Execution{ID: string(v.ID), CellID: string(v.Cell), Status: v.Status, Source: v.Source,
		Submitter: v.Submitter, Count: v.Count, Success: v.Success, Seq: v.Seq, Outputs: v.Outputs}
}

// showRunning writes the running entry of a cell that takes longer than the
// document may stay silent.
func (c *Core) showRunning() {
	e := c.execs[c.run]
	if e == nil || e.inDoc {
		return
	}
	ops := append([]RuntimeOp{c.putExecution(e), c.queueOp()}, c.activityOps()...)
	c.flush(ops)
	c.point([]*execution{e})
}

func (c *Core) executionEnded(ev ExecutionEnded) {
	e := c.execs[ev.Execution]
	if ev.Generation != c.kernel.generation || e == nil || e.terminal() {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	if ev.Count > 0 {
		e.count = ev.Count
	}
	status := statusDone
	if ev.Status != "ok" || e.failed {
		status = statusError
	}
	c.finish(e, status)
}

// finish ends the running execution: the caller is answered, the next cell is
// sent, and only then the documents are written, as one change.
func (c *Core) finish(e *execution, status string) {
	e.status, e.ended = status, c.now
	if c.run == e.id {
		c.run = ""
	}
	c.emit(StopTimer{TimerDefer})
	c.materialise(e)
	c.answer(e)
	c.clearInput()
	c.answerInterrupts(false)
	if status == statusError && !e.mayFail {
		c.cancelQueued(func(q *execution) bool { return stopsWith(q, e) })
	}
	next := c.sendNext()
	var ops []RuntimeOp
	pointed := []*execution{}
	if e.inDoc {
		ops = append(ops, c.outputOps(e)...)
		ops = append(ops, OpFinish{string(e.id), status, status == statusDone})
	} else {
		ops = append(ops, c.putExecution(e))
		ops = append(ops, c.displayOps(e)...)
		pointed = append(pointed, e)
	}
	if next != nil {
		ops = append(ops, OpStatus{string(next.id), statusRunning})
	}
	if next != nil || c.queueDirty || len(pointed) == 0 {
		ops = append(ops, c.queueOp())
	}
	ops = append(ops, c.activityOps()...)
	ops = append(ops, c.trim()...)
	c.flush(ops)
	c.point(pointed)
}

// stopsWith says whether a queued execution stops when failed did: it came with
// the same request, or from the same client of protocol v4, which sends the cells
// of one run as requests of their own.
func stopsWith(queued, failed *execution) bool {
	return queued.run == failed.run || !failed.from.OurClient && queued.from.Actor == failed.from.Actor
}

func (c *Core) answer(e *execution) {
	if e.from.Direct {
		c.emit(Answer{e.from, e.view()})
	}
}

func (c *Core) sendNext() *execution {
	if c.run != "" || len(c.queue) == 0 || c.kernel.lifecycle != Running {
		return nil
	}
	e := c.execs[c.queue[0]]
	c.queue = c.queue[1:]
	c.queueDirty = true
	c.start(e)
	return e
}

// next starts what waits for a kernel that has become ready.
func (c *Core) next() {
	e := c.sendNext()
	if e == nil {
		return
	}
	ops := []RuntimeOp{OpStatus{string(e.id), statusRunning}, c.queueOp()}
	if !e.inDoc {
		ops[0] = c.putExecution(e)
	}
	c.flush(append(ops, c.activityOps()...))
}

// cancelQueued cancels the queued executions that which chooses; they never
// ran. It returns their ids.
func (c *Core) cancelQueued(which func(*execution) bool) (cancelled []string) {
	var ops []RuntimeOp
	kept := c.queue[:0:0]
	for _, id := range c.queue {
		e := c.execs[id]
		if !which(e) {
			kept = append(kept, id)
			continue
		}
		e.status, e.ended = statusCancelled, c.now
		cancelled = append(cancelled, string(id))
		if e.inDoc {
			ops = append(ops, OpStatus{string(id), statusCancelled})
		} else {
			ops = append(ops, c.putExecution(e))
		}
		c.answer(e)
	}
	if len(ops) > 0 {
		c.queue = kept
		c.flush(append(ops, c.queueOp()))
	}
	return cancelled
}

// abortAll ends everything unfinished because the kernel is gone.
func (c *Core) abortAll(reason, hint string) {
	if e := c.execs[c.run]; e != nil {
		e.reason, e.hint = reason, hint
		c.addKernelError(e)
		c.cancelQueued(func(*execution) bool { return true })
		c.finish(e, statusError)
		return
	}
	c.cancelQueued(func(*execution) bool { return true })
}

func (c *Core) cancelOne(ev CancelRequested) {
	cancelled := c.cancelQueued(func(e *execution) bool { return e.id == ev.Execution })
	if len(cancelled) == 0 {
		c.respondError(ev.From, domain.Errorf(domain.CodeInvalidArgument, "Execution %s is not waiting in the queue.", ev.Execution).
			WithHint("Interrupt the kernel to stop a cell that runs."))
		return
	}
	c.respond(ev.From, wire.ResultOK, nil)
}

// cellsRemoved forgets which execution a deleted cell pointed at, so that trim may take it.
func (c *Core) cellsRemoved(cells []domain.CellID) {
	for _, id := range cells {
		delete(c.latest, id)
	}
}

// trim lets go of executions that no cell points at, beyond the configured few.
func (c *Core) trim() []RuntimeOp {
	loose := 0
	for _, id := range c.order {
		if c.loose(c.execs[id]) {
			loose++
		}
	}
	var ops []RuntimeOp
	kept := c.order[:0:0]
	for _, id := range c.order {
		e := c.execs[id]
		if loose <= c.cfg.KeepExecutions || !c.loose(e) {
			kept = append(kept, id)
			continue
		}
		loose--
		c.emit(Archive{e.view()})
		if e.inDoc {
			ops = append(ops, OpDeleteExecution{string(id)})
		}
		c.unindexDisplays(e)
		delete(c.execs, id)
	}
	c.order = kept
	return ops
}

func (c *Core) loose(e *execution) bool {
	return e.terminal() && (e.cell == "" || c.latest[e.cell] != e.id)
}

func without(ids []domain.ExecutionID, id domain.ExecutionID) []domain.ExecutionID {
	kept := ids[:0:0]
	for _, x := range ids {
		if x != id {
			kept = append(kept, x)
		}
	}
	return kept
}
