package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/testenv"
	"runt/internal/wire"
)

func run(t testing.TB, h *Handle, cell domain.CellID, id domain.ExecutionID) wire.ExecutionDone {
	t.Helper()
	e, err := h.Execute(t.Context(), cell, id, ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e.Result()
}

func textOf(t testing.TB, done wire.ExecutionDone) string {
	t.Helper()
	s := ""
	for _, raw := range done.Outputs {
		var m struct{ Text struct{ Inline string } }
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		s += m.Text.Inline
	}
	return s
}

func TestExecute(t *testing.T) {
	for name, runs := range map[string]int{"direct": 30, "by the document": 4} {
		t.Run(name, func(t *testing.T) {
			d := newFake(t)
			d.Plain = name != "direct"
			h := d.join(t, "a", "n")
			for i := range runs {
				source := fmt.Sprint("x = ", i)
				if _, err := h.Edit(t.Context(), setSource("first", source)); err != nil {
					t.Fatal(err)
				}
				done := run(t, h, "first", "")
				if textOf(t, done) != source || done.Status != runtimestate.Done || *done.ExecutionCount != int64(i+1) || !*done.Success || done.CellID != "first" || done.Seconds <= 0 {
					t.Fatalf("run %d: %+v", i, done)
				}
			}
			if done := run(t, h, "first", "my-id"); done.ExecutionID != "my-id" {
				t.Errorf("id %q", done.ExecutionID)
			}
			if len(h.runs) != 0 || len(h.timers) != 0 {
				t.Errorf("%d runs and %d timers are left", len(h.runs), len(h.timers))
			}
		})
	}
}

func TestExecuteRefused(t *testing.T) {
	d := newFake(t)
	var result string
	var body any
	d.Answer = func(p *FakePeer, q wire.Request) bool {
		p.Respond(q.ID, result, body)
		return true
	}
	h := d.join(t, "a", "n")
	for _, tc := range []struct {
		result string
		body   any
		code   domain.Code
	}{
		{wire.ResultExecutionIDRejected, wire.ExecutionIDRejected{ExecutionID: "e", Reason: wire.RejectExists}, domain.CodeInvalidArgument},
		{wire.ResultNoKernel, nil, domain.CodeKernelUnavailable},
		{wire.ResultGuardRejected, wire.GuardRejected{Reason: "edited"}, domain.CodeStaleSource},
		{wire.ResultError, wire.ErrorBody{Error: "dead", Code: "kernel_died"}, domain.CodeKernelDied},
		{wire.ResultError, wire.ErrorBody{Error: "old daemon"}, domain.CodeInternal},
		{wire.ResultOK, nil, domain.CodeInternal},
	} {
		result, body = tc.result, tc.body
		if _, err := h.Execute(t.Context(), "first", "e", ExecuteOptions{}); domain.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want code %s", tc.result, err, tc.code)
		}
	}
	if len(h.runs) != 0 {
		t.Errorf("%d runs are left", len(h.runs))
	}
}

// TestExecuteAgain asks for a cell that is running: the daemon answers with the run there is.
func TestExecuteAgain(t *testing.T) {
	d := newFake(t)
	d.Answer = func(p *FakePeer, q wire.Request) bool {
		p.Respond(q.ID, wire.ResultCellQueued, wire.CellQueued{CellID: q.CellID, ExecutionID: "running"})
		return true
	}
	h := d.join(t, "a", "n")
	e, err := h.Execute(t.Context(), "first", "", ExecuteOptions{Idempotent: true})
	if err != nil || e.ID != "running" {
		t.Fatal(e, err)
	}
	room := d.Room("n")
	room.Do(func() {
		room.EditRuntime(func(tx *runtimestate.Tx) error {
			return tx.PutExecution(runtimestate.Execution{ID: "running", CellID: "first", Status: runtimestate.Error})
		})
	})
	if err := e.Wait(t.Context()); err != nil || e.Result().Status != runtimestate.Error {
		t.Errorf("%+v, %v", e.Result(), err)
	}
}

// TestOutputsAfterTheEnd has a daemon that writes outputs after the status.
func TestOutputsAfterTheEnd(t *testing.T) {
	d := newFake(t)
	d.Plain = true
	room := d.Room("n")
	d.Ends = func(_ *FakePeer, e runtimestate.Execution) {
		e.Outputs = []runtimestate.Output{fakeStream("o", "")}
		room.Finish(e)
		go func() {
			for _, text := range []string{"a", "ab", "abc"} {
				room.Do(func() {
					room.EditRuntime(func(tx *runtimestate.Tx) error { return tx.SetStreamText(e.ID, "o", runtimestate.Inline(text)) })
				})
			}
		}()
	}
	h := d.join(t, "a", "n")
	if got := textOf(t, run(t, h, "first", "")); got != "abc" {
		t.Errorf("text %q, want what came after the status too", got)
	}
}

// TestDirectAnswerIsMissing falls back to the document.
func TestDirectAnswerIsMissing(t *testing.T) {
	d := newFake(t)
	room := d.Room("n")
	d.Ends = func(_ *FakePeer, e runtimestate.Execution) { room.Finish(e) }
	h := d.join(t, "a", "n")
	began := time.Now()
	done := run(t, h, "first", "")
	if textOf(t, done) != "print('hi')" || time.Since(began) < directGrace {
		t.Errorf("%+v after %v", done, time.Since(began))
	}
}

// TestKernelEnds has a plain daemon whose kernel dies without a word about the execution.
func TestKernelEnds(t *testing.T) {
	d := newFake(t)
	d.Plain = true
	room := d.Room("n")
	d.Ends = func(_ *FakePeer, e runtimestate.Execution) {
		e.Status = runtimestate.Executing
		room.Finish(e)
		room.EditRuntime(func(tx *runtimestate.Tx) error {
			return tx.SetKernel(runtimestate.Kernel{Lifecycle: runtimestate.Failed, ErrorDetails: "it fell over"})
		})
	}
	h := d.join(t, "a", "n")
	done := run(t, h, "first", "")
	if done.Status != runtimestate.Error || done.Reason != "it fell over" || done.Hint == "" || textOf(t, done) != "print('hi')" {
		t.Errorf("%+v", done)
	}
}

func TestFollow(t *testing.T) {
	d := newFake(t)
	room := d.Room("n")
	held := make(chan runtimestate.Execution, 1)
	d.Ends = func(_ *FakePeer, e runtimestate.Execution) { held <- e }
	a, b := d.join(t, "a", "n"), d.join(t, "b", "n")
	asked, err := a.Execute(t.Context(), "first", "e1", ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var followers []*Execution
	for range 2 {
		f, err := b.Follow("first", "e1")
		if err != nil {
			t.Fatal(err)
		}
		followers = append(followers, f)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := followers[0].Wait(ctx); domain.CodeOf(err) != domain.CodeTimeout || followers[0].Err() != nil || followers[0].Result().Status != "" {
		t.Errorf("waiting for a run that is not over: %v", err)
	}
	e := testenv.Receive(t, t.Context(), "the execution", held)
	room.Do(func() {
		room.peers[0].Tell(e)
		room.Finish(e)
	})
	for _, f := range append(followers, asked) {
		if err := f.Wait(t.Context()); err != nil || textOf(t, f.Result()) != "print('hi')" {
			t.Errorf("%+v, %v", f.Result(), err)
		}
	}
	late, err := b.Follow("first", "e1") // it is over
	if err != nil {
		t.Fatal(err)
	}
	if err := late.Wait(t.Context()); err != nil || late.Result().Status != runtimestate.Done {
		t.Errorf("following what is over: %+v, %v", late.Result(), err)
	}
}

// TestToldBeforeAsked has the direct answers of a run of all cells come before anybody follows it.
func TestToldBeforeAsked(t *testing.T) {
	d := newFake(t)
	room := d.Room("n")
	h := d.join(t, "a", "n")
	room.Do(func() {
		for i := range 100 {
			room.peers[0].Tell(runtimestate.Execution{ID: fmt.Sprint("e", i), Status: runtimestate.Done})
		}
	})
	if err := h.Confirm(t.Context()); err != nil { // by now all have come
		t.Fatal(err)
	}
	for i := range 100 {
		e, err := h.Follow("first", domain.ExecutionID(fmt.Sprint("e", i)))
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-e.Done():
		default:
			t.Fatalf("e%d is not known to be over", i)
		}
	}
}

func TestAnswersThatNobodyAsksForAreForgotten(t *testing.T) {
	h := newHandle(Options{}.withDefaults(), nil)
	for i := range 2 * unaskedLimit {
		h.keepLocked(wire.ExecutionDone{ExecutionID: fmt.Sprint(i)})
	}
	if n := len(h.unasked); n != unaskedLimit || h.unasked[n-1].ExecutionID != fmt.Sprint(2*unaskedLimit-1) {
		t.Errorf("%d are kept, the last is %s", n, h.unasked[n-1].ExecutionID)
	}
	large := json.RawMessage(strings.Repeat("x", unaskedBytes/2))
	for i := range 3 {
		h.keepLocked(wire.ExecutionDone{ExecutionID: fmt.Sprint("large", i), Outputs: []json.RawMessage{large}})
	}
	if len(h.unasked) != 2 || h.unasked[0].ExecutionID != "large1" {
		t.Errorf("%d large ones are kept", len(h.unasked))
	}
}

func TestLostWhileExecuting(t *testing.T) {
	d := newFake(t)
	d.Ends = func(*FakePeer, runtimestate.Execution) {}
	h := d.join(t, "a", "n")
	e, err := h.Execute(t.Context(), "first", "", ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.DropAll()
	if err := e.Wait(t.Context()); domain.CodeOf(err) != domain.CodeSessionDisconnected || domain.CodeOf(e.Err()) != domain.CodeSessionDisconnected {
		t.Errorf("error %v", err)
	}
	if _, err := h.Follow("first", e.ID); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("following on a lost handle: %v", err)
	}
}

// BenchmarkExecute is an edit and the execution of the cell, with a daemon in
// the same process whose kernel takes no time.
func BenchmarkExecute(b *testing.B) {
	d := newFake(b)
	h := d.join(b, "a", "n")
	room := d.Room("n")
	var edits, daemon []time.Duration
	room.Took = func(t time.Duration) { daemon = append(daemon, t) }
	for b.Loop() {
		began := time.Now()
		if _, err := h.Edit(b.Context(), setSource("first", fmt.Sprint("x = ", len(edits)))); err != nil {
			b.Fatal(err)
		}
		edits = append(edits, time.Since(began))
		if done := run(b, h, "first", ""); done.Status != runtimestate.Done {
			b.Fatal(done)
		}
	}
	total := float64(b.Elapsed()) / float64(b.N) / 1e6
	room.Do(func() {
		var sum time.Duration
		for _, t := range daemon {
			sum += t
		}
		inDaemon := float64(sum) / float64(b.N) / 1e6
		b.ReportMetric(inDaemon, "ms-daemon")
		b.ReportMetric(total-inDaemon, "ms-client")
	})
	slices.Sort(edits)
	b.ReportMetric(float64(edits[len(edits)/2])/1e6, "ms-edit-p50")
}

// BenchmarkEdit is the client's part of an edit.
func BenchmarkEdit(b *testing.B) {
	d := newFake(b)
	h := d.join(b, "a", "n")
	i := 0
	for b.Loop() {
		i++
		if _, err := h.Edit(b.Context(), setSource("first", fmt.Sprint("x = ", i))); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMoreEditsThanTheDaemonReads edits while the daemon reads nothing.
func TestMoreEditsThanTheDaemonReads(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n")
	room := d.Room("n")
	const n = 1500
	room.Do(func() {
		for i := range n {
			if _, err := h.Edit(t.Context(), setSource("first", fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := h.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, _ := room.NB.Source("first"); s != fmt.Sprint(n-1) {
		t.Errorf("the daemon reads %q", s)
	}
}

// BenchmarkJoin is the opening of a notebook of the daemon's.
func BenchmarkJoin(b *testing.B) {
	d := newFake(b)
	d.Room("n")
	for b.Loop() {
		h, err := Join(b.Context(), d.options("a"), "n")
		if err != nil {
			b.Fatal(err)
		}
		closeHandle(b, h)
	}
}
