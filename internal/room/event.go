package room

import (
	"time"

	"runt/internal/domain"
	"runt/internal/wire"
)

// PeerID numbers a connection of this room; it is never used twice in a room.
type PeerID uint64

// Caller says who sent a request and how to answer it.
type Caller struct {
	Peer      PeerID
	RequestID string // the id of the request, echoed in the answer
	Actor     string // actor label, recorded as the submitter of executions
	Direct    bool   // wants the end of the execution in a frame of its own
	OurClient bool   // understands our extensions: launches kernels by need, waits for interrupts
}

// Event is something that happened to the room. The types of this file are all there are.
type Event interface{ event() }

type (
	// PeerJoined reports a connection that finished its handshake.
	PeerJoined struct{ Peer PeerID }
	// PeerLeft reports a closed connection.
	PeerLeft struct{ Peer PeerID }
	// KeepAliveSet changes how long the room waits without peers; it is clamped to the limits of this package.
	KeepAliveSet struct{ After time.Duration }
	// ExecuteRequested asks to run cells in this order. One request is one run:
	// an error in one of them cancels the ones behind it.
	ExecuteRequested struct {
		From       Caller
		Items      []Item
		All        bool // answered as run_all_cells
		Idempotent bool // an id seen before is answered with what it already is
	}
	// CancelRequested withdraws an execution that has not started, and interrupts one
	// that runs. Nothing else is touched.
	CancelRequested struct {
		From      Caller
		Execution domain.ExecutionID
	}
	// LaunchRequested asks for a kernel.
	LaunchRequested struct {
		From      Caller
		EnvSource string
		Automatic bool // by the room itself when it was opened; nobody is answered
	}
	// RestartRequested ends the kernel, if any, and starts one.
	RestartRequested struct{ From Caller }
	// ShutdownRequested ends the kernel.
	ShutdownRequested struct{ From Caller }
	// InterruptRequested interrupts the running execution and cancels what the same submitter queued.
	InterruptRequested struct{ From Caller }
	// InputGiven answers a pending input request of the kernel.
	InputGiven struct {
		From Caller
		Text string
	}
	// KernelChosen says which kernel the notebook asks for, before one is resolved.
	KernelChosen struct{ Kernel KernelInfo }
	// HostStarted reports the process of a kernel host; the kernel itself is not ready yet.
	HostStarted struct {
		Generation uint64
		Kernel     KernelInfo
	}
	// HostAdopted reports a host that outlived an earlier daemon. Its events after Seq follow.
	HostAdopted struct {
		Kernel KernelInfo
		Ready  bool
		Seq    uint64
	}
	// HostCaughtUp reports that what an adopted host had to say of the time before is handled.
	// Until then nothing new is sent to it: the room does not know yet what it runs.
	HostCaughtUp struct{ Generation uint64 }
	// HostLost reports that the kernel of an earlier daemon is gone. Reason is a
	// sentence. Unstarted says that there never was one: nothing can have run. Known
	// are executions that another host has, which is adopted next.
	HostLost struct {
		Reason, Hint string
		Unstarted    bool
		Known        map[domain.ExecutionID]bool
	}
	// LaunchProgress is a line for people while an environment is prepared.
	LaunchProgress struct {
		Generation uint64
		Text       string
	}
	// LaunchFailed reports that no kernel came up.
	LaunchFailed struct {
		Generation uint64
		Err        *domain.Error
	}
	// KernelReady reports that the kernel answers and its outputs are heard.
	KernelReady struct {
		Generation uint64
		Seq        uint64
	}
	// KernelAccepted reports that the host has recorded an execution, before the kernel sees it.
	KernelAccepted struct {
		Generation uint64
		Seq        uint64
		Execution  domain.ExecutionID
		Source     string
		Note       string
	}
	// KernelMessage is a message of the kernel on iopub, decoded by the caller.
	KernelMessage struct {
		Generation uint64
		Seq        uint64
		Execution  domain.ExecutionID // "" when it belongs to none
		Message    Message
	}
	// KernelWantsInput reports an input_request of the running execution.
	KernelWantsInput struct {
		Generation uint64
		Seq        uint64
		Execution  domain.ExecutionID
		Prompt     string
		Password   bool
	}
	// ExecutionEnded reports that the kernel is done with an execution.
	ExecutionEnded struct {
		Generation uint64
		Seq        uint64
		Execution  domain.ExecutionID
		Status     string // ok, error or aborted, as in execute_reply
		Count      int64  // 0 when unknown
		Reason     string // what is odd about the end, or ""
	}
	// KernelDied reports that the kernel, or its host, is gone. Reason is a sentence.
	KernelDied struct {
		Generation uint64
		Seq        uint64
		Reason     string
		Hint       string
	}
	// Unattended reports that a room was loaded without a peer, or that its first one never arrived.
	Unattended struct{}
	// CellsRemoved reports cells that are no longer in the document.
	CellsRemoved struct{ Cells []domain.CellID }
	// CellsAdded reports cells that are new in the document and point at no execution.
	CellsAdded struct{ Cells []domain.CellID }
	// OutputsLoaded brings outputs that another program put into the file, as executions that are over.
	OutputsLoaded struct{ Executions []Execution }
	// DocumentChanged reports a change of the notebook that the file does not have yet.
	DocumentChanged struct{}
	// SaveRequested asks to write the file. An empty path means the room's own.
	SaveRequested struct {
		From      Caller
		Path      string
		Overwrite bool
	}
	// SaveFinished reports the end of the save that the Save effect of the same number started.
	SaveFinished struct {
		Number  uint64
		Saved   wire.NotebookSaved // answer to the peer that asked; on error only the path
		Err     *domain.Error
		TakenBy string // id of the notebook that has the path open, when that was the error
		Bound   bool   // the room has a file
	}
	// EndRequested ends the room at once, whoever is connected; its file was saved before.
	EndRequested struct{}
	// BarrierReached reports that the journal is on disk up to the barrier.
	BarrierReached struct{}
	// BarrierFailed reports that the disk refuses the journal: the room must not close.
	BarrierFailed struct{}
	// HostStopped reports that the last kernel host of a closing room is gone.
	HostStopped struct{}
	// WatcherClosed reports that the file is no longer watched.
	WatcherClosed struct{}
	// TimerFired reports a timer set by SetTimer.
	TimerFired struct{ Timer Timer }
)

// Item is one cell of a run, with the source that the document had when it was asked for.
type Item struct {
	Cell      domain.CellID // "" for code without a cell
	Execution domain.ExecutionID
	Source    string
	MayFail   bool // tagged raises-exception: its error does not stop the run
}

// KernelInfo describes a kernel for documents and listings.
type KernelInfo struct {
	Name      string
	Language  string
	EnvSource string
}

// Message is the part of a Jupyter message that outputs are made of.
type Message struct {
	Type     string
	Content  map[string]any
	Metadata map[string]any
}

func (PeerJoined) event()         {}
func (PeerLeft) event()           {}
func (KeepAliveSet) event()       {}
func (ExecuteRequested) event()   {}
func (CancelRequested) event()    {}
func (LaunchRequested) event()    {}
func (RestartRequested) event()   {}
func (ShutdownRequested) event()  {}
func (InterruptRequested) event() {}
func (InputGiven) event()         {}
func (KernelChosen) event()       {}
func (HostStarted) event()        {}
func (HostAdopted) event()        {}
func (HostCaughtUp) event()       {}
func (HostLost) event()           {}
func (KernelAccepted) event()     {}
func (CellsAdded) event()         {}
func (LaunchProgress) event()     {}
func (LaunchFailed) event()       {}
func (KernelReady) event()        {}
func (KernelMessage) event()      {}
func (KernelWantsInput) event()   {}
func (ExecutionEnded) event()     {}
func (KernelDied) event()         {}
func (Unattended) event()         {}
func (CellsRemoved) event()       {}
func (OutputsLoaded) event()      {}
func (DocumentChanged) event()    {}
func (SaveRequested) event()      {}
func (SaveFinished) event()       {}
func (EndRequested) event()       {}
func (BarrierReached) event()     {}
func (BarrierFailed) event()      {}
func (HostStopped) event()        {}
func (WatcherClosed) event()      {}
func (TimerFired) event()         {}
