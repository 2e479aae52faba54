package room

import (
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
)

// reborn is a rig whose core is another one, with what the paper of r says.
func (r *rig) reborn(change func(*Restored)) *rig {
	r.t.Helper()
	n := &rig{t: r.t, c: New(r.c.cfg, r.c.ids), now: r.now, doc: r.doc.clone(), blobs: r.blobs, timers: map[Timer]time.Duration{}, seq: r.seq}
	k := Restored{Latest: map[domain.CellID]domain.ExecutionID{}, Running: domain.ExecutionID(r.doc.executing), Kernel: r.doc.kernel, Input: r.doc.input,
		Notes: map[domain.ExecutionID]string{}, State: r.state, Text: func(ref map[string]any) (string, bool) { return contentOf(ref, r.blobs) }}
	for cell, id := range r.c.latest {
		k.Latest[cell] = id
	}
	for _, note := range r.c.Notes() {
		k.Notes[note.Execution] = note.Text
	}
	for _, x := range r.doc.executions() {
		k.Executions = append(k.Executions, Execution{ID: domain.ExecutionID(x.ID), Cell: domain.CellID(x.CellID), Status: x.Status, Source: x.Source,
			Submitter: x.Submitter, Count: x.Count, Success: x.Success, Seq: x.Seq, Outputs: x.Outputs})
	}
	for _, q := range r.doc.queued {
		k.Queued = append(k.Queued, domain.ExecutionID(q))
	}
	if change != nil {
		change(&k)
	}
	n.c.Restore(k)
	return n
}

func (r *rig) adopt(seq uint64) []Effect {
	r.t.Helper()
	return r.do(HostAdopted{Kernel: KernelInfo{Name: "python"}, Ready: true, Seq: seq})
}

func TestK01_ARunningCellGoesOnInTheMiddleOfItsOutput(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"line", "a\nb", "c\n", "a\nbc\n"},
		{"carriage return", "50%\r", "60%\n", "60%\n"},
		{"two lines up", "one\ntwo\nthree\x1b[2A\r", "1st", "1st\ntwo\nthree"},
		{"half a sequence", "x\x1b[", "1Dy", "y"},
		{"long", strings.Repeat("line\n", 3000) + "tail", "!", strings.Repeat("line\n", 3000) + "tail!"},
	}
	for _, tt := range tests {
		r := newRig(t, nil).ready()
		id := r.run("a", 1)[0]
		r.fire(TimerDefer)
		r.print(id, tt.before)
		r.flush()
		n := r.reborn(nil)
		if x := one[HostExecute](t, n.adopt(r.seq)); x.Execution != id {
			t.Errorf("%s: %+v", tt.name, x)
		}
		n.do(HostCaughtUp{n.c.Generation()})
		n.print(id, tt.after)
		n.end(id, "ok")
		if got := n.shown(id); got != tt.want || len(n.doc.execs[string(id)].outputs) != 1 {
			t.Errorf("%s: %q in %d outputs, want %q", tt.name, got, len(n.doc.execs[string(id)].outputs), tt.want)
		}
	}
}

func TestK01_APendingClearAndTheInputSurvive(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.fire(TimerDefer)
	r.print(id, "old")
	r.message(id, "clear_output", content{"wait": true})
	r.do(KernelWantsInput{Generation: r.c.Generation(), Seq: r.next(), Execution: id, Prompt: "? "})
	n := r.reborn(nil)
	n.adopt(r.seq)
	if _, ok := n.timers[TimerInput]; !ok {
		t.Error("nobody refuses the input in time")
	}
	one[HostInput](t, n.do(InputGiven{n.caller("a"), "x"}))
	n.print(id, "new")
	n.end(id, "ok")
	if got := n.shown(id); got != "new" {
		t.Errorf("%q", got)
	}
	// An input request of a cell that is gone is taken back.
	r.do(KernelWantsInput{Generation: r.c.Generation(), Seq: r.next(), Execution: id, Prompt: "? "})
	n = r.reborn(func(k *Restored) { k.Running = "" })
	n.adopt(r.seq)
	if n.doc.input != nil {
		t.Error("the prompt stays")
	}
}

func TestAnExecutionThatWasOnlySentIsMadeAgain(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	note := one[HostExecute](t, r.last).Note
	n := r.reborn(nil)
	n.adopt(1)
	n.do(KernelAccepted{Generation: n.c.Generation(), Seq: 2, Execution: id, Source: "source1", Note: note})
	if x := n.doc.execs[string(id)]; x.Status != statusRunning || x.CellID != "cell1" || x.Source != "source1" || x.Submitter != "a" {
		t.Errorf("%+v", x)
	}
	if p := allOf[PointCell](n.last); len(p) != 1 || p[0].Execution != id {
		t.Errorf("%+v", p)
	}
	n.do(HostCaughtUp{n.c.Generation()})
	from := n.caller("a")
	out := n.do(ExecuteRequested{From: from, Idempotent: true, Items: []Item{{Cell: "cell1", Execution: id, Source: "source1"}}})
	none[HostExecute](t, out)
	out = n.end(id, "ok")
	if a := one[Answer](t, out); a.To != from {
		t.Errorf("%+v", a)
	}
	// Without a note of ours there is at least the execution.
	n = r.reborn(nil)
	n.adopt(1)
	n.do(KernelAccepted{Generation: n.c.Generation(), Seq: 2, Execution: id, Source: "s", Note: "?"})
	if n.status(id) != statusRunning {
		t.Errorf("%s", n.status(id))
	}
}

func TestAfterARestartRunsStopAsBefore(t *testing.T) {
	r := newRig(t, nil).ready()
	a := r.run("a", 1, 2)
	b := r.run("b", 3)
	n := r.reborn(nil)
	n.adopt(r.seq)
	n.do(HostCaughtUp{n.c.Generation()})
	n.fail(a[0])
	if n.status(a[1]) != statusCancelled || n.status(b[0]) != statusRunning {
		t.Errorf("%s, %s", n.status(a[1]), n.status(b[0]))
	}
	// Executions of an unknown version belong to no common run.
	n = r.reborn(func(k *Restored) { k.Notes = nil })
	n.adopt(r.seq)
	n.do(HostCaughtUp{n.c.Generation()})
	n.fail(a[0])
	if n.status(b[0]) == statusCancelled {
		t.Error("another client's cell was cancelled")
	}
	if next := n.run("c", 9)[0]; n.status(next) != statusQueued {
		t.Errorf("%s", n.status(next))
	}
}

func TestWhatWaitsIsSentOnceTheBacklogIsHeard(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2)
	n := r.reborn(func(k *Restored) {
		k.Running, k.Queued = "", []domain.ExecutionID{ids[0], ids[1]}
		k.Executions[0].Status = statusQueued
	})
	none[HostExecute](t, n.adopt(0))
	n.do(KernelReady{n.c.Generation(), 1})
	n.do(KernelAccepted{Generation: n.c.Generation(), Seq: 2, Execution: ids[0]})
	if n.status(ids[0]) != statusRunning || n.doc.executing != string(ids[0]) {
		t.Errorf("%s, %q runs", n.status(ids[0]), n.doc.executing)
	}
	none[HostExecute](t, n.do(ExecuteRequested{From: n.caller("b"), Items: []Item{{Cell: "x", Execution: uuid(7)}}}))
	out := n.do(ExecutionEnded{Generation: n.c.Generation(), Seq: 3, Execution: ids[0], Status: "ok"})
	none[HostExecute](t, out)
	if x := one[HostExecute](t, n.do(HostCaughtUp{n.c.Generation()})); x.Execution != ids[1] {
		t.Errorf("%+v", x)
	}
}

func TestALostKernelEndsWhatItHad(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2)
	r.print(ids[0], "kept\n")
	r.flush()
	n := r.reborn(nil)
	n.do(HostLost{Reason: "The kernel was lost.", Hint: "Run it again."})
	if n.status(ids[0]) != statusError || n.status(ids[1]) != statusCancelled || !strings.HasPrefix(n.shown(ids[0]), "kept\nThe kernel was lost.") {
		t.Errorf("%s %q, %s", n.status(ids[0]), n.shown(ids[0]), n.status(ids[1]))
	}
	if n.doc.kernel.Lifecycle != NotStarted || n.doc.executing != "" || n.doc.kernel.Name == "" {
		t.Errorf("%+v", n.doc.kernel)
	}
	// Another host knows one of them.
	other := r.run("b", 3)[0]
	n = r.reborn(nil)
	n.do(HostLost{Reason: "Lost.", Hint: "x", Known: map[domain.ExecutionID]bool{other: true}})
	if n.status(ids[1]) != statusCancelled || n.status(other) != statusQueued {
		t.Errorf("%s, %s", n.status(ids[1]), n.status(other))
	}
}

func TestWhatWaitedForAFirstKernelGoesOnWaiting(t *testing.T) {
	r := newRig(t, nil)
	r.do(PeerJoined{1})
	id := r.run("a", 1)[0]
	n := r.reborn(nil)
	n.do(HostLost{Reason: "Lost.", Unstarted: true})
	if n.status(id) != statusQueued || !n.c.Busy() {
		t.Errorf("%s", n.status(id))
	}
	l := one[LaunchKernel](t, n.do(LaunchRequested{Automatic: true}))
	if x := one[HostExecute](t, n.do(KernelReady{l.Generation, 1})); x.Execution != id || !x.Input {
		t.Errorf("%+v", x)
	}
}

func TestLimitsAreKnownAfterARestart(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxOutputs, c.MaxStreamText = 2, 1<<20 }).ready()
	id := r.run("a", 1)[0]
	for range 4 {
		r.message(id, "display_data", display("x", ""))
	}
	r.fire(TimerDefer)
	n := r.reborn(nil)
	n.adopt(r.seq)
	n.message(id, "display_data", display("x", ""))
	n.end(id, "ok")
	if len(n.doc.execs[string(id)].outputs) != 3 || strings.Count(n.shown(id), "limit of 2 outputs") != 1 {
		t.Errorf("%q", n.shown(id))
	}
	r = newRig(t, func(c *Config) { c.MaxStreamText = 1 << 20 }).ready()
	id = r.run("a", 1)[0]
	r.print(id, strings.Repeat("0123456789abcde\n", 70_000))
	r.fire(TimerDefer)
	n = r.reborn(nil)
	n.adopt(r.seq)
	for range 100_000 {
		n.print(id, "more\n")
	}
	n.end(id, "ok")
	if got := n.shown(id); len(got) > 3<<19 || !strings.Contains(got, "output limit") || !strings.HasSuffix(got, "more\n") {
		t.Errorf("%d bytes kept", len(got))
	}
}

func TestARestoredErrorCounts(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.message(id, "error", content{"ename": "E", "evalue": "bad"})
	r.fire(TimerDefer)
	n := r.reborn(nil)
	n.adopt(r.seq)
	n.end(id, "ok") // some kernels say so after an error
	if n.status(id) != statusError {
		t.Errorf("%s", n.status(id))
	}
	if len(n.c.Archived()) != 0 {
		t.Error("archived")
	}
}
