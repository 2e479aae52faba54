package room

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// disk is what a restarted daemon finds.
type disk struct {
	paper  *paper
	points map[domain.CellID]domain.ExecutionID
	host   *simHost
	left   *simHost // given up for a launch
	seq    uint64
	state  []byte
	notes  map[domain.ExecutionID]string
	gone   []domain.ExecutionID // archived
}

func (d disk) clone() disk {
	d.paper, d.points, d.notes = d.paper.clone(), maps.Clone(d.points), maps.Clone(d.notes)
	d.gone = slices.Clone(d.gone)
	return d
}

// world is a room with everything around it: hosts, disk, peers, clock. It
// performs effects late, in parts or, when the daemon crashes, not at all, and
// checks what must hold at every step.
type world struct {
	t    *testing.T
	seed uint64
	rnd  *rand.Rand
	cfg  Config
	ids  *counter
	now  time.Time
	c    *Core

	disk    disk  // with everything written
	synced  *disk // what is safe, while the disk stalls
	waiting []func()
	blobs   map[string][]byte
	host    *simHost // of the present generation
	held    *simHost // the last host, until another one is launched
	hosts   []*simHost
	orders  []func() // on their way to the host
	pending []func() // things that end later: launches, saves, closing steps
	timers  map[Timer]bool
	peers   []PeerID
	nextID  PeerID
	asked   int

	ranOn     map[domain.ExecutionID]*simHost
	wants     map[domain.ExecutionID]*wanted
	tokens    int
	sent      domain.ExecutionID
	lastSeq   uint64
	statuses  map[domain.ExecutionID]string
	responses map[string]int // by request of this daemon
	peerOf    map[string]PeerID
	answers   map[string]int
	direct    map[string]bool // requests that want a direct answer
	acked     map[domain.ExecutionID]bool
	used      []domain.ExecutionID
	removed   bool
	crashed   bool
	trace     []string
	real      *runtimestate.Doc // beside the paper; nil in most worlds
}

func newWorld(t *testing.T, seed uint64) *world {
	cfg := DefaultConfig()
	cfg.KeepExecutions, cfg.InlineText = 3, 20
	w := &world{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), cfg: cfg, ids: &counter{}, now: time.Unix(1_000_000, 0),
		blobs: map[string][]byte{}, timers: map[Timer]bool{}, ranOn: map[domain.ExecutionID]*simHost{},
		wants: map[domain.ExecutionID]*wanted{}, acked: map[domain.ExecutionID]bool{},
		disk: disk{paper: newPaper(), points: map[domain.CellID]domain.ExecutionID{}, notes: map[domain.ExecutionID]string{}}}
	w.c = New(cfg, w.ids)
	w.forget()
	return w
}

// forget empties what only the present daemon knows.
func (w *world) forget() {
	w.waiting, w.orders, w.pending, w.synced = nil, nil, nil, nil
	w.timers, w.peers, w.sent, w.lastSeq = map[Timer]bool{}, nil, "", 0
	w.statuses, w.responses, w.answers, w.direct = map[domain.ExecutionID]string{}, map[string]int{}, map[string]int{}, map[string]bool{}
	w.removed, w.peerOf = false, map[string]PeerID{}
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s\n%s", w.seed, fmt.Sprintf(format, args...), strings.Join(w.trace, "\n"))
}

func (w *world) want(id domain.ExecutionID) *wanted {
	if w.wants[id] == nil {
		w.wants[id] = &wanted{}
	}
	return w.wants[id]
}

// updateDisplays replaces what every display of the executions that the room has shows.
func (w *world) updateDisplays(tok string) {
	for id := range w.c.execs {
		for i, s := range w.want(id).shown {
			if s.display {
				w.wants[id].shown[i].text = tok
			}
		}
	}
}

// do hands an event over and performs the effects.
func (w *world) do(ev Event) []Effect {
	w.now = w.now.Add(time.Duration(1+w.rnd.IntN(20)) * time.Millisecond)
	if w.trace != nil {
		w.trace = append(w.trace, fmt.Sprintf("%T%+v", ev, ev))
	}
	peers, busy := len(w.c.peers), w.c.busy()
	effects := w.c.Handle(w.now, ev)
	for _, e := range effects {
		if w.trace != nil {
			w.trace = append(w.trace, fmt.Sprintf("    %T%+v", e, e))
		}
		if s, ok := e.(StopKernel); ok && s.Closing {
			if _, ended := ev.(EndRequested); !ended && (peers > 0 || busy) {
				w.fatalf("the room closes with %d peers, busy %v", peers, busy)
			}
		}
		w.perform(e)
	}
	w.checkStatuses()
	return effects
}

func (w *world) perform(e Effect) {
	if w.rnd.IntN(8) == 0 && w.synced == nil && w.real == nil {
		d := w.disk.clone()
		w.synced = &d // the disk stalls in the middle of an event's effects
	}
	switch e := e.(type) {
	case SetTimer:
		w.timers[e.Timer] = true
	case StopTimer:
		delete(w.timers, e.Timer)
	case PutBlob:
		w.blobs[blobRef(e.Data, "", nil)["blob"].(string)] = e.Data
	case EditRuntime:
		w.edit(e)
	case PointCell:
		w.disk.points[e.Cell] = e.Execution
	case Respond:
		w.responded(e)
	case Archive:
		w.disk.gone = append(w.disk.gone, e.Execution.ID)
	case Answer:
		w.answered(e.To, e.Execution)
	case AnswerArchived:
		w.answered(e.To, Execution{ID: e.Execution, Status: statusDone})
	case HostExecute:
		w.execute(e)
	case LaunchKernel:
		w.launch(e)
	case StopKernel:
		w.stop(e)
	case SaveFile:
		w.later(func() { w.do(w.saved(e)) })
	case JournalBarrier:
		w.later(func() { w.onceSafe(func() { w.do(BarrierReached{}) }) })
	case CloseWatcher:
		w.later(func() { w.do(WatcherClosed{}) })
	case Remove:
		w.removed = true
	}
}

func (w *world) later(f func()) { w.pending = append(w.pending, f) }

// onceSafe calls f when everything so far is on disk.
func (w *world) onceSafe(f func()) {
	if w.synced == nil {
		f()
		return
	}
	w.waiting = append(w.waiting, f)
}

// sync ends a stall of the disk.
func (w *world) sync() {
	if w.synced == nil {
		return
	}
	w.synced = nil
	ready := w.waiting
	w.waiting = nil
	for _, f := range ready {
		f()
	}
}

func (w *world) edit(e EditRuntime) {
	for _, ref := range refsOf(e.Ops) {
		if _, ok := contentOf(ref, w.blobs); !ok {
			w.fatalf("the document refers to %v, which is not stored", ref)
		}
	}
	if err := w.disk.paper.apply(e); err != nil {
		w.fatalf("%v", err)
	}
	if w.real != nil {
		w.editReal(e)
	}
	w.disk.state = slices.Clone(e.State)
	for _, x := range e.Archived {
		w.disk.gone = append(w.disk.gone, x.ID)
	}
	for _, n := range e.Notes {
		w.disk.notes[n.Execution] = n.Text
	}
	if e.Leaves {
		if w.held != nil {
			w.disk.left, w.held = w.held, nil
		}
		w.disk.host, w.disk.seq = nil, 0
	}
	if e.Seq == 0 || w.host == nil {
		return
	}
	h := w.host
	if e.Seq > uint64(len(h.events)) || h.next < int(e.Seq) && h.high < e.Seq {
		w.fatalf("the document claims event %d, %d were delivered", e.Seq, h.next)
	}
	if run := w.c.execs[w.c.run]; run != nil && run.hidden {
		for _, ev := range h.events[:e.Seq] {
			if executionOf(ev.make(0)) == run.id {
				w.fatalf("event %d is of %s, which is not in the document, and %d is given up", ev.seq, run.id, e.Seq)
			}
		}
	}
	if w.disk.host == h && e.Seq < w.disk.seq {
		w.fatalf("progress went back from %d to %d", w.disk.seq, e.Seq)
	}
	w.disk.host, w.disk.seq = h, e.Seq
	w.onceSafe(func() { h.acked = max(h.acked, e.Seq) })
}

// refsOf returns the references that an edit writes.
func refsOf(ops []RuntimeOp) (refs []map[string]any) {
	add := func(m map[string]any) {
		for _, key := range []string{"text", "traceback"} {
			if ref, ok := m[key].(map[string]any); ok {
				refs = append(refs, ref)
			}
		}
		data, _ := m["data"].(map[string]any)
		for _, ref := range data {
			refs = append(refs, ref.(map[string]any))
		}
	}
	for _, op := range ops {
		switch op := op.(type) {
		case OpExecution:
			for _, o := range op.Execution.Outputs {
				add(o.Manifest)
			}
		case OpOutput:
			add(op.Output.Manifest)
		case OpStreamText:
			refs = append(refs, op.Ref)
		}
	}
	return refs
}

// responded notes an answer. Whoever hears that something was queued relies on it.
func (w *world) responded(e Respond) {
	tell := func() {
		w.responses[e.To.RequestID]++
		if e.Result != wire.ResultCellQueued && e.Result != wire.ResultAllCellsQueued {
			delete(w.direct, e.To.RequestID)
		}
		if b, ok := e.Body.(wire.CellQueued); ok {
			w.acked[domain.ExecutionID(b.ExecutionID)] = true
		}
		if b, ok := e.Body.(wire.AllCellsQueued); ok {
			for _, q := range b.Queued {
				w.acked[domain.ExecutionID(q.ExecutionID)] = true
			}
		}
	}
	if e.Durable {
		w.onceSafe(tell)
		return
	}
	tell()
}

func (w *world) answered(to Caller, x Execution) {
	if !w.direct[to.RequestID] {
		w.fatalf("request %s got an answer that it did not want", to.RequestID)
	}
	e := execution{status: x.Status}
	if !e.terminal() {
		w.fatalf("request %s was answered with status %s", to.RequestID, x.Status)
	}
	key := to.RequestID + " " + string(x.ID)
	if w.answers[key]++; w.answers[key] > 1 {
		w.fatalf("request %s was answered twice for %s", to.RequestID, x.ID)
	}
	w.answers[to.RequestID]++
}

func (w *world) execute(e HostExecute) {
	if w.sent != "" && w.sent != e.Execution {
		if x := w.c.execs[w.sent]; x != nil && !x.terminal() {
			w.fatalf("%s is sent while %s is with the host", e.Execution, w.sent)
		}
	}
	w.sent = e.Execution
	if x := w.c.execs[e.Execution]; x.seq < w.lastSeq && !w.crashed {
		w.fatalf("%s overtakes", e.Execution)
	} else {
		w.lastSeq = x.seq
	}
	h := w.host
	if h == nil {
		w.fatalf("%s is sent to no host", e.Execution)
	}
	w.orders = append(w.orders, func() { h.execute(e) })
}

func (w *world) launch(e LaunchKernel) {
	w.host = nil
	h := &simHost{w: w, gen: e.Generation, known: map[domain.ExecutionID]bool{}}
	w.onceSafe(func() {
		w.later(func() {
			if w.c.Generation() != e.Generation {
				return // called off
			}
			if w.rnd.IntN(8) == 0 {
				w.do(LaunchFailed{e.Generation, domain.Errorf(domain.CodeKernelUnavailable, "No kernel.").WithHint("Install one.")})
				return
			}
			w.hosts = append(w.hosts, h) // it runs, and the room does not know yet
			w.later(func() { w.started(e.Generation, h) })
		})
	})
}

func (w *world) started(generation uint64, h *simHost) {
	if w.c.Generation() != generation {
		h.discarded = true
		return
	}
	w.host, w.held, w.disk.host, w.disk.seq = h, h, h, 0
	w.do(HostStarted{generation, KernelInfo{Name: "python", Language: "python"}})
}

func (w *world) stop(e StopKernel) {
	h := w.host
	if h != nil && h.gen != e.Generation {
		h = nil
	}
	if h != nil {
		w.host = nil
	}
	w.onceSafe(func() {
		w.later(func() {
			if h != nil {
				h.discarded = true
			}
			if e.Closing {
				w.do(HostStopped{})
			}
		})
	})
}

func (w *world) saved(e SaveFile) SaveFinished {
	fin := SaveFinished{Number: e.Number, Bound: true, Saved: wire.NotebookSaved{Path: "/n.ipynb"}}
	if w.rnd.IntN(3) == 0 {
		fin.Err = domain.Errorf(domain.CodeSaveFailed, "No space.").WithHint("Make some.")
	}
	return fin
}

// checkStatuses makes sure that what is over stays as it ended.
func (w *world) checkStatuses() {
	running := 0
	for id, e := range w.c.execs {
		was := w.statuses[id]
		if old := (&execution{status: was}); old.terminal() && was != e.status {
			w.fatalf("%s went from %s to %s", id, was, e.status)
		}
		w.statuses[id] = e.status
		if e.status == statusRunning {
			running++
		}
	}
	if running > 1 {
		w.fatalf("%d executions run", running)
	}
}

// checkDocument compares the document with the core, once the outputs that wait are written.
func (w *world) checkDocument() {
	for w.timers[TimerFlush] || w.timers[TimerDefer] {
		for _, timer := range []Timer{TimerDefer, TimerFlush} {
			if w.timers[timer] {
				delete(w.timers, timer)
				w.do(TimerFired{timer})
			}
		}
	}
	if w.real != nil {
		w.checkReal()
	}
	p, c := w.disk.paper, w.c
	if c.RefusedClosing() {
		return
	}
	got := p.executions()
	if len(got) != len(c.order) {
		w.fatalf("the document has %d executions, the room %d", len(got), len(c.order))
	}
	for i, id := range c.order {
		want := c.execs[id].doc()
		if len(want.Outputs) == 0 {
			want.Outputs = nil
		}
		if !reflect.DeepEqual(got[i], want) {
			w.fatalf("execution %s is %+v in the document, %+v in the room", id, got[i], want)
		}
	}
	var queued []string
	for _, id := range c.queue {
		queued = append(queued, string(id))
	}
	if string(c.run) != p.executing || !slices.Equal(queued, p.queued) {
		w.fatalf("queue %q %q in the document, %q %q in the room", p.executing, p.queued, c.run, queued)
	}
	if p.kernel != c.kernelDoc() || !reflect.DeepEqual(p.input, c.pending.request) || p.progress != c.pending.text {
		w.fatalf("kernel %+v %v %q in the document, %+v %v %q in the room", p.kernel, p.input, p.progress, c.kernelDoc(), c.pending.request, c.pending.text)
	}
}
