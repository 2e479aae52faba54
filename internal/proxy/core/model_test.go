package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"runt/internal/supervise"
)

// world is a client, a child and a clock that do what chance says, and the
// promises that a Core must keep meanwhile.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	sick  bool // children die more often than they answer
	rig   *rig
	trace []string

	requests map[string]*request // by the id the client wrote
	order    []string
	proc     proc
	lastGen  int
	breaker  modelBreaker
	held     []Notebook
	exits    int
}

type request struct {
	tool     string
	line     string // as the first child got it
	answers  int
	sentTo   map[int]bool
	canceled bool
}

// proc is the one process there may be.
type proc struct {
	gen                int
	asked, up, greeted bool // start asked for; running; handshake answered
	ending             bool
	after              bool     // it has been sent "initialized"
	has                []string // ids of requests it has not answered
}

// modelBreaker is told crashes and answers and says when a start is allowed.
type modelBreaker struct {
	crashes []time.Time
	until   time.Time
	trial   bool
}

func (b *modelBreaker) crash(now time.Time) {
	b.crashes = slices.DeleteFunc(append(b.crashes, now), func(t time.Time) bool { return now.Sub(t) >= 30*time.Second })
	if b.trial || len(b.crashes) >= 5 {
		b.until, b.trial = now.Add(time.Minute), false
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), sick: seed%4 == 0, requests: map[string]*request{}}
	w.rig = newRig(t, func(c *Config) { c.Rand = w.rng.Float64 })
	return w
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\nafter:\n%s", fmt.Sprintf(format, args...), strings.Join(w.trace[max(0, len(w.trace)-40):], "\n"))
}

// do gives the core one event and checks what it wants done.
func (w *world) do(ev Event) {
	w.t.Helper()
	text := fmt.Sprintf("%T %+v", ev, ev)
	if l, ok := ev.(ClientLine); ok {
		text = "client: " + string(l.Line)
	} else if l, ok := ev.(ChildLine); ok {
		text = "child: " + string(l.Line)
	}
	w.trace = append(w.trace, fmt.Sprintf("%8v %s", w.rig.now.Sub(epoch), text))
	for _, e := range w.rig.handle(ev) {
		w.check(e)
	}
}

func (w *world) check(e Effect) {
	w.t.Helper()
	switch e := e.(type) {
	case SendClient:
		w.checkClient(e.Line)
	case SendChild:
		w.checkChild(e)
	case StartChild:
		w.checkStart(e)
	case EndChild:
		if e.Gen != w.proc.gen || !w.proc.up || w.proc.ending {
			w.fail("EndChild of %d, process %+v", e.Gen, w.proc)
		}
		w.proc.ending = true
	case Exit:
		if w.exits++; w.exits > 1 || w.proc.up || w.proc.asked {
			w.fail("exit %d with process %+v", w.exits, w.proc)
		}
	}
}

func (w *world) checkClient(line []byte) {
	w.t.Helper()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(line, &m); err != nil {
		w.fail("not JSON: %s", line)
	}
	if m.Method != "" || string(m.ID) == "null" {
		return
	}
	r := w.requests[string(m.ID)]
	if r == nil {
		w.fail("an answer to nothing: %s", line)
	}
	if r.answers++; r.answers > 1 {
		w.fail("a second answer: %s", line)
	}
}

func (w *world) checkChild(e SendChild) {
	w.t.Helper()
	if e.Gen != w.proc.gen || !w.proc.up {
		w.fail("a line to child %d, process %+v: %s", e.Gen, w.proc, e.Line)
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal(e.Line, &m); err != nil {
		w.fail("not JSON: %s", e.Line)
	}
	if m.Method == "notifications/initialized" {
		w.proc.after = w.proc.greeted
	}
	id := string(m.ID)
	r := w.requests[id]
	if m.Method == "" || m.ID == nil || r == nil {
		return
	}
	switch {
	case !w.proc.after || w.proc.ending:
		w.fail("a call to a child that is not open: %s", e.Line)
	case r.answers > 0:
		w.fail("an answered call is sent: %s", e.Line)
	case r.sentTo[e.Gen]:
		w.fail("sent twice to child %d: %s", e.Gen, e.Line)
	case r.canceled:
		w.fail("a cancelled call is sent: %s", e.Line)
	case r.line != "" && r.line != string(e.Line):
		w.fail("sent again in other bytes: %s, first %s", e.Line, r.line)
	}
	r.line, r.sentTo[e.Gen] = string(e.Line), true
	w.proc.has = append(w.proc.has, id)
}

func (w *world) checkStart(e StartChild) {
	w.t.Helper()
	if w.proc.up || w.proc.asked || e.Gen != w.lastGen+1 {
		w.fail("start of %d with process %+v", e.Gen, w.proc)
	}
	now := w.rig.now
	if now.Before(w.breaker.until) {
		w.fail("a start %v before the cooldown is over", w.breaker.until.Sub(now))
	}
	if !w.breaker.until.IsZero() {
		if w.breaker.trial {
			w.fail("a second start in the half-open state")
		}
		w.breaker.trial = true
	}
	r := registry{books: w.held}
	if got, want := e.Env, r.env(); !slices.Equal(got, want) {
		w.fail("env %q, want %q", got, want)
	}
	w.lastGen = e.Gen
	w.proc = proc{gen: e.Gen, asked: true}
}

// step lets something happen.
func (w *world) step() {
	w.t.Helper()
	switch p := w.rng.IntN(100); {
	case p < 30:
		w.newRequest()
	case p < 36:
		w.cancel()
	case p < 40:
		w.oddClientLine()
	case p < 55:
		w.pass()
	case p < 57:
		w.newProgram()
	default:
		w.childStep()
	}
}

// newProgram puts a program on disk; another one than before ends a crash loop's history.
func (w *world) newProgram() {
	sum, known := fmt.Sprintf("sum-%d", w.rng.IntN(3)), w.rig.c.program
	state := w.rig.c.child.state
	if sum != known.onDisk && !(known.onDisk == "" && sum == known.running) && (state == Broken || state == Pausing) {
		w.breaker = modelBreaker{}
	}
	w.do(ProgramFound{sum})
}

func (w *world) newRequest() {
	id := fmt.Sprint(len(w.order))
	switch w.rng.IntN(10) {
	case 0:
		id = fmt.Sprintf(`"s-%s"`, id)
	case 1:
		id = "90071992547409930" + id
	}
	tool := "x"
	line := toolCall(id, tool, `{"n":1}`)
	switch w.rng.IntN(12) {
	case 0:
		tool, line = "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
	case 1:
		tool, line = "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list"}`, id)
	case 2:
		tool, line = "reconnect", toolCall(id, "reconnect", `{}`)
	case 3:
		tool, line = "", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"resources/list"}`, id)
	}
	w.requests[id] = &request{tool: tool, sentTo: map[int]bool{}}
	w.order = append(w.order, id)
	w.do(ClientLine{[]byte(line)})
}

func (w *world) cancel() {
	if len(w.order) == 0 {
		return
	}
	id := w.order[max(0, len(w.order)-1-w.rng.IntN(5))]
	if r := w.requests[id]; r.tool != "reconnect" {
		r.canceled = true
	}
	w.do(ClientLine{fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)})
}

func (w *world) oddClientLine() {
	lines := []string{`junk`, `{"a":1}`, ready, `{"jsonrpc":"2.0","method":"notifications/x"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"ask","result":{}}`}
	w.do(ClientLine{[]byte(lines[w.rng.IntN(len(lines))])})
}

// pass lets time pass, never beyond a deadline without a Tick.
func (w *world) pass() {
	d := time.Duration(w.rng.IntN(3000)) * time.Millisecond
	if w.rng.IntN(8) == 0 {
		d *= 10
	}
	for end := w.rig.now.Add(d); w.rig.now.Before(end); {
		w.rig.now = w.rig.now.Add(50 * time.Millisecond)
		if due := w.rig.c.Deadline(); !due.IsZero() && !w.rig.now.Before(due) {
			w.do(Tick{})
		}
	}
}

func (w *world) childStep() {
	p := &w.proc
	gen := p.gen
	switch {
	case p.asked && w.rng.IntN(10) == 0:
		p.asked = false
		w.breaker.crash(w.rig.now)
		w.do(ChildFailed{gen, errors.New("no such file")})
	case p.asked:
		p.asked, p.up = false, true
		w.do(ChildStarted{gen, 1000 + gen, "/bin/runt", fmt.Sprintf("sum-%d", w.rng.IntN(3))})
	case !p.up:
	case p.ending && w.rng.IntN(2) == 0, w.rng.IntN(12) == 0, w.sick && w.rng.IntN(3) > 0:
		w.die()
	case !p.greeted:
		p.greeted = true
		w.do(ChildLine{gen, []byte(`{"jsonrpc":"2.0","id":"runt-proxy:session-1:initialize","result":{"serverInfo":{"version":"1"},"capabilities":{}}}`)})
	case len(p.has) > 0 && w.rng.IntN(4) > 0:
		w.answer()
	default:
		lines := []string{"noise", `{"jsonrpc":"2.0","id":"ask","method":"roots/list"}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`, `{"jsonrpc":"2.0","id":"unknown","result":{}}`}
		w.do(ChildLine{gen, []byte(lines[w.rng.IntN(len(lines))])})
	}
}

func (w *world) die() {
	asked := w.proc.ending
	exit := []supervise.Exit{{Code: 1}, {Code: 75}, {Code: 0}, {Code: -1, Signal: 9}}[w.rng.IntN(4)]
	crashed := !asked && exit.Class() != supervise.ExitUpgrade || asked && w.rig.c.child.after == crashNext
	gen := w.proc.gen
	w.proc = proc{gen: gen}
	if w.exits == 0 {
		if crashed {
			w.breaker.crash(w.rig.now)
		} else {
			w.breaker.trial = false
		}
	}
	w.do(ChildExited{gen, exit})
}

// answer lets the child answer one of its calls, sometimes twice.
func (w *world) answer() {
	i := w.rng.IntN(len(w.proc.has))
	id := w.proc.has[i]
	w.proc.has = slices.Delete(w.proc.has, i, i+1)
	r := w.requests[id]
	extra := ""
	if r.answers == 0 {
		w.breaker = modelBreaker{}
		if r.tool == "x" {
			extra = w.bind()
		}
	}
	line := []byte(answerTo(id, extra))
	w.do(ChildLine{w.proc.gen, line})
	if r.answers != 1 {
		w.fail("call %s has %d answers after the child's", id, r.answers)
	}
	if w.rng.IntN(5) == 0 {
		w.do(ChildLine{w.proc.gen, line})
	}
}

// bind makes a result change what the client holds, and keeps the model of that.
func (w *world) bind() string {
	id := fmt.Sprintf("n%d", w.rng.IntN(4))
	i := slices.IndexFunc(w.held, func(n Notebook) bool { return n.ID == id })
	byDefault := w.rng.IntN(2) == 0
	event := []string{"connected", "saved", "disconnected", ""}[w.rng.IntN(4)]
	path := fmt.Sprintf("/%s-%d.ipynb", id, w.rng.IntN(2))
	switch {
	case event == "":
		return ""
	case event == "disconnected" && i >= 0:
		w.held = slices.Delete(w.held, i, i+1)
	case event == "saved" && i >= 0:
		w.held[i].Path = path
	case event == "connected":
		if i < 0 {
			w.held = append(w.held, Notebook{ID: id})
			i = len(w.held) - 1
		}
		for j := range w.held {
			w.held[j].Default = w.held[j].Default && !byDefault
		}
		w.held[i].Path = path
		w.held[i].Default = w.held[i].Default || byDefault
	}
	return fmt.Sprintf(`,"_meta":{"runt/notebook":{"event":%q,"id":%q,"path":%q,"default":%v}}`, event, id, path, byDefault)
}

// end closes the client's input and lets everything come to its end.
func (w *world) end() {
	w.t.Helper()
	w.do(ClientEOF{})
	for range 1000 {
		if w.exits > 0 {
			break
		}
		w.pass()
		if w.proc.asked {
			w.childStep()
		} else if w.proc.ending {
			w.die()
		}
	}
	if w.exits != 1 {
		w.fail("%d exits, state %v", w.exits, w.rig.c.child.state)
	}
	for id, r := range w.requests {
		if r.answers != 1 {
			w.fail("request %s has %d answers", id, r.answers)
		}
	}
}

func TestModel_P03_P05_P12_RandomHistories(t *testing.T) {
	histories := 200
	if testing.Short() {
		histories = 100
	}
	var total, resent, broken int
	for seed := range histories {
		w := newWorld(t, uint64(seed))
		w.requests["0"] = &request{sentTo: map[int]bool{}}
		w.order = append(w.order, "0")
		w.do(ClientLine{[]byte(hello)})
		for range 300 {
			w.step()
			if w.rig.c.child.state == Broken {
				broken++
			}
		}
		w.end()
		total += len(w.order)
		resent += w.rig.c.counts.Resent
	}
	t.Logf("%d requests answered once each, %d sent again, %d steps with the breaker open", total, resent, broken)
	if resent == 0 || broken == 0 {
		t.Error("the histories are too tame")
	}
}
