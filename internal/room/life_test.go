package room

import (
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/wire"
)

var noSpace = domain.Errorf(domain.CodeSaveFailed, "No space.").WithHint("Make some.")

// steps walks a room through its closing and returns what each step waits for.
func closeSteps(r *rig) []func() []Effect {
	return []func() []Effect{
		func() []Effect { return r.fire(TimerEvict) },
		func() []Effect { return r.do(SaveFinished{Number: r.c.saves.number, Bound: true}) },
		func() []Effect { return r.do(BarrierReached{}) },
		func() []Effect { return r.do(HostStopped{}) },
		func() []Effect { return r.do(WatcherClosed{}) },
	}
}

func TestR04_TheOrderedShutDown(t *testing.T) {
	r := newRig(t, nil).ready()
	r.c.BindFile()
	id := r.run("a", 1)[0]
	r.end(id, "ok")
	r.do(PeerLeft{1})
	if after := r.timers[TimerEvict]; after != DefaultKeepAlive {
		t.Fatalf("the timer is set to %v", after)
	}
	steps := closeSteps(r)
	if s := one[SaveFile](t, steps[0]()); !s.Final {
		t.Errorf("%+v", s)
	}
	one[JournalBarrier](t, steps[1]())
	out := steps[2]()
	if s := one[StopKernel](t, out); !s.Closing || !one[EditRuntime](t, out).Leaves {
		t.Errorf("%+v", out)
	}
	one[CloseWatcher](t, steps[3]())
	out = steps[4]()
	if a := one[Archive](t, out); a.Execution.ID != id {
		t.Errorf("archived %+v", a)
	}
	if _, last := out[len(out)-1].(Remove); !last || r.c.Status().Phase != Removed || !r.c.RefusedClosing() {
		t.Errorf("%+v", out)
	}
}

func TestR04_APeerBeforeTheTimerCancelsIt(t *testing.T) {
	r := newRig(t, nil).ready()
	r.do(PeerLeft{1})
	r.do(PeerJoined{2})
	if _, ok := r.timers[TimerEvict]; ok || r.c.Status().Phase != Active {
		t.Error("the timer still runs")
	}
	if len(r.do(TimerFired{TimerEvict})) != 0 { // it fired just then
		t.Error("the room closes with a peer")
	}
}

func TestR05_APeerAtEachStep(t *testing.T) {
	const closes = 5
	for step := range closes {
		r := newRig(t, nil).ready()
		r.do(PeerLeft{1})
		steps := closeSteps(r)
		for i := 0; i <= step; i++ {
			steps[i]()
		}
		// The steps up to the barrier can be turned back, the later ones not.
		if refused := r.c.RefusedClosing(); refused != (step >= 2) {
			t.Errorf("step %d: refused %v", step, refused)
			continue
		} else if refused {
			continue
		}
		r.do(PeerJoined{2})
		out := steps[step+1]()
		none[StopKernel](t, out)
		none[JournalBarrier](t, out)
		if r.c.Status().Phase != Active || r.c.Status().State != Running {
			t.Errorf("step %d: %+v", step, r.c.Status())
		}
		r.run("a", 1)
		one[HostExecute](t, r.last)
		r.end(uuid(1), "ok")
		r.do(PeerLeft{2})
		for _, f := range closeSteps(r) {
			f()
		}
		if r.c.Status().Phase != Removed {
			t.Errorf("step %d: the room does not close any more", step)
		}
	}
}

func TestR05_APeerThatComesAndGoesWhileClosing(t *testing.T) {
	r := newRig(t, nil).ready()
	r.c.BindFile()
	r.do(PeerLeft{1})
	steps := closeSteps(r)
	steps[0]()
	r.do(PeerJoined{2})
	r.do(DocumentChanged{})
	r.do(PeerLeft{2})
	steps[1]()
	if _, ok := r.timers[TimerEvict]; !ok || r.c.Status().Phase != Idle {
		t.Errorf("phase %s", r.c.Status().Phase)
	}
	if _, ok := r.timers[TimerAutosave]; !ok {
		t.Error("what the peer changed is not saved")
	}
}

func TestR05_RequestsPastThePointOfReturnAreRefused(t *testing.T) {
	r := newRig(t, nil).ready()
	r.run("a", 1)
	r.do(KernelAccepted{Generation: r.c.Generation(), Seq: r.next(), Execution: uuid(1)})
	out := r.do(EndRequested{})
	if a := one[Answer](t, out); a.Execution.Status != statusError || r.status(uuid(1)) != statusError {
		t.Errorf("%+v", a)
	}
	if s := one[StopKernel](t, out); !s.Closing {
		t.Errorf("%+v", s)
	}
	from := r.caller("a")
	for _, ev := range []Event{ExecuteRequested{From: from, Items: []Item{{Cell: "c"}}}, CancelRequested{From: from}, LaunchRequested{From: from}, RestartRequested{from},
		ShutdownRequested{from}, InterruptRequested{from}, InputGiven{From: from}, SaveRequested{From: from}} {
		refused(t, r.do(ev), domain.CodeNotebookUnavailable)
	}
	if out := r.do(LaunchRequested{Automatic: true}); len(out) != 0 {
		t.Errorf("%+v", out)
	}
	if out := r.do(EndRequested{}); len(out) != 0 {
		t.Errorf("%+v", out)
	}
	r.do(HostStopped{})
	r.do(WatcherClosed{})
	none[StopKernel](t, r.do(EndRequested{}))
}

// What the old kernel and a launch still say belongs to nobody.
func TestALaunchThatEndsAfterTheRoom(t *testing.T) {
	r := newRig(t, nil)
	r.do(PeerJoined{1})
	r.do(LaunchRequested{Automatic: true})
	gen := r.c.Generation()
	r.do(EndRequested{})
	for _, ev := range []Event{HostStarted{gen, KernelInfo{}}, KernelReady{gen, 1}, LaunchFailed{gen, noSpace}, KernelDied{gen, 1, "", ""}} {
		if out := r.do(ev); len(out) != 0 {
			t.Errorf("%T: %+v", ev, out)
		}
	}
	if r.c.Generation() == gen {
		t.Error("the host would be taken for the room's")
	}
}

func TestADiskThatRefusesKeepsTheRoomOpen(t *testing.T) {
	r := newRig(t, nil).ready()
	r.do(PeerLeft{1})
	steps := closeSteps(r)
	steps[0]()
	steps[1]()
	none[StopKernel](t, r.do(BarrierFailed{}))
	if _, ok := r.timers[TimerEvict]; !ok || r.c.Status().Phase != Idle || r.c.RefusedClosing() {
		t.Errorf("phase %s", r.c.Status().Phase)
	}
}

func TestR06_ARunningCellHoldsTheTimer(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2)
	r.do(PeerLeft{1})
	if _, ok := r.timers[TimerEvict]; ok {
		t.Fatal("the timer runs")
	}
	r.end(ids[0], "ok")
	if _, ok := r.timers[TimerEvict]; ok {
		t.Fatal("the timer runs while a cell waits")
	}
	r.end(ids[1], "ok")
	r.print(ids[1], "late")
	if _, ok := r.timers[TimerEvict]; !ok {
		t.Fatal("the timer does not run")
	}
	if !r.c.Busy() {
		r.fire(TimerEvict)
	}
	r2 := newRig(t, nil)
	r2.do(Unattended{})
	if _, ok := r2.timers[TimerEvict]; !ok {
		t.Error("a room without its first peer stays for ever")
	}
}

func TestR06_KeepAlive(t *testing.T) {
	tests := []struct{ set, configured, want time.Duration }{
		{time.Second, DefaultKeepAlive, MinKeepAlive},
		{time.Hour, DefaultKeepAlive, time.Hour},
		{1000 * time.Hour, DefaultKeepAlive, MaxKeepAlive},
		{time.Millisecond, 50 * time.Millisecond, 50 * time.Millisecond}, // tests configure less than the minimum
	}
	for _, tt := range tests {
		r := newRig(t, func(c *Config) { c.KeepAlive = tt.configured }).ready()
		r.do(KeepAliveSet{tt.set})
		r.do(PeerLeft{1})
		if got := r.timers[TimerEvict]; got != tt.want {
			t.Errorf("%v with %v configured: %v, want %v", tt.set, tt.configured, got, tt.want)
		}
		r.do(KeepAliveSet{time.Hour})
		if got := r.timers[TimerEvict]; got != time.Hour {
			t.Errorf("a running timer is not set anew: %v", got)
		}
	}
}

func TestSavesAreOneAtATime(t *testing.T) {
	r := newRig(t, nil)
	r.c.BindFile()
	r.do(PeerJoined{1})
	first, second, third := r.caller("a"), r.caller("b"), r.caller("c")
	s := one[SaveFile](t, r.do(SaveRequested{From: first}))
	none[SaveFile](t, r.do(SaveRequested{From: second, Path: "/x.ipynb", Overwrite: true}))
	none[SaveFile](t, r.do(SaveRequested{From: third}))
	none[SaveFile](t, r.do(SaveFinished{Number: 99}))
	out := r.do(SaveFinished{Number: s.Number, Bound: true, Saved: wire.NotebookSaved{Path: "/n.ipynb"}})
	if resp := result(t, out, wire.ResultNotebookSaved); resp.To != first || resp.Body.(wire.NotebookSaved).Path != "/n.ipynb" {
		t.Errorf("%+v", resp)
	}
	s = one[SaveFile](t, out)
	if s.Path != "/x.ipynb" || !s.Overwrite || s.Automatic || s.Final {
		t.Errorf("%+v", s)
	}
	for _, tt := range []struct {
		fin  SaveFinished
		want string
	}{
		{SaveFinished{Err: noSpace}, wire.BlockedIO},
		{SaveFinished{Err: domain.Errorf(domain.CodeSaveConflict, "Changed.").WithHint("x")}, wire.BlockedSourceConflict},
		{SaveFinished{Err: noSpace, TakenBy: "other", Saved: wire.NotebookSaved{Path: "/x.ipynb"}}, wire.BlockedPathOpen},
	} {
		tt.fin.Number = r.c.saves.number
		b := result(t, r.do(tt.fin), wire.ResultSaveBlocked).Body.(wire.SaveBlocked)
		if b.Reason.Type != tt.want || b.Hint == "" || b.Reason.UUID != tt.fin.TakenBy {
			t.Errorf("%+v", b)
		}
		r.do(SaveRequested{From: third})
	}
}

func TestSavesThatWaitAreAnsweredWhenTheRoomEnds(t *testing.T) {
	r := newRig(t, nil).ready()
	s := one[SaveFile](t, r.do(SaveRequested{From: r.caller("a")}))
	r.do(SaveRequested{From: r.caller("b")})
	r.do(EndRequested{})
	out := r.do(SaveFinished{Number: s.Number, Bound: true})
	if len(allOf[Respond](out)) != 2 {
		t.Errorf("%+v", out)
	}
	none[SaveFile](t, out)
}

func TestAutosave(t *testing.T) {
	r := newRig(t, nil)
	r.do(PeerJoined{1})
	if len(r.do(DocumentChanged{})) != 0 {
		t.Error("a notebook without a file is saved by itself")
	}
	r.c.BindFile()
	r.do(DocumentChanged{})
	r.do(DocumentChanged{})
	if r.timers[TimerAutosave] != 2*time.Second || r.timers[TimerAutosaveMax] != 10*time.Second {
		t.Errorf("timers %v", r.timers)
	}
	s := one[SaveFile](t, r.fire(TimerAutosaveMax))
	if !s.Automatic || len(r.timers) != 0 {
		t.Errorf("%+v, timers %v", s, r.timers)
	}
	r.do(DocumentChanged{})
	none[SaveFile](t, r.fire(TimerAutosave)) // one is under way
	none[Respond](t, r.do(SaveFinished{Number: s.Number, Bound: true, Err: noSpace}))
	if !r.c.Status().Dirty {
		t.Error("a save that failed leaves the room clean")
	}
	s = one[SaveFile](t, r.do(SaveRequested{From: r.caller("a")}))
	r.do(SaveFinished{Number: s.Number, Bound: true})
	if r.c.Status().Dirty {
		t.Error("dirty after a save")
	}
	none[SaveFile](t, r.do(TimerFired{TimerAutosave}))
}

// A save has what the document does not have yet.
func TestASaveWritesTheOutputsOfTheMoment(t *testing.T) {
	r := newRig(t, nil).ready()
	r.c.BindFile()
	id := r.run("a", 1)[0]
	r.fire(TimerDefer)
	r.print(id, "so far")
	out := r.do(SaveRequested{From: r.caller("a")})
	if r.shown(id) != "so far" {
		t.Errorf("%q", r.shown(id))
	}
	if _, last := out[len(out)-1].(SaveFile); !last || r.c.Status().Dirty {
		t.Errorf("the file is written before the document: %+v", out)
	}
}
