package room

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"runt/internal/domain"
)

// sequences is how many random histories are lived through; RUNT_ROOM_SEQUENCES overrides it.
const sequences = 20_000

// TestModel lives through random histories of a room: requests, kernels that
// print, fail and die, timers, peers, saves, a disk that stalls, and daemons that
// crash at any moment and are followed by another one. See world for what must hold.
func TestModel(t *testing.T) {
	n := sequences
	if v, err := strconv.Atoi(os.Getenv("RUNT_ROOM_SEQUENCES")); err == nil {
		n = v
	}
	first := uint64(0)
	if v, err := strconv.ParseUint(os.Getenv("RUNT_ROOM_SEED"), 10, 64); err == nil {
		first, n = v, 1
	}
	const parts = 8
	for part := range parts {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			for i := part; i < n; i += parts {
				w := newWorld(t, first+uint64(i))
				if n == 1 {
					w.trace = []string{""}
				}
				w.live(30 + w.rnd.IntN(50))
			}
		})
	}
}

// live performs steps, then lets everything come to its end.
func (w *world) live(steps int) {
	w.do(PeerJoined{w.newPeer()})
	w.do(LaunchRequested{Automatic: true})
	for i := range steps {
		w.step()
		if i%8 == 7 {
			w.checkDocument()
		}
		if w.removed {
			w.restart(false)
		}
	}
	w.drain()
}

func (w *world) newPeer() PeerID {
	w.nextID++
	w.peers = append(w.peers, w.nextID)
	return w.nextID
}

func (w *world) caller() Caller {
	w.asked++
	c := Caller{RequestID: fmt.Sprint("q", w.asked), Actor: fmt.Sprint("a", w.rnd.IntN(3)), OurClient: w.rnd.IntN(4) > 0}
	c.Direct = c.OurClient && w.rnd.IntN(4) > 0
	if len(w.peers) > 0 {
		c.Peer = w.peers[w.rnd.IntN(len(w.peers))]
	}
	w.responses[c.RequestID] = 0
	w.peerOf[c.RequestID] = c.Peer
	return c
}

// step lets something happen.
func (w *world) step() {
	r := w.rnd
	switch n := r.IntN(100); {
	case n < 16:
		w.askExecute()
	case n < 24:
		w.request()
	case n < 60:
		w.hostStep()
	case n < 66:
		w.fireTimer()
	case n < 76:
		w.finishPending()
	case n < 80:
		w.stale()
	case n < 86:
		w.peerStep()
	case n < 89:
		w.do(DocumentChanged{})
	case n < 92:
		w.cells()
	case n < 95:
		w.sync()
	default:
		if r.IntN(2) == 0 {
			w.restart(true)
		}
	}
}

func (w *world) askExecute() {
	if len(w.peers) == 0 {
		return
	}
	ev := ExecuteRequested{From: w.caller(), Idempotent: w.rnd.IntN(2) == 0}
	n := 1
	if w.rnd.IntN(3) == 0 {
		ev.All, n = true, w.rnd.IntN(4)
	}
	for range n {
		it := Item{Cell: domain.CellID(fmt.Sprint("c", w.rnd.IntN(4))), Source: "s", MayFail: w.rnd.IntN(4) == 0}
		switch w.rnd.IntN(8) {
		case 0:
			it.Execution = "malformed"
		case 1, 2:
			if len(w.used) > 0 {
				it.Execution = w.used[w.rnd.IntN(len(w.used))]
			}
		case 3, 4, 5:
			it.Execution = uuid(w.asked*10 + w.rnd.IntN(2))
			w.used = append(w.used, it.Execution)
		}
		if !ev.All && w.rnd.IntN(8) == 0 {
			it.Cell = ""
		}
		ev.Items = append(ev.Items, it)
	}
	if ev.From.Direct && n > 0 {
		w.direct[ev.From.RequestID] = true
	}
	w.do(ev)
}

func (w *world) request() {
	if len(w.peers) == 0 {
		return
	}
	r := w.rnd
	switch r.IntN(12) {
	case 0, 1, 2:
		w.do(InterruptRequested{w.caller()})
	case 3, 4:
		id := domain.ExecutionID("none")
		if len(w.c.queue) > 0 {
			id = w.c.queue[r.IntN(len(w.c.queue))]
		}
		w.do(CancelRequested{w.caller(), id})
	case 5:
		w.do(RestartRequested{w.caller()})
	case 6:
		w.do(ShutdownRequested{w.caller()})
	case 7, 8:
		w.do(LaunchRequested{From: w.caller()})
	case 9:
		w.do(InputGiven{w.caller(), "line"})
	case 10:
		w.do(SaveRequested{From: w.caller()})
	case 11:
		if r.IntN(8) == 0 {
			w.do(EndRequested{})
		}
	}
}

// hostStep lets orders arrive, the kernel work, and events be delivered.
func (w *world) hostStep() {
	switch n := w.rnd.IntN(6); {
	case n < 2 && len(w.orders) > 0:
		f := w.orders[0]
		w.orders = w.orders[1:]
		f()
	case w.host == nil:
	case n < 4:
		w.host.step(w.rnd)
	default:
		w.deliver(w.host)
	}
}

func (w *world) deliver(h *simHost) bool {
	if h.discarded || h.next >= len(h.events) {
		return false
	}
	ev := h.events[h.next]
	h.next++
	made := ev.make(h.gen)
	if ev.seq > h.high {
		h.high = ev.seq
		if ev.told != nil {
			if id := executionOf(made); w.c.execs[id] != nil {
				ev.told()
			} else {
				w.want(id).late = true
			}
		}
	}
	w.do(made)
	return true
}

func executionOf(ev Event) domain.ExecutionID {
	switch ev := ev.(type) {
	case KernelAccepted:
		return ev.Execution
	case KernelMessage:
		return ev.Execution
	case ExecutionEnded:
		return ev.Execution
	}
	return ""
}

func (w *world) fireTimer() {
	var set []Timer
	for timer := range w.timers {
		set = append(set, timer)
	}
	slices.Sort(set)
	if len(set) > 0 {
		timer := set[w.rnd.IntN(len(set))]
		delete(w.timers, timer)
		if timer == TimerInput {
			w.want(w.c.run).late = true // there is a note among the outputs
		}
		w.do(TimerFired{timer})
	}
}

func (w *world) finishPending() {
	if len(w.pending) > 0 {
		i := w.rnd.IntN(len(w.pending))
		f := w.pending[i]
		w.pending = slices.Delete(w.pending, i, i+1)
		f()
	}
}

// stale hands over an event of an earlier generation, which must do nothing.
func (w *world) stale() {
	gen := w.c.Generation() - 1
	id := domain.ExecutionID("x")
	if w.c.run != "" {
		id = w.c.run
	}
	events := []Event{KernelReady{gen, 1}, KernelDied{gen, 1, "r", "h"}, ExecutionEnded{Generation: gen, Seq: 1, Execution: id, Status: "ok"},
		KernelMessage{gen, 1, id, Message{Type: "stream", Content: map[string]any{"name": "stdout", "text": "old"}}},
		KernelWantsInput{Generation: gen, Execution: id}, HostStarted{Generation: gen}, LaunchProgress{gen, "x"},
		LaunchFailed{gen, domain.Errorf(domain.CodeInternal, "x")}, KernelAccepted{Generation: gen, Execution: uuid(999999)}}
	ev := events[w.rnd.IntN(len(events))]
	if out := w.do(ev); len(out) > 0 {
		w.fatalf("%+v of an old generation does %+v", ev, out)
	}
}

func (w *world) peerStep() {
	if len(w.peers) == 0 || w.rnd.IntN(3) == 0 {
		if !w.c.RefusedClosing() {
			w.do(PeerJoined{w.newPeer()})
		}
		return
	}
	i := w.rnd.IntN(len(w.peers))
	p := w.peers[i]
	w.peers = slices.Delete(w.peers, i, i+1)
	w.do(PeerLeft{p})
}

func (w *world) cells() {
	cell := domain.CellID(fmt.Sprint("c", w.rnd.IntN(4)))
	switch w.rnd.IntN(3) {
	case 0:
		w.do(CellsRemoved{[]domain.CellID{cell}})
	case 1:
		w.do(CellsAdded{[]domain.CellID{cell}})
	default:
		w.do(OutputsLoaded{[]Execution{{ID: domain.ExecutionID(w.ids.UUID()), Cell: cell, Status: statusDone, Success: new(bool)}}})
	}
}

// restart lets another daemon load the room: after a crash with what was on
// disk, after the room's removal with everything. The newest host is adopted.
func (w *world) restart(crash bool) {
	if crash && w.synced != nil {
		w.disk = *w.synced
	} else if crash && w.rnd.IntN(2) > 0 {
		return // crashes are more interesting when something is not on disk
	}
	if w.trace != nil {
		w.trace = append(w.trace, fmt.Sprintf("RESTART crash=%v disk=%+v %+v", crash, w.disk, w.disk.paper))
	}
	if !crash { // a room is gone when the hosts that it gave up are
		for _, h := range w.hosts {
			h.discarded = true
		}
	}
	w.forget()
	w.host, w.crashed = nil, w.crashed || crash
	w.held = w.disk.host
	w.c = New(w.cfg, w.ids)
	d := w.disk
	kept := Restored{Latest: d.points, Running: domain.ExecutionID(d.paper.executing), Kernel: d.paper.kernel, Input: d.paper.input,
		Notes: d.notes, State: d.state, Archived: slices.Clone(d.gone), Text: func(ref map[string]any) (string, bool) { return contentOf(ref, w.blobs) }}
	for _, x := range d.paper.executions() {
		kept.Executions = append(kept.Executions, Execution{ID: domain.ExecutionID(x.ID), Cell: domain.CellID(x.CellID), Status: x.Status,
			Source: x.Source, Submitter: x.Submitter, Count: x.Count, Success: x.Success, Seq: x.Seq, Outputs: x.Outputs})
	}
	for _, q := range d.paper.queued {
		kept.Queued = append(kept.Queued, domain.ExecutionID(q))
	}
	w.disk.points = map[domain.CellID]domain.ExecutionID{}
	for cell, id := range d.points {
		w.disk.points[cell] = id
	}
	w.c.Restore(kept)
	w.do(Unattended{})
	w.adopt()
	w.do(PeerJoined{w.newPeer()})
}

// adopt does what the daemon does about the hosts that it finds. Of several the
// newest is taken. What it has is heard before anybody else is.
func (w *world) adopt() {
	var host *simHost
	found := 0
	lifecycle := w.disk.paper.kernel.Lifecycle
	for _, h := range slices.Backward(w.hosts) {
		if h.discarded {
			continue
		}
		found++
		if w.disk.host != nil && !w.disk.host.discarded && h != w.disk.host {
			h.discarded = true
			continue
		}
		leftover := h == w.disk.left || h == w.disk.host && lifecycle != Launching && lifecycle != Running
		if (found == 1 || h == w.disk.host) && !leftover {
			if w.rnd.IntN(10) > 0 {
				host = h
				continue
			}
			w.forgive(h)
		}
		h.discarded = true
	}
	seq, known := uint64(0), map[domain.ExecutionID]bool{}
	if host != nil {
		if w.disk.host == host {
			seq = w.disk.seq
		}
		if host.acked > seq {
			w.fatalf("the host forgot up to %d, the documents have up to %d", host.acked, seq)
		}
		for _, ev := range host.events[seq:] {
			if a, ok := ev.make(0).(KernelAccepted); ok {
				known[a.Execution] = true
			}
		}
	}
	if host == nil || w.disk.host != nil && w.disk.host != host {
		w.do(HostLost{Reason: "The kernel was lost.", Hint: "Run it again.", Unstarted: found == 0 && w.disk.host == nil, Known: known})
	}
	if host == nil {
		if lifecycle != NotStarted && lifecycle != Shutdown || w.c.Busy() {
			w.do(LaunchRequested{Automatic: true})
		}
		return
	}
	w.held = host
	w.host, host.gen, host.next = host, w.c.Generation()+1, int(seq)
	w.do(HostAdopted{Kernel: KernelInfo{Name: "python", Language: "python"}, Ready: host.ready, Seq: seq})
	for last := len(host.events); w.host == host && host.next < last; {
		w.deliver(host)
	}
	if w.host == host {
		w.do(HostCaughtUp{host.gen})
	}
	if w.host == host && host.dead {
		w.do(KernelDied{host.gen, 0, "The kernel was gone.", "Restart it."})
	}
}

// forgive is for a host that dies with its daemon: what only it had is lost.
func (w *world) forgive(h *simHost) {
	for id := range h.known {
		w.want(id).late = true
		delete(w.ranOn, id)
		if _, ok := w.disk.paper.execs[string(id)]; !ok {
			delete(w.acked, id)
		}
	}
}

// drain lets everything that was begun end, and checks how it ended.
func (w *world) drain() {
	for range 10_000 {
		w.sync()
		switch {
		case w.removed:
			w.restart(false)
		case len(w.orders) > 0:
			f := w.orders[0]
			w.orders = w.orders[1:]
			f()
		case len(w.pending) > 0:
			f := w.pending[0]
			w.pending = w.pending[1:]
			f()
		case w.host != nil && w.deliver(w.host):
		case w.host != nil && (w.c.busy() || !w.host.ready) && !w.host.dead:
			w.host.step(w.rnd)
		case w.timers[TimerInterrupt]:
			delete(w.timers, TimerInterrupt)
			w.do(TimerFired{TimerInterrupt})
		default:
			w.checkDocument()
			w.checkEnd()
			return
		}
	}
	w.fatalf("the room does not come to rest: busy %v, kernel %s", w.c.busy(), w.c.kernel.lifecycle)
}

func (w *world) checkEnd() {
	if w.c.busy() && !w.c.RefusedClosing() {
		w.fatalf("%q and %q are left", w.c.run, w.c.queue)
	}
	for q, n := range w.responses {
		if n > 1 || n == 0 && slices.Contains(w.peers, w.peerOf[q]) {
			w.fatalf("request %s was answered %d times", q, n)
		}
	}
	for q := range w.direct {
		if w.answers[q] == 0 {
			w.fatalf("request %s was never told the end", q)
		}
	}
	for id := range w.acked {
		if w.c.execs[id] == nil && !w.c.isArchived(id) {
			w.fatalf("execution %s was acknowledged and is gone", id)
		}
	}
	for id := range w.c.execs {
		w.checkOutputs(id)
	}
}

// checkOutputs compares what an execution shows with what its kernel put out.
func (w *world) checkOutputs(id domain.ExecutionID) {
	want := w.wants[id]
	x := w.disk.paper.execs[string(id)]
	if want == nil || want.late || x.ID == "" {
		return
	}
	if want.ended == "ok" && x.Status != statusDone {
		w.fatalf("%s ended well and is %s", id, x.Status)
	}
	var shown []string
	for _, o := range x.ordered() {
		if o.Manifest["output_type"] == "error" {
			continue
		}
		ref, _ := o.Manifest["text"].(map[string]any)
		if data, ok := o.Manifest["data"].(map[string]any); ok {
			ref, _ = data["text/plain"].(map[string]any)
		}
		text, _ := contentOf(ref, w.blobs)
		shown = append(shown, strings.Fields(text)...)
	}
	var tokens []string
	for _, s := range want.shown {
		tokens = append(tokens, s.text)
	}
	if !slices.Equal(shown, tokens) {
		w.fatalf("execution %s shows %v, the kernel put out %v", id, shown, tokens)
	}
}
