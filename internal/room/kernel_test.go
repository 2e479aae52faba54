package room

import (
	"encoding/json"
	"testing"

	"runt/internal/domain"
	"runt/internal/wire"
)

// states brings a room into every state of a kernel.
var states = []struct {
	name  string
	reach func(r *rig)
	alive bool
}{
	{"not started", func(r *rig) { r.do(PeerJoined{1}) }, false},
	{"launching", func(r *rig) { r.do(PeerJoined{1}); r.do(LaunchRequested{Automatic: true}) }, true},
	{"running idle", func(r *rig) { r.ready() }, true},
	{"running busy", func(r *rig) { r.ready(); r.run("a", 91, 92); r.fire2() }, true},
	{"launch failed", func(r *rig) {
		r.do(PeerJoined{1})
		r.do(LaunchRequested{Automatic: true})
		r.do(LaunchFailed{r.c.Generation(), domain.Errorf(domain.CodeEnvironmentFailed, "No Python.").WithHint("Install it.")})
	}, false},
	{"died", func(r *rig) { r.ready(); r.do(KernelDied{r.c.Generation(), r.next(), "Gone.", "Restart."}) }, false},
	{"shut down", func(r *rig) { r.ready(); r.do(ShutdownRequested{r.caller("a")}) }, false},
}

func (r *rig) fire2() {
	if _, ok := r.timers[TimerDefer]; ok {
		r.fire(TimerDefer)
	}
}

func TestRestartWorksInEveryState(t *testing.T) {
	for _, st := range states {
		t.Run(st.name, func(t *testing.T) {
			r := newRig(t, nil)
			st.reach(r)
			out := r.do(RestartRequested{r.caller("a")})
			result(t, out, wire.ResultKernelRestarted)
			l := one[LaunchKernel](t, out)
			if n := len(allOf[StopKernel](out)); (n == 1) != st.alive {
				t.Errorf("%d kernels are stopped", n)
			}
			if e := one[EditRuntime](t, out); !e.Leaves {
				t.Error("the change does not give up the old host")
			}
			r.do(HostStarted{l.Generation, KernelInfo{Name: "python"}})
			r.do(KernelReady{l.Generation, 1})
			if id := r.run("a", 1)[0]; one[HostExecute](t, r.last).Execution != id {
				t.Error("the next cell is not run")
			}
			if r.doc.kernel.Lifecycle != Running || r.doc.kernel.ErrorDetails != "" || r.doc.kernel.ErrorReason != "" {
				t.Errorf("kernel %+v", r.doc.kernel)
			}
			for _, n := range []int{91, 92} {
				if s := r.status(uuid(n)); s != "" && s != statusError && s != statusCancelled {
					t.Errorf("an old cell is %s", s)
				}
			}
		})
	}
}

func TestRequestsInEveryState(t *testing.T) {
	for _, st := range states {
		t.Run(st.name, func(t *testing.T) {
			want := func(alive, dead string) string {
				if st.alive {
					return alive
				}
				return dead
			}
			fresh := func() *rig {
				r := newRig(t, nil)
				st.reach(r)
				return r
			}
			r := fresh()
			result(t, r.do(LaunchRequested{From: r.caller("a")}), want(wire.ResultKernelAlreadyRunning, wire.ResultKernelLaunched))
			r = fresh()
			none[Respond](t, r.do(LaunchRequested{Automatic: true}))
			if !r.c.kernel.alive() {
				t.Error("nothing was launched")
			}
			r = fresh()
			result(t, r.do(ShutdownRequested{r.caller("a")}), want(wire.ResultKernelShuttingDown, wire.ResultNoKernel))
			r = fresh()
			v4 := Caller{Peer: 1, RequestID: "i", Actor: "a"}
			result(t, r.do(InterruptRequested{v4}), want(wire.ResultInterruptSent, wire.ResultNoKernel))
			r = fresh()
			refused(t, r.do(InputGiven{r.caller("a"), "x"}), domain.CodeInvalidArgument)
		})
	}
}

func TestK04_ADeadKernelEndsWhatItRan(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2, 3)
	r.print(ids[0], "before\n")
	out := r.do(KernelDied{r.c.Generation(), r.next(), "The kernel was killed (SIGKILL).", "Restart the kernel."})
	if got := r.shown(ids[0]); got != "before\nThe kernel was killed (SIGKILL). Restart the kernel." || r.status(ids[0]) != statusError {
		t.Errorf("%s %q", r.status(ids[0]), got)
	}
	for _, id := range ids[1:] {
		if r.status(id) != statusCancelled {
			t.Errorf("%s is %s", id, r.status(id))
		}
	}
	for _, a := range allOf[Answer](out) {
		if a.Execution.Reason == "" || a.Execution.Hint == "" {
			t.Errorf("answered without a reason: %+v", a.Execution)
		}
	}
	if len(allOf[Answer](out)) != 3 || r.doc.kernel.Lifecycle != Errored || r.doc.kernel.ErrorDetails == "" || r.doc.executing != "" {
		t.Errorf("%d answers, kernel %+v", len(allOf[Answer](out)), r.doc.kernel)
	}
	one[StopKernel](t, out)
	r.do(PeerLeft{1})
	if _, ok := r.timers[TimerEvict]; !ok {
		t.Error("the dead kernel holds the room")
	}
}

func TestALaunchThatFailsTellsEverybody(t *testing.T) {
	r := newRig(t, nil)
	r.do(PeerJoined{1})
	id := r.run("a", 1)[0]
	r.do(LaunchProgress{r.c.Generation(), "Installing ipykernel"})
	if r.doc.progress != "Installing ipykernel" {
		t.Errorf("progress %q", r.doc.progress)
	}
	out := r.do(LaunchFailed{r.c.Generation(), domain.Errorf(domain.CodeEnvironmentFailed, "No Python.").WithHint("Install it.")})
	if a := one[Answer](t, out).Execution; a.Status != statusCancelled || a.Reason != "No Python." || a.Hint != "Install it." || a.ID != id {
		t.Errorf("answered %+v", a)
	}
	if k := r.doc.kernel; k.Lifecycle != Errored || k.ErrorReason != "environment_prepare_failed" || k.ErrorDetails != "No Python. Install it." || r.doc.progress != "" {
		t.Errorf("kernel %+v, progress %q", k, r.doc.progress)
	}
	r.do(LaunchRequested{From: r.caller("a")})
	r.do(LaunchFailed{r.c.Generation(), domain.Errorf(domain.CodeKernelUnavailable, "No such kernel.").WithHint("List them.")})
	if k := r.doc.kernel; k.ErrorReason != "" || k.ErrorDetails != "No such kernel. List them." {
		t.Errorf("kernel %+v", k)
	}
}

func TestK05_Interrupt(t *testing.T) {
	r := newRig(t, nil).ready()
	ids := r.run("a", 1, 2)
	other := r.run("b", 3)[0]
	out := r.do(InterruptRequested{r.caller("a")})
	if x := one[HostInterrupt](t, out); x.Execution != ids[0] {
		t.Errorf("interrupts %s", x.Execution)
	}
	none[Respond](t, out)
	if r.status(ids[1]) != statusCancelled || r.status(other) != statusQueued {
		t.Errorf("%s, %s", r.status(ids[1]), r.status(other))
	}
	out = r.fail(ids[0])
	got := result(t, out, wire.ResultInterruptSent).Body.(wire.InterruptSent)
	if got.StillBusy || got.ExecutionID != string(ids[0]) || len(got.Cancelled) != 1 || got.Cancelled[0] != string(ids[1]) {
		t.Errorf("%+v", got)
	}
	if one[HostExecute](t, out).Execution != other {
		t.Error("the other client's cell is not run")
	}
	r.do(InterruptRequested{r.caller("b")})
	got = result(t, r.fire(TimerInterrupt), wire.ResultInterruptSent).Body.(wire.InterruptSent)
	if !got.StillBusy || got.ExecutionID != string(other) {
		t.Errorf("%+v", got)
	}
	none[Respond](t, r.end(other, "ok"))
}

func TestInterruptOfV4AnswersAtOnce(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	got := result(t, r.do(InterruptRequested{Caller{Peer: 1, RequestID: "i", Actor: "z"}}), wire.ResultInterruptSent).Body.(wire.InterruptSent)
	if got.ExecutionID != string(id) {
		t.Errorf("%+v", got)
	}
}

// With nothing running the queue is all there is to interrupt.
func TestInterruptWhileTheKernelStarts(t *testing.T) {
	r := newRig(t, nil)
	r.do(PeerJoined{1})
	ids := r.run("a", 1, 2)
	got := result(t, r.do(InterruptRequested{r.caller("b")}), wire.ResultInterruptSent).Body.(wire.InterruptSent)
	if len(got.Cancelled) != 2 || r.status(ids[0]) != statusCancelled {
		t.Errorf("%+v", got)
	}
}

func TestAnInterrupterThatLeavesIsForgotten(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.do(PeerJoined{2})
	from := r.caller("a")
	from.Peer = 2
	r.do(InterruptRequested{from})
	r.do(PeerLeft{2})
	r.do(PeerLeft{2}) // once more does nothing
	none[Respond](t, allButHeld(r.fail(id)))
}

// allButHeld drops the answer to the execute request.
func allButHeld(effects []Effect) (out []Effect) {
	for _, e := range effects {
		if r, ok := e.(Respond); ok && r.Result == wire.ResultCellQueued {
			continue
		}
		out = append(out, e)
	}
	return out
}

func TestK08_Input(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.do(KernelWantsInput{Generation: r.c.Generation(), Seq: r.next(), Execution: id, Prompt: "name? "})
	if r.doc.input["prompt"] != "name? " || r.doc.input["execution_id"] != string(id) || r.status(id) != statusRunning {
		t.Errorf("input %v, %s", r.doc.input, r.status(id))
	}
	out := r.do(InputGiven{r.caller("b"), "Ada"})
	if one[HostInput](t, out).Text != "Ada" || r.doc.input != nil {
		t.Errorf("%+v, input %v", out, r.doc.input)
	}
	result(t, out, wire.ResultOK)
	r.do(KernelWantsInput{Generation: r.c.Generation(), Seq: r.next(), Execution: id, Prompt: "again? ", Password: true})
	if x := one[HostInterrupt](t, r.fire(TimerInput)); x.Execution != id || r.doc.input != nil {
		t.Errorf("%+v", x)
	}
	r.do(KernelWantsInput{Generation: r.c.Generation(), Seq: r.next(), Execution: "other", Prompt: "? "})
	if r.doc.input != nil {
		t.Error("a prompt of nobody is shown")
	}
	r.do(KernelWantsInput{Generation: r.c.Generation(), Seq: r.next(), Execution: id, Prompt: "? "})
	r.end(id, "ok")
	if r.doc.input != nil {
		t.Error("the prompt outlives its cell")
	}
	if _, ok := r.timers[TimerInput]; ok {
		t.Error("its timer too")
	}
}

func TestKernelInfoFollowsTheNotebookUntilAKernelRuns(t *testing.T) {
	r := newRig(t, nil)
	r.do(KernelChosen{KernelInfo{Name: "julia", Language: "julia"}})
	r.do(LaunchRequested{Automatic: true, EnvSource: "x"})
	if k := r.doc.kernel; k.Name != "julia" || k.EnvSource != "x" {
		t.Errorf("kernel %+v", k)
	}
	r.do(KernelChosen{KernelInfo{Name: "r"}})
	if r.c.Status().Kernel.Name != "julia" {
		t.Error("the running kernel changed its name")
	}
}

func TestNotesAreWhatEarlierVersionsWrote(t *testing.T) {
	r := newRig(t, nil).ready()
	r.do(ExecuteRequested{From: Caller{Peer: 1, RequestID: "q", Actor: "a", OurClient: true}, Items: []Item{{Cell: "c", Execution: uuid(1), MayFail: true}}})
	got := one[HostExecute](t, r.last).Note
	const want = `{"cell":"c","actor":"a","request":"q","run":1,"seq":0,"may_fail":true,"input":true}`
	if got != want {
		t.Errorf("note %s, want %s", got, want)
	}
	if !json.Valid([]byte(got)) {
		t.Error("no JSON")
	}
}
