package room

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"runt/internal/domain"
)

// simEvent is one event of a simulated host. told is called when a room handles
// it for the first time.
type simEvent struct {
	seq  uint64
	make func(gen uint64) Event
	told func()
}

// simHost behaves as a kernel host does: it numbers its events, keeps them until
// they are acknowledged, runs an id once, and outlives the room's daemon.
type simHost struct {
	w         *world
	gen       uint64 // what the present room calls it
	ready     bool
	dead      bool // the kernel has ended
	discarded bool // the host is gone, and with it its events
	events    []simEvent
	next      int // index of the next event to be delivered
	high      uint64
	acked     uint64
	known     map[domain.ExecutionID]bool
	queue     []HostExecute
	current   *HostExecute
	begun     bool
	cr        bool // the current line will be overwritten
	last      domain.ExecutionID
	count     int64
}

func (h *simHost) emit(mk func(gen, seq uint64) Event, told func()) {
	seq := uint64(len(h.events) + 1)
	h.events = append(h.events, simEvent{seq, func(gen uint64) Event { return mk(gen, seq) }, told})
}

// execute takes an order.
func (h *simHost) execute(x HostExecute) {
	if h.known[x.Execution] || h.dead || h.discarded {
		return
	}
	if on := h.w.ranOn[x.Execution]; on != nil && on != h {
		h.w.fatalf("execution %s ran on two kernels", x.Execution)
	}
	h.w.ranOn[x.Execution] = h
	h.known[x.Execution] = true
	h.queue = append(h.queue, x)
	h.emit(func(gen, seq uint64) Event {
		return KernelAccepted{Generation: gen, Seq: seq, Execution: x.Execution, Source: x.Source, Note: x.Note}
	}, nil)
}

// step lets the kernel do something.
func (h *simHost) step(r *rand.Rand) {
	switch {
	case h.dead || h.discarded:
	case !h.ready:
		h.ready = true
		h.emit(func(gen, seq uint64) Event { return KernelReady{gen, seq} }, nil)
	case r.IntN(60) == 0:
		h.dead = true
		h.emit(func(gen, seq uint64) Event { return KernelDied{gen, seq, "The kernel died.", "Restart it."} }, nil)
	case h.current == nil && len(h.queue) > 0:
		h.current, h.queue, h.begun = &h.queue[0], slices.Clone(h.queue[1:]), false
	case h.current == nil && h.last != "" && r.IntN(8) == 0:
		h.print(h.last, "stdout", "\n", true)
	case h.current == nil:
	case !h.begun:
		h.begun = true
		h.count++
		n := h.count
		h.message(h.current.Execution, "execute_input", map[string]any{"execution_count": n}, nil)
	default:
		h.output(r)
	}
}

func (h *simHost) message(id domain.ExecutionID, typ string, content map[string]any, told func()) {
	h.emit(func(gen, seq uint64) Event {
		return KernelMessage{gen, seq, id, Message{Type: typ, Content: content}}
	}, told)
}

// output does one of the things that a running cell does.
func (h *simHost) output(r *rand.Rand) {
	id := h.current.Execution
	switch n := r.IntN(16); {
	case n < 5:
		h.print(id, "stdout", "\n", false)
	case n < 6:
		h.print(id, "stdout", "\r", false)
	case n < 7:
		h.print(id, "stderr", "\n", false)
	case n < 8:
		h.message(id, "clear_output", map[string]any{"wait": true}, func() { h.w.want(id).clear = true })
	case n < 9:
		h.message(id, "clear_output", map[string]any{}, func() { h.w.want(id).wipe() })
	case n < 10:
		tok := h.w.token()
		h.message(id, "display_data", map[string]any{"data": map[string]any{"text/plain": tok}, "transient": map[string]any{"display_id": "d"}},
			func() { h.w.want(id).add(tok, "", true) })
	case n < 11:
		tok := h.w.token()
		h.message(id, "update_display_data", map[string]any{"data": map[string]any{"text/plain": tok}, "transient": map[string]any{"display_id": "d"}},
			func() { h.w.updateDisplays(tok) })
	case n < 12:
		h.emit(func(gen, seq uint64) Event {
			return KernelWantsInput{Generation: gen, Seq: seq, Execution: id, Prompt: "?"}
		}, nil)
	case h.cr:
		h.print(id, "stdout", "\n", false)
	default:
		h.finish(r, id)
	}
}

func (h *simHost) finish(r *rand.Rand, id domain.ExecutionID) {
	status := "ok"
	if r.IntN(4) == 0 {
		status = "error"
		h.message(id, "error", map[string]any{"ename": "E", "evalue": "bad", "traceback": []any{}}, func() { h.w.want(id).fail() })
	}
	n := h.count
	h.emit(func(gen, seq uint64) Event {
		return ExecutionEnded{Generation: gen, Seq: seq, Execution: id, Status: status, Count: n}
	}, func() { h.w.want(id).ended = status })
	h.current, h.last = nil, id
}

func (h *simHost) print(id domain.ExecutionID, stream, end string, late bool) {
	tok := h.w.token()
	h.cr = end == "\r"
	h.message(id, "stream", map[string]any{"name": stream, "text": tok + end}, func() {
		x := h.w.want(id)
		x.late = x.late || late
		x.print(tok, stream, end)
	})
}

// wanted is what an execution has to show, made from the host's events alone.
type wanted struct {
	shown  []shownToken
	stream string // of the last output
	cr     bool   // the last token will be overwritten by the same stream
	clear  bool
	ended  string
	late   bool // something was printed after its end
}

type shownToken struct {
	text    string
	display bool
}

func (x *wanted) wipe() { x.shown, x.clear, x.cr, x.stream = nil, false, false, "" }

// fail is an error message: an output that is not compared.
func (x *wanted) fail() {
	if x.clear {
		x.wipe()
	}
	x.stream, x.cr = "", false
}

func (x *wanted) add(tok, stream string, display bool) {
	if x.clear {
		x.wipe()
	}
	x.shown = append(x.shown, shownToken{tok, display})
	x.stream, x.cr = stream, false
}

func (x *wanted) print(tok, stream, end string) {
	if x.cr && x.stream == stream && !x.clear {
		x.shown[len(x.shown)-1].text = tok
	} else {
		x.add(tok, stream, false)
	}
	x.cr = end == "\r"
}

func (w *world) token() string {
	w.tokens++
	return fmt.Sprintf("T%06d", w.tokens)
}
