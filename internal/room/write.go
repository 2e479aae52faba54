package room

import (
	"encoding/json"

	"runt/internal/domain"
	"runt/internal/runtimestate"
)

// pendingChange is how the runtime state document differs from the core: what
// the next change has to write, and what the document has for comparison.
type pendingChange struct {
	due     bool // there is something that does not wait for the flush timer
	touched []*execution
	removed []Execution // to be taken out
	queue   bool
	leaves  bool // the host is given up
	input   bool
	request map[string]any // what the kernel asks for, nil when nothing
	text    string         // progress of the launch

	kernel    runtimestate.Kernel // in the document
	executing domain.ExecutionID  // in the document
	progress  string              // in the document
}

// touch notes that the document has an execution not as it is.
func (c *Core) touch(e *execution) {
	if !e.touched {
		e.touched = true
		c.pending.touched = append(c.pending.touched, e)
	}
}

// write brings the document up to the state of the core, as one change, when
// something is due. Outputs ride along. An execution that is hidden stays out, and
// while there is one the host keeps its events: they are not in the document.
func (c *Core) write() {
	p := &c.pending
	if !p.due || c.closing > closingHost {
		return
	}
	p.due = false
	ops, notes, points, saved := c.executionOps()
	ops = append(ops, c.stateOps()...)
	for _, x := range p.removed {
		ops = append(ops, OpDeleteExecution{string(x.ID)})
	}
	if len(ops) > 0 || p.leaves {
		change := EditRuntime{Ops: ops, Notes: notes, State: c.resumeState(), Leaves: p.leaves, Archived: p.removed}
		p.leaves, p.removed = false, nil
		if run := c.execs[c.run]; run == nil || !run.hidden {
			change.Seq = c.hostSeq
		}
		c.emit(change)
	}
	c.emit(points...)
	if saved && !c.saves.starting {
		c.documentChanged()
	}
}

// executionOps returns the steps for the executions that were touched, the notes
// of those that are new, and the cells to point at them. saved says whether the file
// is behind after it.
func (c *Core) executionOps() (ops []RuntimeOp, notes []Note, points []Effect, saved bool) {
	var hidden []*execution
	for _, e := range c.pending.touched {
		if c.execs[e.id] != e {
			e.touched = false
			continue
		}
		if e.hidden {
			hidden = append(hidden, e)
			continue
		}
		e.touched = false
		isNew := !e.inDoc
		steps := c.oneExecution(e)
		if isNew && !e.terminal() {
			notes = append(notes, Note{Execution: e.id, Text: e.note()})
		}
		if e.cell != "" && c.latest[e.cell] == e.id {
			saved = saved || len(steps) > 0 && e.status != statusQueued && !e.fromFile
			if !e.pointed {
				e.pointed = true
				points = append(points, PointCell{e.cell, e.id})
			}
		}
		ops = append(ops, steps...)
	}
	c.pending.touched = hidden
	return ops, notes, points, saved
}

// oneExecution returns the steps that write an execution: whole, or what is new of it.
func (c *Core) oneExecution(e *execution) []RuntimeOp {
	if !e.inDoc {
		c.materialise(e)
		e.inDoc, e.docStatus = true, e.status
		e.outputs.written()
		return []RuntimeOp{OpExecution{e.doc()}}
	}
	ops := c.outputOps(e)
	if e.status != e.docStatus {
		e.docStatus = e.status
		switch e.status {
		case statusDone, statusError:
			ops = append(ops, OpFinish{string(e.id), e.status, e.status == statusDone})
		default:
			ops = append(ops, OpStatus{string(e.id), e.status})
		}
	}
	return ops
}

func (e *execution) doc() runtimestate.Execution {
	v := e.view()
	return runtimestate.Execution{ID: string(v.ID), CellID: string(v.Cell), Status: v.Status, Source: v.Source,
		Submitter: v.Submitter, Count: v.Count, Success: v.Success, Seq: v.Seq, Outputs: v.Outputs}
}

// visibleRun is what the document shows as running.
func (c *Core) visibleRun() domain.ExecutionID {
	if e := c.execs[c.run]; e == nil || e.hidden {
		return ""
	}
	return c.run
}

// stateOps returns the steps for queue, kernel, input and progress.
func (c *Core) stateOps() []RuntimeOp {
	p := &c.pending
	var ops []RuntimeOp
	if run := c.visibleRun(); p.queue || run != p.executing {
		p.queue, p.executing = false, run
		q := make([]string, len(c.queue))
		for i, id := range c.queue {
			q[i] = string(id)
		}
		ops = append(ops, OpQueue{Executing: string(run), Queued: q})
	}
	want := c.kernelDoc()
	if want != p.kernel {
		had := p.kernel
		p.kernel = want
		if had.Activity = want.Activity; had == want {
			ops = append(ops, OpActivity{want.Activity})
		} else {
			ops = append(ops, OpKernel{want})
		}
	}
	if p.input {
		p.input = false
		ops = append(ops, OpInput{p.request})
	}
	if p.text != p.progress {
		p.progress = p.text
		ops = append(ops, OpProgress{p.text})
	}
	return ops
}

// resumeState is what the documents do not say of the running execution and the
// next daemon has to know: it goes on in the middle of its output.
type resumeState struct {
	Execution domain.ExecutionID `json:"execution"`
	Clear     bool               `json:"clear,omitempty"`  // clear_output(wait=True) waits for the next output
	Cursor    string             `json:"cursor,omitempty"` // what moves the cursor of the last stream to where it was
}

// resumeState returns the state in JSON, nil when there is nothing to say.
func (c *Core) resumeState() []byte {
	e := c.execs[c.visibleRun()]
	if e == nil {
		return nil
	}
	s := resumeState{Execution: e.id, Clear: e.outputs.clearNext}
	if o := e.outputs.last(); o != nil && o.screen != nil {
		s.Cursor = o.screen.Cursor()
	}
	if !s.Clear && s.Cursor == "" {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil // plain fields always encode
	}
	return b
}
