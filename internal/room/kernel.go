package room

import (
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
	info       KernelInfo
	reason     string // error_reason of the document
	details    string // error_details of the document
}

func (k kernelState) alive() bool { return k.lifecycle == Launching || k.lifecycle == Running }

func (c *Core) handleKernelRequest(ev Event) {
	switch ev := ev.(type) {
	case LaunchRequested:
		c.launchRequested(ev)
	case RestartRequested:
		c.endKernel("The kernel was restarted while this cell ran.", "Run the cell again.")
		c.launch(c.kernel.info.EnvSource)
		c.respond(ev.From, wire.ResultKernelRestarted, c.launchedBody())
	case ShutdownRequested:
		if !c.kernel.alive() {
			c.respond(ev.From, wire.ResultNoKernel, nil)
			return
		}
		c.endKernel("The kernel was shut down while this cell ran.", "Run the cell again; that starts a new kernel.")
		c.setKernel(Shutdown)
		c.respond(ev.From, wire.ResultKernelShuttingDown, nil)
	case InterruptRequested:
		c.interrupt(ev.From)
	case InputGiven:
		if !c.inputPending {
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
	c.setKernel(Launching)
	c.emit(LaunchKernel{Generation: c.kernel.generation, EnvSource: envSource})
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
	c.emit(StopKernel{Generation: gen})
}

func (c *Core) setKernel(lifecycle string) {
	c.kernel.lifecycle = lifecycle
	c.emit(EditRuntime{Ops: []RuntimeOp{OpKernel{c.kernelDoc()}}})
}

func (c *Core) kernelDoc() runtimestate.Kernel {
	activity := ""
	if c.kernel.lifecycle == Running {
		activity = "Idle"
		if c.run != "" {
			activity = "Busy"
		}
	}
	c.activityShown = activity
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
			c.emit(EditRuntime{Ops: []RuntimeOp{OpKernel{c.kernelDoc()}}})
		}
	case HostAdopted:
		c.adopted(ev)
	case LaunchProgress:
		if ev.Generation == c.kernel.generation && c.kernel.lifecycle == Launching {
			c.emit(EditRuntime{Ops: []RuntimeOp{OpProgress{ev.Text}}})
		}
	case LaunchFailed:
		if ev.Generation == c.kernel.generation && c.kernel.lifecycle == Launching {
			c.kernelGone(ev.Err.Message, ev.Err.Hint, errorReason(ev.Err))
		}
	case KernelReady:
		if ev.Generation == c.kernel.generation && c.kernel.lifecycle == Launching {
			c.hostSeq = max(c.hostSeq, ev.Seq)
			c.setKernel(Running)
			c.next()
		}
	case KernelDied:
		if ev.Generation == c.kernel.generation && c.kernel.alive() {
			c.hostSeq = max(c.hostSeq, ev.Seq)
			c.kernelGone(ev.Reason, ev.Hint, "")
		}
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
	c.abortAll(reason, hint)
	c.emit(StopKernel{Generation: c.kernel.generation})
	c.kernel.generation++
	c.kernel.reason, c.kernel.details = errorReason, reason
	if hint != "" {
		c.kernel.details += " " + hint
	}
	c.setKernel(Errored)
}

// adopted takes over a host of an earlier daemon. What it was running goes on;
// the events it still has follow as ordinary ones.
func (c *Core) adopted(ev HostAdopted) {
	c.kernel.generation++
	c.kernel.info = ev.Kernel
	if e := c.execs[ev.Running]; e != nil && !e.terminal() {
		c.run = ev.Running
		e.sent, e.status = true, statusRunning
		c.queue = without(c.queue, ev.Running)
	}
	c.kernel.lifecycle = Launching
	if ev.Ready {
		c.kernel.lifecycle = Running
	}
	c.emit(EditRuntime{Ops: []RuntimeOp{OpKernel{c.kernelDoc()}, c.queueOp()}})
	c.next()
}

// Generation returns the number of the current launch. Events of the kernel
// carry the generation they belong to.
func (c *Core) Generation() uint64 { return c.kernel.generation }

func (c *Core) respond(to Caller, result string, body any) {
	c.emit(Respond{To: to, Result: result, Body: body})
}

func (c *Core) respondError(to Caller, err *domain.Error) {
	c.respond(to, wire.ResultError, wire.ErrorBody{Error: err.Message, Code: string(err.Code), Hint: err.Hint})
}

// interrupt delivers the interrupt and cancels the queue of those concerned. A
// client of ours is answered when the cell ended or did not within the limit.
func (c *Core) interrupt(from Caller) {
	if !c.kernel.alive() {
		c.respond(from, wire.ResultNoKernel, nil)
		return
	}
	running := c.execs[c.run]
	cancelled := c.cancelQueued(func(e *execution) bool {
		return e.from.Actor == from.Actor || running == nil || e.from.Actor == running.from.Actor
	})
	if running == nil {
		c.respond(from, wire.ResultInterruptSent, wire.InterruptSent{Cancelled: cancelled})
		return
	}
	c.emit(HostInterrupt{Execution: running.id})
	if !from.OurClient {
		c.respond(from, wire.ResultInterruptSent, wire.InterruptSent{ExecutionID: string(running.id), Cancelled: cancelled})
		return
	}
	c.interrupters = append(c.interrupters, from)
	c.emit(SetTimer{TimerInterrupt, c.cfg.InterruptReport})
}

func (c *Core) answerInterrupts(still bool) {
	if len(c.interrupters) == 0 {
		return
	}
	for _, from := range c.interrupters {
		c.respond(from, wire.ResultInterruptSent, wire.InterruptSent{ExecutionID: string(c.run), StillBusy: still && c.run != ""})
	}
	c.interrupters = nil
	c.emit(StopTimer{TimerInterrupt})
}

func (c *Core) dropInterrupter(p PeerID) {
	kept := c.interrupters[:0]
	for _, from := range c.interrupters {
		if from.Peer != p {
			kept = append(kept, from)
		}
	}
	c.interrupters = kept
}

func (c *Core) wantsInput(ev KernelWantsInput) {
	if ev.Generation != c.kernel.generation || ev.Execution != c.run {
		return
	}
	c.hostSeq = max(c.hostSeq, ev.Seq)
	c.inputPending = true
	c.flush([]RuntimeOp{OpInput{map[string]any{"execution_id": string(ev.Execution), "prompt": ev.Prompt, "password": ev.Password}}})
	c.emit(SetTimer{TimerInput, c.cfg.InputTimeout})
}

func (c *Core) clearInput() {
	if c.inputPending {
		c.inputPending = false
		c.emit(StopTimer{TimerInput}, EditRuntime{Ops: []RuntimeOp{OpInput{}}})
	}
}

// inputExpired refuses an input nobody gave, by interrupting the cell.
func (c *Core) inputExpired() {
	if c.inputPending && c.run != "" {
		c.clearInput()
		c.emit(HostInterrupt{Execution: c.run})
	}
}
