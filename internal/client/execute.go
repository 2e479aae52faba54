package client

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/trace"
	"runt/internal/wire"
)

const (
	// quiet is how long an execution that the document shows as over must stay
	// as it is before its outputs count as complete: output may follow the status.
	quiet = 50 * time.Millisecond
	// quietStream is the same when there is a stream, which is written with a delay.
	quietStream = 150 * time.Millisecond
	// settleLimit is when they count as complete although they still change.
	settleLimit = time.Second
	// directGrace is how much later than the document a direct answer may come
	// before the document is taken instead.
	directGrace = 500 * time.Millisecond
	// kernelGrace is how long an execution may stay unfinished in the document
	// after its kernel has ended.
	kernelGrace = 2 * time.Second
	// unaskedLimit is how many direct answers are kept for a Follow that comes
	// later, as when a run of all cells is followed one by one.
	unaskedLimit = 1024
	// unaskedBytes is how large their outputs may be together.
	unaskedBytes = 8 << 20
)

// Execution is a run that somebody waits for.
type Execution struct {
	ID     domain.ExecutionID
	CellID domain.CellID

	direct  bool // the daemon will tell the end directly
	started time.Time
	done    chan struct{}
	once    sync.Once
	result  wire.ExecutionDone // set before done is closed
	err     error              // set before done is closed

	// Of the document's account of the end; accessed under the handle's mutex.
	seen     string    // what it looked like last
	deadline time.Time // when it is taken as it is
}

// Done is closed when the execution is over or can no longer be followed.
func (e *Execution) Done() <-chan struct{} { return e.done }

// Result returns how the execution ended, once Done is closed and Err is nil.
func (e *Execution) Result() wire.ExecutionDone {
	select {
	case <-e.done:
		return e.result
	default:
		return wire.ExecutionDone{}
	}
}

// Err says why the execution could not be followed to its end; nil when it could.
func (e *Execution) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// Wait waits for the end of the execution. The execution goes on when ctx ends.
func (e *Execution) Wait(ctx context.Context) error {
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return timeoutOf(ctx, "wait for the execution")
	}
}

func (e *Execution) finish(result wire.ExecutionDone, err error) {
	e.once.Do(func() {
		e.result, e.err = result, err
		close(e.done)
	})
}

// ExecuteOptions are wishes for an execution.
type ExecuteOptions struct {
	Idempotent bool // an execution id seen before is answered with that execution
}

// Execute queues a cell as it reads here now, and returns once the daemon has
// accepted it. An empty id is replaced by a fresh one.
func (h *Handle) Execute(ctx context.Context, cell domain.CellID, id domain.ExecutionID, o ExecuteOptions) (*Execution, error) {
	if id == "" {
		id = domain.ExecutionID(h.o.uuid())
	}
	e, err := h.follow(cell, id, h.Extended())
	if err != nil {
		return nil, err
	}
	queued, err := h.queue(ctx, e, o)
	if err != nil {
		h.unfollow(e)
		return nil, err
	}
	if queued != id { // the cell was queued or running already
		h.unfollow(e)
		return h.Follow(cell, queued)
	}
	return e, nil
}

// queue asks for the execution and returns the id that the daemon gave it.
func (h *Handle) queue(ctx context.Context, e *Execution, o ExecuteOptions) (domain.ExecutionID, error) {
	trace.Mark("client.request", string(e.ID))
	response, err := h.Request(ctx, wire.Request{
		Action: wire.ActionExecuteCell, CellID: string(e.CellID), ExecutionID: string(e.ID),
		RequiredHeads: automerge.HashStrings(h.nb.Engine().Heads()), Direct: e.direct, Idempotent: o.Idempotent && h.Extended(),
	})
	if err != nil {
		return "", err
	}
	switch response.Result {
	case wire.ResultCellQueued:
		var body wire.CellQueued
		if err := response.Decode(&body); err != nil {
			return "", err
		}
		return domain.ExecutionID(body.ExecutionID), nil
	case wire.ResultExecutionIDRejected:
		var body wire.ExecutionIDRejected
		if err := response.Decode(&body); err != nil {
			return "", err
		}
		return "", domain.Errorf(domain.CodeInvalidArgument, "execution id %s was rejected: %s", body.ExecutionID, body.Reason).
			WithHint("Execute the cell again with a new id, or ask for the results of that one.")
	case wire.ResultNoKernel:
		return "", domain.Errorf(domain.CodeKernelUnavailable, "the notebook has no kernel").
			WithHint("Start one with restart_kernel.")
	case wire.ResultGuardRejected:
		var body wire.GuardRejected
		if err := response.Decode(&body); err != nil {
			return "", err
		}
		return "", domain.Errorf(domain.CodeStaleSource, "the cell was not executed: %s", body.Reason).
			WithHint("Read the cell again, then execute it.")
	}
	return "", domain.Errorf(domain.CodeInternal, "the daemon answered execute_cell with %q", response.Result)
}

// Follow waits for an execution that is queued, running or over already,
// whoever asked for it. It ends when the documents, or the daemon directly, tell its end.
func (h *Handle) Follow(cell domain.CellID, id domain.ExecutionID) (*Execution, error) {
	e, err := h.follow(cell, id, false)
	if err == nil {
		h.checkRuns()
	}
	return e, err
}

func (h *Handle) follow(cell domain.CellID, id domain.ExecutionID, direct bool) (*Execution, error) {
	e := &Execution{ID: id, CellID: cell, direct: direct, started: time.Now(), done: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	if i := slices.IndexFunc(h.unasked, func(d wire.ExecutionDone) bool { return d.ExecutionID == string(id) }); i >= 0 {
		e.finish(h.unasked[i], nil)
		return e, nil
	}
	h.runs[string(id)] = append(h.runs[string(id)], e)
	return e, nil
}

func (h *Handle) unfollow(e *Execution) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unfollowLocked(e)
}

func (h *Handle) unfollowLocked(e *Execution) {
	id := string(e.ID)
	h.runs[id] = slices.DeleteFunc(h.runs[id], func(other *Execution) bool { return other == e })
	if len(h.runs[id]) == 0 {
		delete(h.runs, id)
	}
	if t := h.timers[e]; t != nil {
		t.Stop()
		delete(h.timers, e)
	}
}

// told takes a direct answer.
func (h *Handle) told(body []byte) error {
	done, err := wire.DecodeExecution(body)
	if err != nil {
		return err
	}
	trace.Mark("client.answer", done.ExecutionID)
	h.mu.Lock()
	waiting := slices.Clone(h.runs[done.ExecutionID])
	for _, e := range waiting {
		h.unfollowLocked(e)
	}
	if len(waiting) == 0 {
		h.keepLocked(done)
	}
	h.mu.Unlock()
	for _, e := range waiting {
		e.finish(done, nil)
	}
	h.changed.notify()
	runtime.Gosched() // whoever waited goes on before the documents are taken in
	return nil
}

// keepLocked keeps an answer that nobody has asked for yet, and forgets older
// ones when they become too many.
func (h *Handle) keepLocked(done wire.ExecutionDone) {
	h.unasked = append(h.unasked, done)
	size := 0
	for i := len(h.unasked) - 1; i >= 0; i-- {
		for _, o := range h.unasked[i].Outputs {
			size += len(o)
		}
		if len(h.unasked)-i > unaskedLimit || size > unaskedBytes {
			h.unasked = slices.Delete(h.unasked, 0, i+1)
			return
		}
	}
}

// checkRuns looks for executions that the document shows as over, and lets
// those end whose outputs have settled.
func (h *Handle) checkRuns() {
	h.mu.Lock()
	var waiting []*Execution
	for _, same := range h.runs {
		waiting = append(waiting, same...)
	}
	h.mu.Unlock()
	for _, e := range waiting {
		h.check(e)
	}
}

// check looks at one execution. It is called at changes of the document and by timers.
func (h *Handle) check(e *Execution) {
	shown, ok := h.rt.Execution(string(e.ID))
	pause, over := h.pause(e, shown, ok)
	if !over {
		return
	}
	look, result := fingerprint(shown), h.resultOf(e, shown)
	now := time.Now()
	h.mu.Lock()
	if h.err != nil || !slices.Contains(h.runs[string(e.ID)], e) {
		h.mu.Unlock()
		return
	}
	if e.deadline.IsZero() {
		e.deadline = now.Add(max(pause, settleLimit))
	}
	if t := h.timers[e]; pause == 0 || e.seen == look && t == nil || now.After(e.deadline) {
		h.unfollowLocked(e)
		h.mu.Unlock()
		e.finish(result, nil)
		h.changed.notify()
		return
	} else if e.seen != look || t == nil {
		if t != nil {
			t.Stop()
		}
		e.seen = look
		h.timers[e] = time.AfterFunc(pause, func() { h.settled(e) })
	}
	h.mu.Unlock()
}

// settled is called when an execution has not changed for its pause.
func (h *Handle) settled(e *Execution) {
	h.mu.Lock()
	delete(h.timers, e)
	h.mu.Unlock()
	h.check(e)
}

// pause returns how long an execution must stay as it is shown to count as
// over, and whether it may be over at all.
func (h *Handle) pause(e *Execution, shown runtimestate.Execution, ok bool) (time.Duration, bool) {
	switch {
	case ok && runtimestate.Terminal(shown.Status):
		if e.direct {
			return directGrace, true
		}
		if h.Extended() { // runt writes the last output before the status
			return 0, true
		}
		for _, o := range shown.Outputs {
			if o.Manifest["output_type"] == "stream" {
				return quietStream, true
			}
		}
		return quiet, true
	case ok && !e.direct:
		k := h.rt.Kernel().Lifecycle
		return kernelGrace, k == runtimestate.Failed || k == runtimestate.Shutdown
	}
	return 0, false
}

// fingerprint tells two looks of an execution apart.
func fingerprint(shown runtimestate.Execution) string {
	b, err := json.Marshal(shown)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// resultOf makes the account of an execution that the document gives.
func (h *Handle) resultOf(e *Execution, shown runtimestate.Execution) wire.ExecutionDone {
	done := wire.ExecutionDone{
		ExecutionID: string(e.ID), CellID: string(e.CellID), Status: shown.Status,
		ExecutionCount: shown.Count, Success: shown.Success, Seconds: time.Since(e.started).Seconds(),
	}
	for _, o := range shown.Outputs {
		raw, err := json.Marshal(o.Manifest)
		if err != nil {
			raw, _ = json.Marshal(map[string]any{"output_type": "error", "ename": "UnreadableOutput", "evalue": err.Error(), "traceback": runtimestate.Inline("[]")})
		}
		done.Outputs = append(done.Outputs, raw)
	}
	if !runtimestate.Terminal(shown.Status) {
		k := h.rt.Kernel()
		done.Status = runtimestate.Error
		done.Reason = fmt.Sprintf("the kernel ended (%s)", k.Lifecycle)
		if k.ErrorDetails != "" {
			done.Reason = k.ErrorDetails
		}
		done.Hint = "Restart the kernel and execute the cell again."
	}
	return done
}
