package room

import (
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
)

// Limits of keep_alive_secs and what a room uses when it is not told.
const (
	DefaultKeepAlive = 30 * time.Second
	MinKeepAlive     = 5 * time.Second
	MaxKeepAlive     = 7 * 24 * time.Hour
)

// Config holds the numbers a room works by. DefaultConfig says why each is what it is.
type Config struct {
	KeepAlive       time.Duration // from the last peer's leaving to the room's closing
	DeferRunning    time.Duration // how long a cell may run before documents say "running"
	FirstFlush      time.Duration // from the first output to its first writing
	Flush           time.Duration // between later writings of outputs
	BigFlush        time.Duration // the same when an output is larger than BigText
	BigText         int           // bytes
	AutosaveQuiet   time.Duration // without changes before an automatic save
	AutosaveMax     time.Duration // at most this far behind
	InterruptReport time.Duration // how long an interrupt waits for the cell to end before it answers
	InputTimeout    time.Duration // how long input() waits for somebody
	KeepExecutions  int           // executions kept in the document beyond those cells point at
	InlineText      int           // bytes of text kept in the document; longer text is a blob
	MaxStreamText   int           // bytes kept of one stream output
	MaxOutputs      int           // outputs kept of one execution
}

// DefaultConfig returns the numbers of the design: 8 ms hides the running entry
// of short cells only, few executions and inline text keep replicas cheap to re-read.
func DefaultConfig() Config {
	return Config{
		KeepAlive: DefaultKeepAlive, DeferRunning: 8 * time.Millisecond,
		FirstFlush: 30 * time.Millisecond, Flush: 75 * time.Millisecond, BigFlush: 500 * time.Millisecond, BigText: 64 << 10,
		AutosaveQuiet: 2 * time.Second, AutosaveMax: 10 * time.Second,
		InterruptReport: 2 * time.Second, InputTimeout: 10 * time.Minute,
		KeepExecutions: 8, InlineText: 8 << 10, MaxStreamText: 8 << 20, MaxOutputs: 2000,
	}
}

// Core is the state of one room. It is not safe for concurrent use: one
// goroutine owns it.
type Core struct {
	cfg   Config
	ids   domain.IDSource
	now   time.Time
	out   []Effect
	later []Effect // of the event being handled, performed after its changes are written

	peers     map[PeerID]bool
	hadPeers  bool
	keepAlive time.Duration
	phase     Phase
	closing   closingStep
	waiting   bool // a peer came while closing and the room turns back when it can
	evictSet  bool

	kernel       kernelState
	execs        map[domain.ExecutionID]*execution
	order        []domain.ExecutionID // in order of submission, those in the document
	latest       map[domain.CellID]domain.ExecutionID
	queue        []domain.ExecutionID
	run          domain.ExecutionID // running or sent, "" when none
	restored     domain.ExecutionID // what an earlier daemon was running
	seq          uint64             // next execution sequence number
	runs         uint64             // numbers the requests to execute
	shown        map[string]map[displayTarget]bool
	archived     []domain.ExecutionID // the last few that left the document
	interrupters []interrupter

	hostSeq    uint64 // last kernel event handled
	flushArmed bool
	pending    pendingChange
	saves      saveState
}

// Phase is where a room is in its life.
type Phase int

// The phases of a room.
const (
	Active  Phase = iota // has peers, or none came yet
	Idle                 // the eviction timer runs, or waits for running work
	Closing              // on its way out
	Removed
)

// String returns the phase in one word.
func (p Phase) String() string {
	return [...]string{"active", "idle", "closing", "removed"}[p]
}

// New returns the core of a room without peers and kernel.
func New(cfg Config, ids domain.IDSource) *Core {
	return &Core{
		cfg: cfg, ids: ids, keepAlive: clampKeepAlive(cfg.KeepAlive, cfg.KeepAlive),
		peers: map[PeerID]bool{}, execs: map[domain.ExecutionID]*execution{},
		latest: map[domain.CellID]domain.ExecutionID{}, shown: map[string]map[displayTarget]bool{},
		kernel: kernelState{lifecycle: NotStarted}, pending: pendingChange{kernel: runtimestate.Kernel{Lifecycle: NotStarted}},
	}
}

// Handle applies an event that happened at now and returns what has to be done.
// Times must not go backwards.
func (c *Core) Handle(now time.Time, ev Event) []Effect {
	c.now, c.out, c.later = now, nil, nil
	if !c.refuse(ev) {
		c.apply(ev)
	}
	c.settle()
	c.write()
	c.saves.starting = false
	out := append(c.out, c.later...)
	c.out, c.later = nil, nil
	return out
}

func (c *Core) apply(ev Event) {
	switch ev := ev.(type) {
	case PeerJoined, PeerLeft, KeepAliveSet, Unattended:
		c.handlePeers(ev)
	case ExecuteRequested:
		c.execute(ev)
	case CancelRequested:
		c.cancelOne(ev)
	case LaunchRequested, RestartRequested, ShutdownRequested, InterruptRequested, InputGiven:
		c.handleKernelRequest(ev)
	case KernelChosen, HostStarted, HostAdopted, HostCaughtUp, HostLost, LaunchProgress, LaunchFailed, KernelReady, KernelDied:
		c.handleKernelState(ev)
	case KernelAccepted:
		c.accepted(ev)
	case KernelMessage:
		c.kernelMessage(ev)
	case KernelWantsInput:
		c.wantsInput(ev)
	case ExecutionEnded:
		c.executionEnded(ev)
	case CellsRemoved:
		c.cellsRemoved(ev.Cells)
	case CellsAdded:
		c.cellsAdded(ev.Cells)
	case OutputsLoaded:
		c.outputsLoaded(ev.Executions)
	case DocumentChanged, SaveRequested, SaveFinished:
		c.handleSave(ev)
	case EndRequested:
		c.end()
	case BarrierReached, BarrierFailed, HostStopped, WatcherClosed:
		c.advanceClosing(ev)
	case TimerFired:
		c.timer(ev.Timer)
	}
}

func (c *Core) emit(e ...Effect) { c.out = append(c.out, e...) }

// after has effects performed once the changes of this event are written.
func (c *Core) after(e ...Effect) { c.later = append(c.later, e...) }

func (c *Core) timer(t Timer) {
	switch t {
	case TimerEvict:
		c.evict()
	case TimerDefer:
		c.reveal()
	case TimerFlush:
		c.flushArmed = false
		c.pending.due = true
	case TimerAutosave, TimerAutosaveMax:
		c.autosave()
	case TimerInterrupt:
		c.answerInterrupts("")
	case TimerInput:
		c.inputExpired()
	}
}

// settle re-checks what holds the eviction timer after every event.
func (c *Core) settle() {
	if c.phase == Idle && !c.busy() && !c.evictArmed() {
		c.armEvict()
	}
}

// Busy says whether an execution is queued or running.
func (c *Core) Busy() bool { return c.busy() }

func (c *Core) busy() bool { return c.run != "" || len(c.queue) > 0 }

// Status is what listings show of a room.
type Status struct {
	Phase    Phase
	Peers    int
	HadPeers bool
	Kernel   KernelInfo
	State    string // lifecycle of the kernel
	Activity string // idle, busy or ""
	Queued   int
	Running  domain.ExecutionID
	Dirty    bool // the file is behind the document
}

// Status returns the state of the room for listings.
func (c *Core) Status() Status {
	s := Status{Phase: c.phase, Peers: len(c.peers), HadPeers: c.hadPeers, Kernel: c.kernel.info,
		State: c.kernel.lifecycle, Queued: len(c.queue), Running: c.run, Dirty: c.saves.dirty}
	if c.kernel.lifecycle == Running {
		s.Activity = "idle"
		if c.run != "" {
			s.Activity = "busy"
		}
	}
	return s
}
