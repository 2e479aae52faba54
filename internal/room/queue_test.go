package room

import (
	"fmt"
	"testing"

	"runt/internal/domain"
	"runt/internal/wire"
)

func TestACellThatIsShortIsOneChange(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1)
	x := one[HostExecute](t, r.last)
	if x.Execution != ids[0] || x.Source != "source1" || !x.Input {
		t.Errorf("sent %+v", x)
	}
	none[EditRuntime](t, r.last)
	none[Respond](t, r.last) // until the host has it
	result(t, r.do(KernelAccepted{Generation: r.c.Generation(), Seq: r.next(), Execution: ids[0]}), wire.ResultCellQueued)
	r.print(ids[0], "hello\n")
	out := r.end(ids[0], "ok")
	if a := one[Answer](t, out).Execution; a.Status != statusDone || len(a.Outputs) != 1 || *a.Count != 1 || !*a.Success {
		t.Errorf("answered %+v", a)
	}
	edit := one[EditRuntime](t, out)
	if len(edit.Ops) != 1 || edit.Seq != r.seq {
		t.Errorf("the change is %+v with seq %d, want one step and %d", edit.Ops, edit.Seq, r.seq)
	}
	if p := one[PointCell](t, out); p != (PointCell{"cell1", ids[0]}) {
		t.Errorf("pointed %+v", p)
	}
	if got := r.shown(ids[0]); got != "hello\n" || r.doc.kernel.Activity != "Idle" {
		t.Errorf("shows %q, kernel %s", got, r.doc.kernel.Activity)
	}
}

func TestALongCellIsShownRunning(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1)
	r.print(ids[0], "early")
	out := r.fire(TimerDefer)
	if e := one[EditRuntime](t, out); len(e.Notes) != 1 || e.Seq != r.seq {
		t.Errorf("change %+v", e)
	}
	if r.status(ids[0]) != statusRunning || r.doc.executing != string(ids[0]) || r.doc.kernel.Activity != "Busy" || r.shown(ids[0]) != "early" {
		t.Errorf("the document has %+v", r.doc)
	}
	r.end(ids[0], "ok")
	if r.status(ids[0]) != statusDone || r.doc.executing != "" || r.doc.kernel.Activity != "Idle" {
		t.Errorf("the document has %+v", r.doc)
	}
}

// While a cell is kept out of the document its events are the host's to keep.
func TestNothingIsAcknowledgedForAHiddenCell(t *testing.T) {
	r := newRig(t, nil).ready()
	first := r.run("a", 1)[0]
	r.end(first, "ok")
	second := r.run("a", 2)[0]
	r.print(second, "x")
	r.print(first, "late")
	if e := one[EditRuntime](t, r.fire(TimerFlush)); e.Seq != 0 {
		t.Errorf("seq %d while %s is not in the document", e.Seq, second)
	}
	if e := one[EditRuntime](t, r.end(second, "ok")); e.Seq != r.seq {
		t.Errorf("seq %d, want %d", e.Seq, r.seq)
	}
}

func TestK06_CellsWaitForAStartingKernel(t *testing.T) {
	r := newRig(t, nil)
	r.do(PeerJoined{1})
	ids := r.run("a", 1, 2)
	l := one[LaunchKernel](t, r.last)
	if resp := result(t, r.last, wire.ResultAllCellsQueued); !resp.Durable || len(resp.Body.(wire.AllCellsQueued).Queued) != 2 {
		t.Errorf("answered %+v", resp)
	}
	if r.status(ids[0]) != statusQueued || r.status(ids[1]) != statusQueued || r.doc.kernel.Lifecycle != Launching {
		t.Errorf("the document has %+v", r.doc)
	}
	r.do(HostStarted{l.Generation, KernelInfo{Name: "python"}})
	out := r.do(KernelReady{l.Generation, r.next()})
	if x := one[HostExecute](t, out); x.Execution != ids[0] {
		t.Errorf("%s is sent first", x.Execution)
	}
	if r.status(ids[0]) != statusRunning || r.status(ids[1]) != statusQueued {
		t.Errorf("%s, %s", r.status(ids[0]), r.status(ids[1]))
	}
	if x := one[HostExecute](t, r.end(ids[0], "ok")); x.Execution != ids[1] {
		t.Errorf("%s is sent next", x.Execution)
	}
}

// A client of protocol v4 launches kernels by itself.
func TestAClientOfProtocolV4IsToldThatThereIsNoKernel(t *testing.T) {
	r := newRig(t, nil)
	out := r.do(ExecuteRequested{From: Caller{Peer: 1, Actor: "a"}, Items: []Item{{Cell: "c"}}})
	result(t, out, wire.ResultNoKernel)
	none[LaunchKernel](t, out)
	if len(r.c.Executions()) != 0 {
		t.Error("an execution was made")
	}
}

func TestK07_AnErrorStopsTheSameRunOnly(t *testing.T) {
	tests := []struct {
		name    string
		mayFail bool
		ours    bool
		second  string // actor of the request behind it
		wantB   string // the second cell of the failing run
		wantC   string // the cell of the other request
	}{
		{"of ours", false, true, "a", statusCancelled, statusRunning},
		{"raises-exception", true, true, "a", statusRunning, statusQueued},
		{"v4, same client", false, false, "a", statusCancelled, statusCancelled},
		{"v4, another client", false, false, "b", statusCancelled, statusRunning},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, nil).ready()
			from := Caller{Peer: 1, RequestID: "1", Actor: "a", OurClient: tt.ours}
			r.do(ExecuteRequested{From: from, All: true, Items: []Item{{Cell: "a", Execution: uuid(1), MayFail: tt.mayFail}, {Cell: "b", Execution: uuid(2)}}})
			r.do(ExecuteRequested{From: Caller{Peer: 1, RequestID: "2", Actor: tt.second, OurClient: tt.ours}, Items: []Item{{Cell: "c", Execution: uuid(3)}}})
			r.fail(uuid(1))
			if r.status(uuid(1)) != statusError || r.status(uuid(2)) != tt.wantB || r.status(uuid(3)) != tt.wantC {
				t.Errorf("%s %s %s, want error %s %s", r.status(uuid(1)), r.status(uuid(2)), r.status(uuid(3)), tt.wantB, tt.wantC)
			}
			if x, _ := r.c.Execution(uuid(2)); tt.wantB == statusCancelled && (x.Reason == "" || x.Success != nil) {
				t.Errorf("cancelled without a reason: %+v", x)
			}
		})
	}
}

func TestExecutionIDs(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	ask := func(it Item, idempotent, all bool) []Effect {
		return r.do(ExecuteRequested{From: r.caller("a"), Idempotent: idempotent, All: all, Items: []Item{it}})
	}
	rejected := func(out []Effect, why string) {
		t.Helper()
		if b := result(t, out, wire.ResultExecutionIDRejected).Body.(wire.ExecutionIDRejected); b.Reason != why {
			t.Errorf("rejected for %s, want %s", b.Reason, why)
		}
		none[HostExecute](t, out)
	}
	rejected(ask(Item{Cell: "c", Execution: "no"}, false, false), wire.RejectMalformed)
	rejected(ask(Item{Cell: "cell1", Execution: id}, false, false), wire.RejectExists)
	none[HostExecute](t, ask(Item{Cell: "cell1", Execution: id}, true, false)) // finds its own
	r.do(KernelAccepted{Generation: r.c.Generation(), Seq: r.next(), Execution: id})
	if out := r.end(id, "ok"); len(allOf[Answer](out)) != 2 {
		t.Errorf("%d direct answers, want one for each who asked", len(allOf[Answer](out)))
	}
	out := ask(Item{Cell: "cell1", Execution: id}, true, false) // over by now
	if a := one[Answer](t, out); a.Execution.ID != id || a.Execution.Status != statusDone {
		t.Errorf("answered %+v", a)
	}
	result(t, out, wire.ResultCellQueued)
	// Without an id the execution that is under way for the cell is meant.
	queued := func(out []Effect) string {
		t.Helper()
		rs := append(allOf[Respond](out), r.c.execs[r.c.run].held...)
		return rs[len(rs)-1].Body.(wire.CellQueued).ExecutionID
	}
	first := queued(ask(Item{Cell: "d"}, false, false))
	if again := queued(ask(Item{Cell: "d"}, false, false)); again != first || first == "" {
		t.Errorf("the second request is %s, want %s", again, first)
	}
}

// A request is taken whole or not at all.
func TestARejectedCellRejectsTheRun(t *testing.T) {
	r := newRig(t, nil).ready()
	out := r.do(ExecuteRequested{From: r.caller("a"), All: true, Items: []Item{{Cell: "a", Execution: uuid(1)}, {Cell: "b", Execution: "bad"}}})
	result(t, out, wire.ResultExecutionIDRejected)
	if len(out) != 1 || r.c.Busy() {
		t.Errorf("the rest was run: %+v", out)
	}
	out = r.do(ExecuteRequested{From: r.caller("a"), All: true, Items: []Item{{Cell: "a", Execution: uuid(1)}, {Cell: "b", Execution: uuid(1)}}})
	result(t, out, wire.ResultExecutionIDRejected)
}

func TestACallThatIsSentAgainFindsItsArchivedExecution(t *testing.T) {
	r := newRig(t, func(c *Config) { c.KeepExecutions = 1 }).ready()
	for n := range 3 {
		id := uuid(n + 1)
		r.do(ExecuteRequested{From: r.caller("a"), Items: []Item{{Execution: id, Source: "1"}}})
		r.end(id, "ok")
	}
	edit := one[EditRuntime](t, r.last)
	if len(edit.Archived) != 1 || edit.Archived[0].ID != uuid(2) || r.status(uuid(1)) != "" || r.status(uuid(3)) == "" {
		t.Errorf("archived %+v, the document has %v", edit.Archived, r.doc.execs)
	}
	out := r.do(ExecuteRequested{From: r.caller("a"), Idempotent: true, Items: []Item{{Execution: uuid(1), Source: "1"}}})
	result(t, out, wire.ResultCellQueued)
	if a := one[AnswerArchived](t, out); a.Execution != uuid(1) {
		t.Errorf("answers %+v", a)
	}
	none[HostExecute](t, out)
	out = r.do(ExecuteRequested{From: r.caller("a"), Items: []Item{{Execution: uuid(1), Source: "1"}}})
	result(t, out, wire.ResultExecutionIDRejected)
}

// Cells keep the execution that they point at, however old.
func TestTrimKeepsWhatCellsPointAt(t *testing.T) {
	r := newRig(t, func(c *Config) { c.KeepExecutions = 2 }).ready()
	kept := r.run("a", 1)[0]
	r.end(kept, "ok")
	for n := range 5 {
		id := uuid(n + 10)
		r.do(ExecuteRequested{From: r.caller("a"), Items: []Item{{Cell: "other", Execution: id}}})
		r.end(id, "ok")
	}
	if r.status(kept) != statusDone || len(r.doc.execs) != 4 {
		t.Errorf("the document has %d executions, of cell1 %q", len(r.doc.execs), r.status(kept))
	}
	r.do(CellsRemoved{[]domain.CellID{"cell1"}})
	r.do(ExecuteRequested{From: r.caller("a"), Items: []Item{{Cell: "other", Execution: uuid(20)}}})
	r.end(uuid(20), "ok")
	if r.status(kept) != "" {
		t.Error("the execution of a deleted cell is still there")
	}
}

func TestCancelEndsOneExecutionAlone(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2, 3)
	out := r.do(CancelRequested{r.caller("b"), ids[1]})
	if resp := result(t, out, wire.ResultOK); !resp.Durable {
		t.Error("answered before it is on disk")
	}
	if a := one[Answer](t, out); a.Execution.ID != ids[1] || a.Execution.Status != statusCancelled {
		t.Errorf("answered %+v", a)
	}
	refused(t, r.do(CancelRequested{r.caller("b"), ids[1]}), domain.CodeInvalidArgument)
	running := r.do(CancelRequested{r.caller("b"), ids[0]})
	result(t, running, wire.ResultOK)
	if x := one[HostInterrupt](t, running); x.Execution != ids[0] || r.status(ids[2]) != statusQueued {
		t.Errorf("interrupted %s, and what waits is %q", x.Execution, r.status(ids[2]))
	}
	if x := one[HostExecute](t, r.end(ids[0], "ok")); x.Execution != ids[2] {
		t.Errorf("%s is next", x.Execution)
	}
}

func TestAHostThatNeverHadItStillGetsTheCallerAnAnswer(t *testing.T) {
	r := newRig(t, nil).ready()
	r.run("a", 1)
	out := r.do(KernelDied{r.c.Generation(), r.next(), "It died.", "Restart it."})
	if resp := result(t, out, wire.ResultCellQueued); !resp.Durable {
		t.Error("acknowledged though nobody but the document will have it")
	}
	if a := one[Answer](t, out).Execution; a.Status != statusError || a.Reason != "It died." {
		t.Errorf("answered %+v", a)
	}
}

func TestEveryCellOfARunIsAnsweredInOrder(t *testing.T) {
	r := newRig(t, nil).ready()
	var all []int
	for n := range 50 {
		all = append(all, n+1)
	}
	ids := r.run("a", all...)
	for i, id := range ids {
		out := r.end(id, "ok")
		if a := one[Answer](t, out); a.Execution.ID != id {
			t.Fatalf("answer %d is of %s", i, a.Execution.ID)
		}
		next := ""
		if i+1 < len(ids) {
			next = string(ids[i+1])
		}
		if r.doc.executing != next || len(r.doc.queued) != max(0, len(ids)-i-2) {
			t.Fatalf("after %d: %q runs, %d wait", i, r.doc.executing, len(r.doc.queued))
		}
	}
}

func TestCellsThatComeBackArePointed(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.end(id, "ok")
	out := r.do(CellsAdded{[]domain.CellID{"cell1", "unknown"}})
	if p := one[PointCell](t, out); p != (PointCell{"cell1", id}) {
		t.Errorf("%+v", p)
	}
}

func TestExecutionsListsAllInOrder(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2)
	got := r.c.Executions()
	if len(got) != 2 || got[0].ID != ids[0] || got[1].ID != ids[1] || got[1].Status != statusQueued {
		t.Errorf("%+v", got)
	}
	if _, ok := r.c.Execution("none"); ok {
		t.Error("there is an execution that nobody asked for")
	}
	s := r.c.Status()
	if s.Queued != 1 || s.Running != ids[0] || s.Activity != "busy" || s.Peers != 1 || fmt.Sprint(s.Phase) != "active" {
		t.Errorf("status %+v", s)
	}
}
