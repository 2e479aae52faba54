package room

import (
	"fmt"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/wire"
)

// counter makes ids that tests can predict.
type counter struct{ n int }

func (c *counter) UUID() string {
	c.n++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", c.n)
}

// uuid is an execution id chosen by a caller.
func uuid(n int) domain.ExecutionID {
	return domain.ExecutionID(fmt.Sprintf("11111111-1111-4111-8111-%012d", n))
}

// rig drives a core by hand. The document is the one its changes make.
type rig struct {
	t      *testing.T
	c      *Core
	now    time.Time
	doc    *paper
	last   []Effect
	seq    uint64
	state  []byte
	blobs  map[string][]byte
	asked  int
	timers map[Timer]time.Duration
}

func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	r := &rig{t: t, c: New(cfg, &counter{}), now: time.Unix(1_000_000, 0), doc: newPaper(), blobs: map[string][]byte{}, timers: map[Timer]time.Duration{}}
	return r
}

// do hands an event over and performs its effects on the paper.
func (r *rig) do(ev Event) []Effect {
	r.t.Helper()
	r.now = r.now.Add(time.Millisecond)
	r.last = r.c.Handle(r.now, ev)
	for _, e := range r.last {
		switch e := e.(type) {
		case EditRuntime:
			if err := r.doc.apply(e); err != nil {
				r.t.Fatalf("%T: %v", ev, err)
			}
			r.state = e.State
		case SetTimer:
			r.timers[e.Timer] = e.After
		case StopTimer:
			delete(r.timers, e.Timer)
		case PutBlob:
			r.blobs[blobRef(e.Data, "", nil)["blob"].(string)] = e.Data
		}
	}
	return r.last
}

// fire lets a timer go off that must be set.
func (r *rig) fire(timer Timer) []Effect {
	r.t.Helper()
	if _, ok := r.timers[timer]; !ok {
		r.t.Fatalf("the timer %s is not set", timer)
	}
	delete(r.timers, timer)
	return r.do(TimerFired{timer})
}

// peer makes a caller of a client of ours that wants direct answers.
func (r *rig) caller(actor string) Caller {
	r.asked++
	return Caller{Peer: 1, RequestID: fmt.Sprint("q", r.asked), Actor: actor, Direct: true, OurClient: true}
}

// ready brings the kernel up.
func (r *rig) ready() *rig {
	r.t.Helper()
	r.do(PeerJoined{1})
	r.do(LaunchRequested{Automatic: true})
	r.do(HostStarted{r.c.Generation(), KernelInfo{Name: "python", Language: "python", EnvSource: "uv:prewarmed"}})
	r.do(KernelReady{r.c.Generation(), r.next()})
	return r
}

func (r *rig) next() uint64 {
	r.seq++
	return r.seq
}

// run asks for cells a, b ... by one request with ids of its own.
func (r *rig) run(actor string, ids ...int) []domain.ExecutionID {
	r.t.Helper()
	ev := ExecuteRequested{From: r.caller(actor), All: len(ids) > 1}
	var out []domain.ExecutionID
	for _, n := range ids {
		out = append(out, uuid(n))
		ev.Items = append(ev.Items, Item{Cell: domain.CellID(fmt.Sprint("cell", n)), Execution: uuid(n), Source: fmt.Sprint("source", n)})
	}
	r.do(ev)
	return out
}

func (r *rig) message(id domain.ExecutionID, typ string, content map[string]any) []Effect {
	r.t.Helper()
	return r.do(KernelMessage{r.c.Generation(), r.next(), id, Message{Type: typ, Content: content}})
}

func (r *rig) print(id domain.ExecutionID, text string) []Effect {
	r.t.Helper()
	return r.message(id, "stream", map[string]any{"name": "stdout", "text": text})
}

func (r *rig) end(id domain.ExecutionID, status string) []Effect {
	r.t.Helper()
	return r.do(ExecutionEnded{Generation: r.c.Generation(), Seq: r.next(), Execution: id, Status: status, Count: 1})
}

func (r *rig) fail(id domain.ExecutionID) []Effect {
	r.t.Helper()
	r.message(id, "error", map[string]any{"ename": "ValueError", "evalue": "bad", "traceback": []any{"bad"}})
	return r.end(id, "error")
}

// flush writes what waits for the flush timer.
func (r *rig) flush() {
	r.t.Helper()
	if _, ok := r.timers[TimerFlush]; ok {
		r.fire(TimerFlush)
	}
}

// status is what the document says of an execution, "" when it is not there.
func (r *rig) status(id domain.ExecutionID) string {
	if x, ok := r.doc.execs[string(id)]; ok {
		return x.Status
	}
	return ""
}

// shown is the text of an execution's outputs in the document, one after the other.
func (r *rig) shown(id domain.ExecutionID) string {
	r.t.Helper()
	x, ok := r.doc.execs[string(id)]
	if !ok {
		return "(not in the document)"
	}
	s := ""
	for _, o := range x.ordered() {
		s += r.textOf(o.Manifest)
	}
	return s
}

func (r *rig) textOf(m map[string]any) string {
	ref, _ := m["text"].(map[string]any)
	if data, ok := m["data"].(map[string]any); ok {
		ref, _ = data["text/plain"].(map[string]any)
	}
	if s, ok := m["evalue"].(string); ok {
		return s
	}
	s, ok := contentOf(ref, r.blobs)
	if !ok {
		r.t.Errorf("manifest %v has no content", m)
	}
	return s
}

// contentOf reads a reference of a manifest.
func contentOf(ref map[string]any, blobs map[string][]byte) (string, bool) {
	if s, ok := ref["inline"].(string); ok {
		return s, true
	}
	hash, _ := ref["blob"].(string)
	b, ok := blobs[hash]
	return string(b), ok
}

// all returns the effects of one type.
func allOf[T Effect](effects []Effect) (out []T) {
	for _, e := range effects {
		if x, ok := e.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

// one returns the only effect of its type.
func one[T Effect](t *testing.T, effects []Effect) T {
	t.Helper()
	found := allOf[T](effects)
	if len(found) != 1 {
		var zero T
		t.Fatalf("%d effects of type %T in %+v, want 1", len(found), zero, effects)
	}
	return found[0]
}

func none[T Effect](t *testing.T, effects []Effect) {
	t.Helper()
	if found := allOf[T](effects); len(found) > 0 {
		t.Fatalf("unexpected %+v", found)
	}
}

func result(t *testing.T, effects []Effect, want string) Respond {
	t.Helper()
	r := one[Respond](t, effects)
	if r.Result != want {
		t.Fatalf("answered %s %+v, want %s", r.Result, r.Body, want)
	}
	return r
}

func refused(t *testing.T, effects []Effect, code domain.Code) {
	t.Helper()
	r := result(t, effects, wire.ResultError)
	if b := r.Body.(wire.ErrorBody); b.Code != string(code) || b.Hint == "" && code != domain.CodeInternal {
		t.Errorf("refused with %+v, want code %s and a hint", b, code)
	}
}
