package roomactor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"runt/internal/automerge"
	"runt/internal/blob"
	"runt/internal/domain"
	"runt/internal/env"
	"runt/internal/failpoint"
	"runt/internal/filewatch"
	"runt/internal/journal"
	"runt/internal/kernel"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// inboxSize is how much may wait for a room before its senders do.
const inboxSize = 256

// Resolver finds or makes the environment of a kernel.
type Resolver interface {
	// Resolve returns how to start the kernel that a notebook asks for. Progress is called with lines for people.
	Resolve(ctx context.Context, req env.Request, progress func(string)) (kernel.LaunchSpec, error)
}

// Registry is what a room needs of the daemon's list of rooms. Its methods may
// be called from any goroutine and do not wait for a room.
type Registry interface {
	// Bind makes path the room's own. It fails when another notebook has it and returns that one's id.
	Bind(id domain.NotebookID, path string) (takenBy domain.NotebookID, err error)
	// Forget takes a room out of the list, if it is still this one.
	Forget(r *Room)
	// Failed tells of a room that ended by a fault, before Forget. It is to be loaded again from what is left of it.
	Failed(w Wreck)
	// Archived returns the record of an execution that was archived.
	Archived(ctx context.Context, id domain.ExecutionID) (wire.ExecutionRecord, bool)
	// Archive keeps the record of an execution that left its document.
	Archive(rec wire.ExecutionRecord)
	// Clone makes a room of its own, in memory only, from saved cells.
	Clone(ctx context.Context, from *Room, snapshot Snapshot) (domain.NotebookID, error)
}

// Deps is what all rooms of a daemon share.
type Deps struct {
	Engine      *automerge.Engine
	Blobs       *blob.Store
	Env         Resolver
	Files       *filewatch.Watcher
	Registry    Registry
	RoomsDir    string   // holds a folder per notebook: journal, last saved version
	HostsDir    string   // holds a folder per kernel host; its path is short
	HostCommand []string // starts a kernel host
	OrphanAfter time.Duration
	PeerIdle    time.Duration // how long a peer may say nothing; 0 for the default
	CompactAt   int64         // size of a journal that is rewritten; 0 for the default
	Info        wire.Implementation
	Version     string // daemon_version
	User        string // the principal of local peers
	IDs         domain.IDSource
	Now         func() time.Time
	Config      room.Config
	Log         *slog.Logger
}

// Room is one open notebook. See the package comment for what may be called from where.
type Room struct {
	deps Deps
	log  *slog.Logger
	id   domain.NotebookID

	stepPoint string // failpoint that every step of this room passes

	inbox   chan func()
	stop    chan struct{} // closed by Close
	gone    chan struct{} // closed when the actor has ended
	stopped sync.Once
	wg      sync.WaitGroup // goroutines that post
	ctx     context.Context
	cancel  context.CancelCauseFunc

	infoMu sync.Mutex // guards info
	info   Info

	unclaimedMu sync.Mutex            // guards unclaimed
	unclaimed   map[*kernel.Host]bool // started, and not with the actor yet

	// Everything below belongs to the actor.
	core       *room.Core
	events     []room.Event
	handling   bool
	failed     bool
	shard      *automerge.Shard
	nb         *notebook.Doc
	rs         *runtimestate.Doc
	docs       [numDocs]*document
	journal    *journal.Journal                            // nil for a room in memory only
	durable    chan struct{}                               // of capacity 1: the journal got further
	refused    chan struct{}                               // of capacity 1: the disk refused to take the journal
	leaving    map[domain.ExecutionID]wire.ExecutionRecord // out of the document, and not archived yet
	runState   []byte                                      // of the last change of the runtime state document
	compacted  int64                                       // size of the journal when it was last rewritten
	waits      []durableWait
	gates      []*gate
	peers      map[room.PeerID]*peer
	nextPeer   room.PeerID
	timers     map[room.Timer]*time.Timer
	path       string
	kind       Kind
	workingDir string
	kernelName string
	made       bool // by this room, not from a file
	host       *hostHandle
	callOff    context.CancelFunc   // ends the launch under way, if there is one
	stopping   map[*hostHandle]bool // given up, and not told yet
	hostDir    string               // folder of the last host, until another one is launched
	file       fileState
	onSaved    []func() // called after the next save
	cells      map[domain.CellID]bool
}

// Kind says where a notebook lives.
type Kind string

// The kinds of notebooks.
const (
	FileBacked Kind = "file"      // has a path
	Untitled   Kind = "untitled"  // in the journal only
	Ephemeral  Kind = "ephemeral" // in memory only
)

// Info is a copy of what listings show; it may be read from any goroutine.
type Info struct {
	ID     domain.NotebookID
	Path   string
	Kind   Kind
	Cells  int
	Labels []string
	Status room.Status
}

func newRoom(deps Deps, id domain.NotebookID) *Room {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Room{
		deps: deps, log: deps.Log.With("room", string(id)), id: id,
		inbox: make(chan func(), inboxSize), stop: make(chan struct{}), gone: make(chan struct{}),
		ctx: ctx, cancel: cancel, core: room.New(deps.Config, deps.IDs),
		stepPoint: "roomactor/step/" + string(id), durable: make(chan struct{}, 1), peers: map[room.PeerID]*peer{}, timers: map[room.Timer]*time.Timer{},
		cells: map[domain.CellID]bool{}, refused: make(chan struct{}, 1), unclaimed: map[*kernel.Host]bool{},
		stopping: map[*hostHandle]bool{}, callOff: func() {},
	}
}

// ID returns the notebook's id.
func (r *Room) ID() domain.NotebookID { return r.id }

// Gone is closed when the room has ended.
func (r *Room) Gone() <-chan struct{} { return r.gone }

// Info returns what listings show.
func (r *Room) Info() Info {
	r.infoMu.Lock()
	defer r.infoMu.Unlock()
	i := r.info
	i.Labels = append([]string(nil), i.Labels...)
	return i
}

func (r *Room) publishInfo() {
	i := Info{ID: r.id, Path: r.path, Kind: r.kind, Cells: r.nb.Len(), Status: r.core.Status()}
	for _, p := range r.peers {
		i.Labels = append(i.Labels, p.label)
	}
	r.infoMu.Lock()
	r.info = i
	r.infoMu.Unlock()
}

// run is the actor.
func (r *Room) run() {
	defer close(r.gone)
	defer r.teardown()
	for {
		select {
		case f := <-r.inbox:
			r.guard(f)
		case <-r.durable:
			r.guard(r.releaseDurable)
		case <-r.refused:
			r.guard(r.failDurable)
		case <-r.stop:
			return
		}
		if r.failed {
			return
		}
	}
}

// guard calls f. A panic ends this room only: its peers reconnect and find it
// loaded again from its journal.
func (r *Room) guard(f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.log.Error("room failed", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			r.failed = true
		}
	}()
	r.pass(r.stepPoint)
	f()
	r.publishInfo()
}

// pass is a place where tests make the room fail or wait.
func (r *Room) pass(point string) {
	if err := failpoint.Inject(point); err != nil {
		panic(err)
	}
}

// post hands f to the actor; it returns false when the room has ended.
func (r *Room) post(f func()) bool {
	select {
	case r.inbox <- f:
		return true
	case <-r.gone:
		return false
	case <-r.ctx.Done():
		return false
	}
}

// call runs f in the actor and waits for it.
func (r *Room) call(ctx context.Context, f func()) error {
	done := make(chan struct{})
	if !r.post(func() { f(); close(done) }) {
		return errGone
	}
	select {
	case <-done:
		return nil
	case <-r.gone:
		return errGone
	case <-ctx.Done():
		return fmt.Errorf("wait for room: %w", context.Cause(ctx))
	}
}

var errGone = domain.Errorf(domain.CodeNotebookUnavailable, "The notebook was closed.").
	WithHint("Connect to it again.")

// start runs f in a goroutine of the room. f must end soon after r.ctx does. A
// panic in it is one of the room.
func (r *Room) start(f func(ctx context.Context)) {
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		defer func() {
			if v := recover(); v != nil {
				r.log.Error("room failed", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				r.post(func() { r.failed = true })
			}
		}()
		f(r.ctx)
	}()
}

// Close ends the room without stopping its kernel, and waits.
func (r *Room) Close() {
	r.stopped.Do(func() { close(r.stop) })
	<-r.gone
}

// teardown frees everything the actor holds. Peers are told by the closed socket.
func (r *Room) teardown() {
	r.pass("roomactor/teardown")
	r.cancel(errGone)
	for _, t := range r.timers {
		t.Stop()
	}
	for _, p := range r.peers {
		p.idle.Stop()
		p.close()
	}
	if r.host != nil {
		r.host.detach()
	}
	for h := range r.stopping {
		h.detach()
	}
	r.closeWatcher()
	r.wg.Wait()
	r.discardUnclaimed()
	r.closeJournal()
	if r.failed {
		r.deps.Registry.Failed(r.wreck())
	}
	for _, d := range r.docs {
		d.engine.Close()
	}
	r.shard.Close()
	r.deps.Registry.Forget(r)
}

// handle gives an event to the core and performs what comes back. Called while
// effects are performed it only queues the event.
func (r *Room) handle(ev room.Event) {
	r.events = append(r.events, ev)
	if r.handling {
		return
	}
	r.handling = true
	defer func() { r.handling = false }()
	for len(r.events) > 0 {
		ev := r.events[0]
		r.events = r.events[1:]
		for _, e := range r.core.Handle(r.deps.Now(), ev) {
			r.perform(e)
		}
	}
}

func (r *Room) perform(e room.Effect) {
	switch e := e.(type) {
	case room.SetTimer:
		r.setTimer(e.Timer, e.After)
	case room.StopTimer:
		r.stopTimer(e.Timer)
	case room.Respond:
		r.performRespond(e)
	case room.Answer:
		r.answer(e.To, e.Execution)
	case room.AnswerArchived:
		r.answerArchived(e)
	case room.EditRuntime:
		r.editRuntime(e)
	case room.PointCell:
		r.pointCell(e)
	case room.PutBlob:
		r.putBlob(e)
	case room.Archive:
		r.archive(e.Execution)
	case room.SaveFile:
		r.saveFile(e)
	case room.JournalBarrier:
		r.durableOr(r.journalEnd(), func() { r.pass("roomactor/barrier"); r.handle(room.BarrierReached{}) }, func(error) { r.handle(room.BarrierFailed{}) })
	case room.CloseWatcher:
		r.pass("roomactor/close-watcher")
		r.closeWatcher()
		r.handle(room.WatcherClosed{})
	case room.Remove:
		r.evicted()
	default:
		r.performKernel(e)
	}
}

func (r *Room) setTimer(name room.Timer, after time.Duration) {
	r.stopTimer(name)
	var t *time.Timer
	t = time.AfterFunc(after, func() {
		r.post(func() {
			if r.timers[name] == t {
				delete(r.timers, name)
				r.handle(room.TimerFired{Timer: name})
			}
		})
	})
	r.timers[name] = t
}

func (r *Room) stopTimer(name room.Timer) {
	if t := r.timers[name]; t != nil {
		t.Stop()
		delete(r.timers, name)
	}
}

// evicted ends the room after its ordered shut-down.
func (r *Room) evicted() {
	r.log.Info("room evicted")
	if !r.forgetJournal() {
		r.compact(compactSmall)
	}
	r.stopped.Do(func() { close(r.stop) })
}
