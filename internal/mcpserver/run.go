package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/present"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// How a call waits for an execution.
const (
	progressEvery  = 10 * time.Second
	interruptLimit = 10 * time.Second // from an interrupt at the end of the time until the execution must have ended
)

// waitFor says how long a call waits for an execution, and what happens then.
type waitFor struct {
	timeout   time.Duration
	interrupt bool // stop the execution when the time is over or the call is cancelled
}

func waitOf(a args) waitFor {
	return waitFor{timeout: seconds(a.number("timeout_secs")), interrupt: a.text("on_timeout") == "interrupt"}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// runCell runs a cell as it stands now, and waits.
func (b *book) runCell(ctx context.Context, cell domain.CellID, w waitFor) (*reply, error) {
	ask := b.asker(cell, domain.DerivedExecutionID(b.k.id, cell))
	return b.runAndShow(ctx, func(ctx context.Context) (*client.Execution, error) {
		e, err := ask(ctx)
		b.h().SetFocus(cell) // after the request, which should not wait behind it
		return e, err
	}, w)
}

// ask asks the daemon for an execution, or for what has become of it when it was asked before.
type ask func(context.Context) (*client.Execution, error)

func (b *book) asker(cell domain.CellID, id domain.ExecutionID) ask {
	return func(ctx context.Context) (*client.Execution, error) {
		return b.h().Execute(ctx, cell, id, client.ExecuteOptions{Idempotent: true})
	}
}

func (b *book) runAndShow(ctx context.Context, again ask, w waitFor) (*reply, error) {
	e, err := b.queue(ctx, again)
	if err != nil {
		return nil, err
	}
	v, err := b.await(ctx, e, again, w)
	if err != nil {
		return nil, err
	}
	if err := b.neverRan(ctx, v); err != nil {
		return nil, err
	}
	return b.k.c.show(ctx, v, present.Options{}), nil
}

// neverRan is the error of an execution that was cancelled because there is no
// kernel to run it; nil for any other.
func (b *book) neverRan(ctx context.Context, v view) error {
	if v.status != runtimestate.Cancelled {
		return nil
	}
	b.settle(ctx)
	if b.runtime().Kernel().Lifecycle != runtimestate.Failed {
		return nil
	}
	return b.kernelFailed("It did not run").WithHint("Cure that, then run it again; list_kernels shows what can be started.")
}

// kernelFailed says why there is no kernel: what, then the reason.
func (b *book) kernelFailed(what string) *domain.Error {
	k := b.runtime().Kernel()
	code := domain.CodeKernelUnavailable
	switch {
	case k.ErrorReason != "":
		code = domain.CodeEnvironmentFailed
	case strings.HasPrefix(k.ErrorDetails, "The kernel ended"), strings.HasPrefix(k.ErrorDetails, "The kernel was "), strings.HasPrefix(k.ErrorDetails, "The process"):
		code = domain.CodeKernelDied
	}
	return domain.Errorf(code, "%s: %s", what, orElse(k.ErrorDetails, orElse(k.ErrorReason, k.Lifecycle)))
}

// queue asks for an execution until the daemon has accepted it, and gives the
// turn back. It goes on when the call is cancelled meanwhile: whether the
// execution was accepted must be known.
func (b *book) queue(ctx context.Context, again ask) (*client.Execution, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queueLimit)
	defer cancel()
	defer b.ref.Yield()
	for try := 0; ; try++ {
		e, err := again(ctx)
		if err == nil || !isLost(err) || try == maxRejoins {
			return e, err
		}
		if err := b.s.Again(ctx); err != nil {
			return nil, err
		}
	}
}

// await waits for the end of an execution and returns how it looks then: over,
// or running when the time was over first, or when it waits for input.
func (b *book) await(ctx context.Context, e *client.Execution, again ask, w waitFor) (view, error) {
	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	started := time.Now()
	b.report(ctx, e, started)
	for {
		changed := b.h().Changed()
		if isOver(e) {
			err := e.Err()
			if err == nil {
				b.k.c.told.add(b.h().ID(), finished{e.CellID, e.ID})
				return viewOfDone(e.Result()), nil
			}
			if e, err = b.followAgain(ctx, e, again, err); err != nil {
				return view{}, err
			}
			continue
		}
		if b.waitsForInput(e) {
			return b.unfinished(e, started, ""), nil
		}
		select {
		case <-e.Done():
		case <-changed:
		case <-tick.C:
			b.report(ctx, e, started)
		case <-timer.C:
			return b.timeIsOver(ctx, e, w, started, "")
		case <-ctx.Done():
			return b.timeIsOver(ctx, e, w, started, "the call was cancelled")
		case <-b.k.c.draining:
			return b.timeIsOver(ctx, e, waitFor{}, started, "the client is leaving")
		}
	}
}

func isOver(e *client.Execution) bool {
	select {
	case <-e.Done():
		return true
	default:
		return false
	}
}

func (b *book) waitsForInput(e *client.Execution) bool {
	request := b.runtime().InputRequest()
	return request != nil && request["execution_id"] == string(e.ID)
}

// followAgain finds an execution again after the connection was lost: it is
// asked for once more under its id, which the daemon runs only if it never got it.
func (b *book) followAgain(ctx context.Context, e *client.Execution, again ask, cause error) (*client.Execution, error) {
	for try := 0; isLost(cause) && try < maxRejoins; try++ {
		if err := b.s.Again(ctx); err != nil {
			return nil, named(err, e.ID)
		}
		next, err := again(ctx)
		if err == nil {
			return next, nil
		}
		cause = err
	}
	return nil, named(cause, e.ID)
}

// named adds to an error which execution to ask for later.
func named(err error, id domain.ExecutionID) error {
	return domain.Errorf(domain.CodeOf(err), "Execution %s cannot be followed any more: %w", id, err).
		WithHint("Call get_results with execution_id=%q to see what became of it.", string(id))
}

func (b *book) report(ctx context.Context, e *client.Execution, started time.Time) {
	state, _ := b.runtime().Execution(string(e.ID))
	text := fmt.Sprintf("%s, %.0f s", orElse(state.Status, runtimestate.Queued), time.Since(started).Seconds())
	if line := b.k.c.srv.lastLine(ctx, state); line != "" {
		text += ": " + line
	}
	b.k.progress(ctx, text)
}

// timeIsOver answers for an execution that is still going on, after interrupting
// it when that is wanted.
func (b *book) timeIsOver(ctx context.Context, e *client.Execution, w waitFor, started time.Time, why string) (view, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptLimit)
	defer cancel()
	if w.interrupt {
		if err := b.end(ctx, e.ID); err != nil && !isOver(e) {
			return view{}, named(err, e.ID)
		}
		if e.Wait(ctx) == nil {
			b.k.c.told.add(b.h().ID(), finished{e.CellID, e.ID})
			v := viewOfDone(e.Result())
			v.reason = orElse(v.reason, "Interrupted when its time was over.")
			return v, nil
		}
	}
	return b.unfinished(e, started, why), nil
}

// end stops one execution, whether it waits or runs. What others have running or
// waiting goes on, if the daemon is ours; another one knows only to interrupt whatever runs.
func (b *book) end(ctx context.Context, id domain.ExecutionID) error {
	r := wire.Request{Action: wire.ActionInterruptExecution}
	if b.h().Extended() {
		r = wire.Request{Action: wire.ActionCancelExecution, ExecutionID: string(id)}
	}
	_, err := b.request(ctx, r)
	return err
}

// unfinished shows an execution as it is now.
func (b *book) unfinished(e *client.Execution, started time.Time, why string) view {
	v := view{cell: string(e.CellID), execution: string(e.ID), status: runtimestate.Queued}
	if state, ok := b.runtime().Execution(string(e.ID)); ok {
		v = viewOfState(state)
	}
	v.waited = time.Since(started)
	asks := b.waitsForInput(e)
	if asks { // the document may not say yet that it has begun
		v.status = runtimestate.Executing
	}
	if v.status == runtimestate.Queued {
		executing, queued := b.runtime().Queue()
		v.ahead = max(0, slices.Index(queued, v.execution))
		if executing != "" {
			v.ahead++
		}
	}
	switch k := b.runtime().Kernel(); {
	case why != "":
		v.reason = "It goes on, although " + why + "."
	case v.status == runtimestate.Queued && k.Lifecycle != runtimestate.Running:
		v.reason = "The kernel: " + b.kernelText() + "."
	case asks:
		v.reason = "It waits for input: " + b.inputPrompt()
		v.hint = "Call send_input with the answer" + b.inputLimit() + "."
	}
	return v
}

// inputLimit says how long the daemon waits for an answer, if it tells.
func (b *book) inputLimit() string {
	secs, ok := b.runtime().InputRequest()["timeout_secs"].(int64)
	if !ok || secs <= 0 {
		return ""
	}
	return fmt.Sprintf("; without one the cell is interrupted %s after it asked", time.Duration(secs)*time.Second)
}

func (b *book) inputPrompt() string {
	prompt, _ := b.runtime().InputRequest()["prompt"].(string)
	return fmt.Sprintf("%q", prompt)
}

// kernelText describes the state of the kernel in a few words.
func (b *book) kernelText() string {
	k := b.runtime().Kernel()
	text := orElse(k.Name, "kernel") + " "
	switch k.Lifecycle {
	case "", runtimestate.NotStarted:
		text += "not started"
	case runtimestate.Running:
		text += "running, " + orElse(strings.ToLower(k.Activity), "idle")
	case runtimestate.Failed:
		text += "failed: " + orElse(k.ErrorDetails, k.ErrorReason)
	case runtimestate.Shutdown:
		text += "shut down"
	default:
		text += "starting"
		if line, _ := b.runtime().EnvProgress()["message"].(string); line != "" {
			text += " (" + line + ")"
		}
	}
	return text
}
