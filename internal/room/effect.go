package room

import (
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
)

// Timer names a timer of the room. Setting one that runs replaces it.
type Timer string

// The timers of a room. Those of an execution are made by deferTimer.
const (
	TimerEvict       Timer = "evict"
	TimerFlush       Timer = "flush"
	TimerAutosave    Timer = "autosave"
	TimerAutosaveMax Timer = "autosave-max"
	TimerInterrupt   Timer = "interrupt"
	TimerInput       Timer = "input"
	TimerDefer       Timer = "defer"
)

// Effect is something the caller has to do. The types of this file are all
// there are. Effects of one event are performed in order.
type Effect interface{ effect() }

type (
	// SetTimer asks for TimerFired after a while.
	SetTimer struct {
		Timer Timer
		After time.Duration
	}
	// StopTimer forgets a timer; one that has fired meanwhile must not be delivered.
	StopTimer struct{ Timer Timer }
	// Respond answers a request. When Durable is set, not before everything so far is on disk.
	Respond struct {
		To      Caller
		Result  string
		Body    any
		Durable bool
	}
	// Answer gives the caller of an execution its end directly.
	Answer struct {
		To        Caller
		Execution Execution
	}
	// AnswerArchived is Answer for an execution that was archived.
	AnswerArchived struct {
		To        Caller
		Execution domain.ExecutionID
	}
	// EditRuntime writes the runtime state document as one change. Seq, when
	// not 0, is the number of the last kernel event that is wholly contained in the
	// documents after it; the host may forget its events up to there once the change is durable.
	// Notes and State are kept with the change, for Restore; State replaces the one before, also when it is nil.
	// Leaves says that with this change the room gives up the host it had, for another one.
	EditRuntime struct {
		Ops    []RuntimeOp
		Seq    uint64
		Notes  []Note
		State  []byte
		Leaves bool
		// Archived are the executions that leave the document: their records are
		// kept elsewhere once the change is on disk, and with it until then.
		Archived []Execution
	}
	// PointCell makes a cell of the notebook point at its latest execution.
	PointCell struct {
		Cell      domain.CellID
		Execution domain.ExecutionID
	}
	// PutBlob stores content before a document refers to it.
	PutBlob struct {
		Data      []byte
		MediaType string
	}
	// Archive keeps the record of an execution of a room that closes.
	Archive struct{ Execution Execution }
	// LaunchKernel resolves an environment and, once everything so far is on disk,
	// starts a host; answered by HostStarted or LaunchFailed.
	LaunchKernel struct {
		Generation uint64
		EnvSource  string
	}
	// StopKernel ends the kernel and its host, once everything so far is on disk. When Closing is set, HostStopped is expected.
	StopKernel struct {
		Generation uint64
		Closing    bool
	}
	// HostExecute hands an execution to the kernel host.
	HostExecute struct {
		Execution domain.ExecutionID
		Source    string
		Input     bool   // whether the kernel may ask for input
		Note      string // the host keeps it and gives it back with KernelAccepted
	}
	// HostInterrupt interrupts an execution.
	HostInterrupt struct{ Execution domain.ExecutionID }
	// HostInput hands a line of input to the kernel.
	HostInput struct{ Text string }
	// SaveFile writes the notebook; answered by SaveFinished with the same number.
	SaveFile struct {
		Number    uint64
		Path      string
		Overwrite bool
		Final     bool // the room closes after it
		Automatic bool
	}
	// JournalBarrier asks for BarrierReached once everything so far is on disk.
	JournalBarrier struct{}
	// CloseWatcher stops watching the file; answered by WatcherClosed.
	CloseWatcher struct{}
	// Remove ends the room: it is taken out of the registry and its actor stops.
	Remove struct{}
)

func (SetTimer) effect()       {}
func (StopTimer) effect()      {}
func (Respond) effect()        {}
func (Answer) effect()         {}
func (AnswerArchived) effect() {}
func (EditRuntime) effect()    {}
func (PointCell) effect()      {}
func (PutBlob) effect()        {}
func (Archive) effect()        {}
func (LaunchKernel) effect()   {}
func (StopKernel) effect()     {}
func (HostExecute) effect()    {}
func (HostInterrupt) effect()  {}
func (HostInput) effect()      {}
func (SaveFile) effect()       {}
func (JournalBarrier) effect() {}
func (CloseWatcher) effect()   {}
func (Remove) effect()         {}

// RuntimeOp is one step of an EditRuntime.
type RuntimeOp interface {
	// Apply performs the step in a transaction of the runtime state document.
	Apply(tx *runtimestate.Tx) error
}

type (
	// OpKernel writes the state of the kernel.
	OpKernel struct{ Kernel runtimestate.Kernel }
	// OpActivity writes whether the kernel is busy.
	OpActivity struct{ Activity string }
	// OpExecution writes a whole execution, replacing one of that id.
	OpExecution struct{ Execution runtimestate.Execution }
	// OpStatus writes the status of an execution that is in the document.
	OpStatus struct{ Execution, Status string }
	// OpCount writes the execution count.
	OpCount struct {
		Execution string
		Count     int64
	}
	// OpFinish writes the terminal status.
	OpFinish struct {
		Execution, Status string
		Success           bool
	}
	// OpOutput writes a whole output.
	OpOutput struct {
		Execution string
		Output    runtimestate.Output
		DisplayID string
	}
	// OpStreamText replaces the text of a stream output in place.
	OpStreamText struct {
		Execution, Output string
		Ref               map[string]any
	}
	// OpClearOutputs removes every output of an execution.
	OpClearOutputs struct{ Execution string }
	// OpDeleteExecution removes an execution.
	OpDeleteExecution struct{ Execution string }
	// OpQueue writes what runs and what waits.
	OpQueue struct {
		Executing string
		Queued    []string
	}
	// OpInput writes the pending input request, or its end when Request is nil.
	OpInput struct{ Request map[string]any }
	// OpProgress writes a line about the environment being prepared, or its end when empty.
	OpProgress struct{ Text string }
)

// Apply writes the kernel map.
func (o OpKernel) Apply(tx *runtimestate.Tx) error { return tx.SetKernel(o.Kernel) }

// Apply writes the kernel's activity.
func (o OpActivity) Apply(tx *runtimestate.Tx) error { return tx.SetActivity(o.Activity) }

// Apply writes the execution.
func (o OpExecution) Apply(tx *runtimestate.Tx) error { return tx.PutExecution(o.Execution) }

// Apply writes the status.
func (o OpStatus) Apply(tx *runtimestate.Tx) error { return tx.SetStatus(o.Execution, o.Status) }

// Apply writes the count.
func (o OpCount) Apply(tx *runtimestate.Tx) error { return tx.SetCount(o.Execution, o.Count) }

// Apply writes status and success.
func (o OpFinish) Apply(tx *runtimestate.Tx) error {
	return tx.Finish(o.Execution, o.Status, o.Success)
}

// Apply writes the output.
func (o OpOutput) Apply(tx *runtimestate.Tx) error {
	return tx.PutOutput(o.Execution, o.Output, o.DisplayID)
}

// Apply replaces the text.
func (o OpStreamText) Apply(tx *runtimestate.Tx) error {
	return tx.SetStreamText(o.Execution, o.Output, o.Ref)
}

// Apply removes the outputs.
func (o OpClearOutputs) Apply(tx *runtimestate.Tx) error { return tx.ClearOutputs(o.Execution) }

// Apply removes the execution.
func (o OpDeleteExecution) Apply(tx *runtimestate.Tx) error { return tx.DeleteExecution(o.Execution) }

// Apply writes the queue.
func (o OpQueue) Apply(tx *runtimestate.Tx) error { return tx.SetQueue(o.Executing, o.Queued) }

// Apply writes the input request.
func (o OpInput) Apply(tx *runtimestate.Tx) error { return tx.SetInputRequest(o.Request) }

// Apply writes the progress of the environment.
func (o OpProgress) Apply(tx *runtimestate.Tx) error { return tx.SetEnvProgress(o.Text) }
