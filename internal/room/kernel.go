package room

import (
	"fmt"
	"strings"

	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// Lifecycles of a kernel as the runtime state document names them.
const (
	NotStarted = "NotStarted"
	Launching  = "Launching"
	Running    = "Running"
	Errored    = "Error"
	Shutdown   = "Shutdown"
)

// kernelState is what the room knows of its kernel.
type kernelState struct {
	lifecycle  string
	generation uint64
	behind     bool // it was adopted and its old events are being handled
	info       KernelInfo
	reason     string // error_reason of the document
	details    string // error_details of the document
	lost       string // why the variables of the notebook are gone, a sentence; told with the next execution
}

func (k kernelState) alive() bool { return k.lifecycle == Launching || k.lifecycle == Running }

func (c *Core) handleKernelRequest(ev Event) {
	switch ev := ev.(type) {
	case LaunchRequested:
		c.launchRequested(ev)
	case RestartRequested:
		c.endKernel("The kernel was restarted before this cell was done.", "Run the cell again.")
		c.launch(c.kernel.info.EnvSource)
		c.kernel.lost = ""
		c.respondDurably(ev.From, wire.ResultKernelRestarted, c.launchedBody())
	case ShutdownRequested:
		if !c.kernel.alive() {
			c.respond(ev.From, wire.ResultNoKernel, nil)
			return
		}
		c.endKernel("The kernel was shut down before this cell was done.", "Run the cell again; that starts a new kernel.")
		c.setKernel(Shutdown)
		c.respondDurably(ev.From, wire.ResultKernelShuttingDown, nil)
	case InterruptRequested:
		c.interrupt(ev.From)
	case InputGiven:
		if c.pending.request == nil {
			c.respondError(ev.From, domain.Errorf(domain.CodeInvalidArgument, "The kernel is not waiting for input.").
				WithHint("Send input only while an execution's status says it waits for input."))
			return
		}
		c.clearInput()
		c.emit(HostInput{Text: ev.Text})
		c.respond(ev.From, wire.ResultOK, nil)
	}
}

func (c *Core) launchRequested(ev LaunchRequested) {
	if c.kernel.alive() {
		if !ev.Automatic {
			c.respond(ev.From, wire.ResultKernelAlreadyRunning, c.launchedBody())
		}
		return
	}
	c.launch(ev.EnvSource)
	if !ev.Automatic {
		c.respond(ev.From, wire.ResultKernelLaunched, c.launchedBody())
	}
}

func (c *Core) launchedBody() wire.KernelLaunched {
	return wire.KernelLaunched{KernelType: c.kernel.info.Name, EnvSource: c.kernel.info.EnvSource}
}

func (c *Core) launch(envSource string) {
	c.kernel.generation++
	c.kernel.reason, c.kernel.details = "", ""
	if envSource != "" {
		c.kernel.info.EnvSource = envSource
	}
	c.hostSeq = 0
	c.pending.leaves = true
	c.pending.text, c.kernel.behind = "", false
	c.setKernel(Launching)
	c.after(LaunchKernel{Generation: c.kernel.generation, EnvSource: envSource})
}

// endKernel stops the kernel and ends what it had: the running execution as an
// error with this reason, the queued ones as cancelled.
func (c *Core) endKernel(reason, hint string) {
	if !c.kernel.alive() {
		return
	}
	gen := c.kernel.generation
	c.abortAll(reason, hint)
	c.kernel.generation++
	c.after(StopKernel{Generation: gen})
}

func (c *Core) setKernel(lifecycle string) {
	c.kernel.lifecycle = lifecycle
	c.pending.due = true
	if lifecycle != Launching {
		c.pending.text = ""
	}
}

func (c *Core) kernelDoc() runtimestate.Kernel {
	activity := ""
	if c.kernel.lifecycle == Running {
		activity = "Idle"
		if c.visibleRun() != "" {
			activity = "Busy"
		}
	}
	return runtimestate.Kernel{Lifecycle: c.kernel.lifecycle, Activity: activity, Name: c.kernel.info.Name,
		Language: c.kernel.info.Language, EnvSource: c.kernel.info.EnvSource,
		ErrorReason: c.kernel.reason, ErrorDetails: c.kernel.details}
}

func (c *Core) handleKernelState(ev Event) {
	switch ev := ev.(type) {
	case KernelChosen:
		if !c.kernel.alive() {
			c.kernel.info = ev.Kernel
		}
	case HostStarted:
		if ev.Generation == c.kernel.generation && c.kernel.lifecycle == Launching {
			c.kernel.info = ev.Kernel
			c.setKernel(Launching)
		}
	case HostAdopted:
		c.adopted(ev)
	case HostCaughtUp:
		if ev.Generation == c.kernel.generation {
			c.kernel.behind = false
			c.sendNext()
		}
	case HostLost:
		c.lost(ev)
	case LaunchProgress:
		if ev.Generation == c.kernel.generation && c.kernel.lifecycle == Launching {
			c.pending.text, c.pending.due = ev.Text, true
		}
	case LaunchFailed:
		if ev.Generation == c.kernel.generation && c.kernel.lifecycle == Launching {
			c.kernelGone(ev.Err.Message, ev.Err.Hint, errorReason(ev.Err))
		}
	case KernelReady:
		c.ready(ev)
	case KernelDied:
		if ev.Generation == c.kernel.generation && c.kernel.alive() {
			c.hostSeq = max(c.hostSeq, ev.Seq)
			c.kernelGone(ev.Reason, ev.Hint, "")
		}
	}
}

func (c *Core) ready(ev KernelReady) {
	if ev.Generation != c.kernel.generation {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	if c.kernel.lifecycle == Launching {
		c.setKernel(Running)
		c.sendNext()
	}
}

// errorReason maps an error to the closed set of the runtime state document.
func errorReason(err *domain.Error) string {
	if err.Code == domain.CodeEnvironmentFailed {
		return "environment_prepare_failed"
	}
	return ""
}

func (c *Core) kernelGone(reason, hint, errorReason string) {
	if c.kernel.lifecycle == Running {
		c.kernel.lost, _, _ = strings.Cut(reason, "\n")
	}
	c.abortAll(reason, hint)
	c.after(StopKernel{Generation: c.kernel.generation})
	c.kernel.generation++
	c.kernel.reason, c.kernel.details = errorReason, reason
	if hint != "" {
		c.kernel.details += " " + hint
	}
	c.setKernel(Errored)
}

// adopted takes over a host of an earlier daemon. What it was running goes on;
// it is sent once more, because the order may have been lost with that daemon: the
// host runs an id once. The events that the host still has follow as ordinary ones.
func (c *Core) adopted(ev HostAdopted) {
	c.kernel.generation++
	c.kernel.info = ev.Kernel
	c.hostSeq = ev.Seq
	c.setKernel(Launching)
	if ev.Ready {
		c.setKernel(Running)
	}
	if e := c.execs[c.restored]; e != nil && !e.terminal() {
		c.run = e.id
		e.status, e.accepted = statusRunning, true
		c.touch(e)
		c.unqueue(e.id)
		c.send(e)
		if c.pending.request != nil {
			c.emit(SetTimer{TimerInput, c.cfg.InputTimeout})
		}
	} else {
		c.clearInput()
	}
	c.restored = ""
	c.kernel.behind = true
}

// lost ends what the kernel of an earlier daemon was running or had before it.
// What waited for a first kernel goes on waiting.
func (c *Core) lost(ev HostLost) {
	if !ev.Unstarted {
		c.cancelQueued(ev.Reason, ev.Hint, func(e *execution) bool { return !ev.Known[e.id] })
	}
	if e := c.execs[c.restored]; e != nil && !e.terminal() && !ev.Known[e.id] {
		c.run, c.restored = e.id, ""
		c.clearInput()
		c.endByForce(e, ev.Reason, ev.Hint)
	}
	c.pending.due = true
}

// Generation returns the number of the current launch. Events of the kernel
// carry the generation they belong to.
func (c *Core) Generation() uint64 { return c.kernel.generation }

func (c *Core) respond(to Caller, result string, body any) {
	c.after(Respond{To: to, Result: result, Body: body})
}

// respondDurably answers once what was decided is on disk.
func (c *Core) respondDurably(to Caller, result string, body any) {
	c.after(Respond{To: to, Result: result, Body: body, Durable: true})
}

func (c *Core) respondError(to Caller, err *domain.Error) {
	c.respond(to, wire.ResultError, wire.ErrorBody{Error: err.Message, Code: string(err.Code), Hint: err.Hint})
}

// interrupter waits to hear whether its interrupt ended the execution.
type interrupter struct {
	from Caller
	sent wire.InterruptSent
}

// interrupt delivers the interrupt and cancels the queue of those concerned. A
// client of ours is answered when the cell ended or did not within the limit.
func (c *Core) interrupt(from Caller) {
	if !c.kernel.alive() {
		c.respond(from, wire.ResultNoKernel, nil)
		return
	}
	running := c.execs[c.run]
	sent := wire.InterruptSent{}
	sent.Cancelled = c.cancelQueued("The run was interrupted.", "Run the cell again.", func(e *execution) bool {
		return e.from.Actor == from.Actor || running == nil || e.from.Actor == running.from.Actor
	})
	if running == nil {
		c.respondDurably(from, wire.ResultInterruptSent, sent)
		return
	}
	c.emit(HostInterrupt{Execution: running.id})
	sent.ExecutionID = string(running.id)
	if !from.OurClient {
		c.respondDurably(from, wire.ResultInterruptSent, sent)
		return
	}
	c.interrupters = append(c.interrupters, interrupter{from, sent})
	c.emit(SetTimer{TimerInterrupt, c.cfg.InterruptReport})
}

// answerInterrupts tells those who interrupted the execution that it has ended,
// or with "" everybody that it still runs.
func (c *Core) answerInterrupts(ended domain.ExecutionID) {
	kept := c.interrupters[:0:0]
	for _, i := range c.interrupters {
		if ended != "" && i.sent.ExecutionID != string(ended) {
			kept = append(kept, i)
			continue
		}
		i.sent.StillBusy = ended == ""
		c.respondDurably(i.from, wire.ResultInterruptSent, i.sent)
	}
	if len(c.interrupters) > 0 && len(kept) == 0 {
		c.emit(StopTimer{TimerInterrupt})
	}
	c.interrupters = kept
}

func (c *Core) dropInterrupter(p PeerID) {
	kept := c.interrupters[:0]
	for _, i := range c.interrupters {
		if i.from.Peer != p {
			kept = append(kept, i)
		}
	}
	c.interrupters = kept
}

func (c *Core) wantsInput(ev KernelWantsInput) {
	if ev.Generation != c.kernel.generation {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	if ev.Execution != c.run || c.run == "" {
		return
	}
	c.reveal()
	c.pending.request = map[string]any{"execution_id": string(ev.Execution), "prompt": ev.Prompt, "password": ev.Password,
		"timeout_secs": int64(c.cfg.InputTimeout.Seconds()), "number": int64(ev.Seq)}
	c.pending.input, c.pending.due = true, true
	c.emit(SetTimer{TimerInput, c.cfg.InputTimeout})
}

func (c *Core) clearInput() {
	if c.pending.request != nil {
		c.pending.request = nil
		c.pending.input, c.pending.due = true, true
		c.emit(StopTimer{TimerInput})
	}
}

// inputExpired refuses an input nobody gave, by interrupting the cell.
func (c *Core) inputExpired() {
	if c.pending.request != nil && c.run != "" {
		c.clearInput()
		text := fmt.Sprintf("[nobody answered within %s: the input is refused and the cell interrupted]\n", c.cfg.InputTimeout)
		c.stream(c.execs[c.run], Message{Type: "stream", Content: map[string]any{"name": "stderr", "text": text}})
		c.touch(c.execs[c.run])
		c.emit(HostInterrupt{Execution: c.run})
	}
}
