package room

import (
	"encoding/json"
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
	direct  []Caller  // who wants its end in a frame of their own
	held    []Respond // answers that wait until the host has it
	run     uint64    // number of the request it came with
	mayFail bool
	seq     uint64
	status  string
	count   int64
	failed  bool // an error output was seen
	reason  string
	hint    string
	created time.Time
	started time.Time
	ended   time.Time
	outputs outputs

	accepted  bool   // the host has said that it has it
	hidden    bool   // kept out of the document for the moment
	inDoc     bool   // the document has it
	docStatus string // there
	touched   bool   // in pendingChange.touched
	pointed   bool   // its cell was pointed at it
	fromFile  bool   // it stands for outputs that came with the file
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

// Executions returns every execution the room has, in their order.
func (c *Core) Executions() []Execution {
	out := make([]Execution, len(c.order))
	for i, id := range c.order {
		out[i] = c.execs[id].view()
	}
	return out
}

// Archived returns the ids of the last few executions that left the document.
func (c *Core) Archived() []domain.ExecutionID { return c.archived }

// Note is what the documents do not say of an execution that is not over. The
// host keeps it with the execution, the journal with its first change.
type Note struct {
	Execution domain.ExecutionID
	Text      string
}

// noteText is the text of a Note. Its names are in files of earlier versions.
type noteText struct {
	Cell    domain.CellID `json:"cell,omitempty"`
	Actor   string        `json:"actor,omitempty"`
	Request string        `json:"request,omitempty"`
	Run     uint64        `json:"run"`
	Seq     uint64        `json:"seq"`
	MayFail bool          `json:"may_fail,omitempty"`
	Input   bool          `json:"input,omitempty"`
}

func (e *execution) note() string {
	b, err := json.Marshal(noteText{Cell: e.cell, Actor: e.from.Actor, Request: e.from.RequestID, Run: e.run, Seq: e.seq,
		MayFail: e.mayFail, Input: e.from.OurClient})
	if err != nil {
		return "" // plain fields always encode
	}
	return string(b)
}

// takeNote sets what a note says of an execution.
func (c *Core) takeNote(e *execution, text string) {
	var n noteText
	if !decodeNote(text, &n) {
		return // of a version that wrote something else
	}
	e.run, e.mayFail, e.from.OurClient = n.Run, n.MayFail, n.Input
	c.runs = max(c.runs, n.Run)
}

func decodeNote(text string, n *noteText) bool { return json.Unmarshal([]byte(text), n) == nil }

// Notes returns the notes of the executions in the document that are not over.
func (c *Core) Notes() []Note {
	var out []Note
	for _, id := range c.order {
		if e := c.execs[id]; e.inDoc && !e.terminal() {
			out = append(out, Note{Execution: id, Text: e.note()})
		}
	}
	return out
}

// Restored is what was kept of a room.
type Restored struct {
	Executions []Execution // of the runtime state document, in their order
	Latest     map[domain.CellID]domain.ExecutionID
	Running    domain.ExecutionID
	Queued     []domain.ExecutionID
	Kernel     runtimestate.Kernel
	Input      map[string]any                                  // the input request in the document, nil when there is none
	Notes      map[domain.ExecutionID]string                   // see Note
	State      []byte                                          // of the last EditRuntime
	Archived   []domain.ExecutionID                            // the last few that left the document
	Text       func(ref map[string]any) (text string, ok bool) // reads the text of a stream
}

// Restore gives a fresh core what was kept of the room. It must be called before
// the first event. Executions that are not over wait for HostAdopted or HostLost.
func (c *Core) Restore(r Restored) {
	for _, x := range r.Executions {
		e := c.restoreOne(x)
		if e.terminal() {
			continue
		}
		if text, ok := r.Notes[e.id]; ok {
			c.takeNote(e, text)
		} else {
			c.runs++
			e.run = c.runs
		}
	}
	for cell, id := range r.Latest {
		c.latest[cell] = id
		if e := c.execs[id]; e != nil {
			e.pointed = true
		}
	}
	for _, id := range r.Queued {
		if e := c.execs[id]; e != nil && e.status == statusQueued {
			c.queue = append(c.queue, id)
		}
	}
	c.archived = r.Archived[max(0, len(r.Archived)-archivedKept):]
	c.restored = r.Running
	c.pending.executing = r.Running
	c.pending.kernel = r.Kernel
	c.kernel.info = KernelInfo{Name: r.Kernel.Name, Language: r.Kernel.Language, EnvSource: r.Kernel.EnvSource}
	c.pending.request = r.Input
	c.restoreOutput(r)
}

// restoreOutput makes the running execution go on in the middle of its output.
func (c *Core) restoreOutput(r Restored) {
	e := c.execs[r.Running]
	if e == nil || e.terminal() {
		return
	}
	var s resumeState
	if r.State != nil && json.Unmarshal(r.State, &s) == nil && s.Execution == e.id {
		e.outputs.clearNext = s.Clear
	} else {
		s = resumeState{}
	}
	if o := e.outputs.last(); o != nil && o.stream != "" && r.Text != nil {
		ref, _ := o.manifest["text"].(map[string]any)
		if text, ok := r.Text(ref); ok {
			o.resume(text, s.Cursor, c.cfg.MaxStreamText)
		}
	}
}

func (c *Core) restoreOne(x Execution) *execution {
	e := &execution{id: x.ID, cell: x.Cell, source: x.Source, from: Caller{Actor: x.Submitter}, seq: x.Seq,
		status: x.Status, docStatus: x.Status, created: x.Created, started: x.Started, ended: x.Ended, inDoc: true}
	if x.Count != nil {
		e.count = *x.Count
	}
	e.outputs.restore(x.Outputs, c.cfg.MaxOutputs)
	for _, o := range x.Outputs {
		e.failed = e.failed || o.Manifest["output_type"] == "error"
	}
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
	for _, x := range execs {
		x.Seq = c.seq
		e := c.restoreOne(x)
		e.inDoc, e.fromFile = false, true
		c.latest[x.Cell] = x.ID
		c.touch(e)
	}
	c.trim()
	c.pending.due = true
}
