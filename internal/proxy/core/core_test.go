package core

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/supervise"
)

func TestP01_KnownAnswersNeedNoChildAndNeverChange(t *testing.T) {
	r := newRig(t)
	list := func() string {
		t.Helper()
		r.forget()
		r.client(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}}`, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		r.wantClient(`{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"x"}]}}`, `{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"x"}]}}`, `{"jsonrpc":"2.0","id":"p","result":{}}`)
		r.client(hello)
		return r.toClient[0]
	}
	first := list()
	want := `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":false}},"serverInfo":{"name":"runt","version":"1.0"},"instructions":"Be kind."}}`
	if first != want {
		t.Errorf("initialize: %s", first)
	}
	r.started("1.0")
	states := []func(){func() {}, func() { r.dies(crash) }, func() { r.pass(time.Second); r.started("1.0") }}
	for _, enter := range states {
		enter()
		if got := list(); got != first {
			t.Errorf("in state %v initialize is answered %s", r.c.child.state, got)
		}
	}
}

func TestProtocolVersionIsNegotiated(t *testing.T) {
	for wanted, want := range map[string]string{"2025-11-25": "2025-11-25", "2024-11-05": "2024-11-05", "2026-07-28": "2025-11-25", "": "2025-11-25", "x": "2025-11-25"} {
		r := newRig(t)
		r.client(strings.Replace(hello, "2025-06-18", wanted, 1))
		if len(r.toClient) != 1 || !strings.Contains(r.toClient[0], `"protocolVersion":"`+want+`"`) {
			t.Errorf("%q: %s", wanted, r.toClient)
		}
	}
	r := newRig(t)
	r.client(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
	r.wantClient(`…-32601…`)
}

func TestP13_TheChildGetsTheClientsOwnWordsAndASession(t *testing.T) {
	r := newRig(t)
	r.client(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2099-01-01","clientInfo":{"name":"Zed <3","big":12345678901234567890},"x-unknown":[1],"_meta":{"k":1}}}`)
	r.handle(ChildStarted{Gen: 1, PID: 9})
	var got struct {
		Params map[string]any
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(r.toChild[0], "1 ")), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.toChild[0], `"big":12345678901234567890`) || !strings.Contains(r.toChild[0], "Zed <3") {
		t.Errorf("the child got %s", r.toChild[0])
	}
	meta := got.Params["_meta"].(map[string]any)
	if meta["runt/session"] != "session-1" || meta["k"] != 1.0 || got.Params["protocolVersion"] != "2025-11-25" || got.Params["x-unknown"] == nil || got.Params["capabilities"] == nil {
		t.Errorf("params %v", got.Params)
	}

	r = newRig(t)
	r.client(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	r.handle(ChildStarted{Gen: 1, PID: 9})
	r.wantChild(`…"clientInfo":{"name":"agent","version":"0"}…`)
}

func TestP03_CallsOfADeadChildAreSentAgainInTheSameBytes(t *testing.T) {
	r := newRig(t).up()
	a, b := toolCall(1, "execute_cell", `{"cell_id":"c","n":12345678901234567890}`), toolCall(`"two"`, "get_cell", `{}`)
	r.client(a, b)
	r.wantChild("1 "+a, "1 "+b)
	r.child(answerTo(`"two"`, ""))
	r.wantClient(answerTo(`"two"`, ""))
	r.dies(killed)
	r.client(toolCall(3, "get_cell", `{}`))
	r.wantChild()
	r.pass(200 * time.Millisecond)
	r.started("1.0")
	// The handshake names what the first child had, so that the second one looks whether it was done.
	r.wantChild(`…"_meta":{"runt/resent":[1],"runt/session":"session-1"}…`, "2 "+ready, "2 "+a, "2 "+toolCall(3, "get_cell", `{}`))
	r.child(answerTo(3, ""), answerTo(1, ""), answerTo(1, ""))
	r.wantClient(answerTo(3, ""), answerTo(1, ""))
}

func TestP04_Exit75RestartsAtOnceUncountedWithOneBanner(t *testing.T) {
	r := newRig(t).up()
	for range 10 {
		r.client(toolCall(1, "x", `{}`))
		r.dies(exit75)
		r.wantState(Starting)
		r.started("2.0")
		r.child(answerTo(1, ""))
	}
	banner := 0
	for _, l := range r.toClient {
		if strings.Contains(l, "notifications/message") {
			banner++
			if banner == 1 && !strings.Contains(l, "upgraded from 1.0 to 2.0") {
				t.Errorf("banner %s", l)
			}
		}
	}
	if banner != 10 || r.c.counts.Crashes != 0 || r.c.breaker.Recent(r.now) != 0 {
		t.Errorf("%d banners for 10 upgrades, %d crashes", banner, r.c.counts.Crashes)
	}
}

func TestP04_OneBannerWhenTheSumComesLate(t *testing.T) {
	for name, exit := range map[string]supervise.Exit{"exit 75": exit75, "crash": crash} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t).up()
			r.client(toolCall(1, "x", `{}`))
			r.child(answerTo(1, ""))
			r.dies(exit)
			r.pass(time.Second)
			r.forget()
			r.handle(ChildStarted{Gen: 2, PID: 5})
			r.child(`{"jsonrpc":"2.0","id":"runt-proxy:session-1:initialize","result":{"serverInfo":{"version":"2.0"}}}`)
			r.handle(ChildProgram{Gen: 2, Sum: "sum-2.0"})
			r.handle(ChildProgram{Gen: 2, Sum: "sum-2.0"})
			r.wantClient(`…upgraded from 1.0 to 2.0…`)
		})
	}
}

func TestP04_AChildThatExits75AgainAndAgainIsPacedButNotCounted(t *testing.T) {
	r := newRig(t).up()
	r.dies(exit75)
	for range 30 {
		r.started("1.0")
		r.dies(exit75)
		r.wantState(Pausing)
		r.pass(2400 * time.Millisecond)
	}
	if r.c.counts.Crashes != 0 || r.c.counts.Upgrades != 31 || len(r.toClient) != 1 {
		t.Errorf("%+v, %d lines to the client", r.c.counts, len(r.toClient))
	}
	r.started("1.0")
	r.dies(exit75)
	r.handle(ProgramFound{"other"})
	r.wantState(Starting) // a new program is tried at once
}

func TestP05_FiveCrashesThenCallsFailAtOnceThenOneStart(t *testing.T) {
	r := newRig(t).up()
	r.client(toolCall(1, "execute_cell", `{"cell_id":"cell-1"}`))
	r.dies(crash)
	for range 4 {
		r.pass(3 * time.Second)
		r.started("1.0")
		r.dies(crash)
	}
	r.wantState(Broken)
	exec := domain.DerivedExecutionID(domain.DerivedUUID("call", "session-1", "1"), "cell-1")
	r.wantClient(`…`+string(exec)+`…`,
		`…The notebook server keeps crashing (5 times within 30s, last: exit code 1: panic: boom) and is not started again for another 60 s.…`)
	starts := len(r.starts)
	r.pass(20 * time.Second)
	r.client(toolCall(2, "get_cell", `{}`), toolCall(3, "reconnect", `{}`), `{"jsonrpc":"2.0","id":4,"method":"resources/list"}`)
	r.wantClient(`…"isError":true…`, `…another 40 s…`, `…"code":-32603,"message":"The notebook server keeps crashing…`)
	r.pass(39 * time.Second)
	if len(r.starts) != starts {
		t.Error("a start sneaked through")
	}
	r.pass(2 * time.Second)
	if len(r.starts) != starts+1 {
		t.Errorf("%d starts after the cooldown", len(r.starts)-starts)
	}
	r.started("1.0")
	r.client(toolCall(5, "x", `{}`))
	r.dies(crash) // the trial
	r.wantState(Broken)
	r.pass(61 * time.Second)
	r.started("1.0")
	r.client(toolCall(6, "x", `{}`))
	r.child(answerTo(6, ""))
	r.dies(crash)
	r.wantState(Pausing) // the budget is whole again
}

func TestP05_AProgramReplacedWhileTheBreakerIsOpenIsTriedAtOnce(t *testing.T) {
	r := newRig(t)
	r.client(hello)
	r.client(toolCall(1, "x", `{}`))
	for range 5 {
		r.handle(ChildFailed{r.c.child.gen, errors.New("runt: not found")})
		r.pass(3 * time.Second)
	}
	r.wantState(Broken)
	r.wantClient(`{"jsonrpc":"2.0","id":0,…`, `…last: runt: not found…`, `…notifications/message…`)
	r.handle(ProgramFound{"first"})
	r.wantState(Starting)
}

func TestP06_ToolErrorsAreAnswersNotCrashes(t *testing.T) {
	r := newRig(t).up()
	for i := range 3 {
		r.dies(crash)
		r.pass(time.Second)
		r.started("1.0")
		for j := range 10 {
			r.client(toolCall(i*10+j, "x", `{}`))
			r.child(answerTo(i*10+j, `,"isError":true`))
		}
	}
	if r.c.breaker.Recent(r.now) != 0 || len(r.starts) != 3 {
		t.Errorf("%d crashes count, %d starts", r.c.breaker.Recent(r.now), len(r.starts))
	}
}

func TestACallThatCrashesEveryChildIsGivenUp(t *testing.T) {
	r := newRig(t).up()
	r.client(toolCall(1, "poison", `{}`))
	for i := range 5 {
		r.client(toolCall(100+i, "x", `{}`))
		r.child(answerTo(100+i, "")) // others are served meanwhile, so the breaker stays closed
		r.dies(crash)
		r.pass(2 * time.Second)
		r.started("1.0")
	}
	if last := r.toClient[len(r.toClient)-1]; !strings.Contains(last, "crashed 5 times right after") {
		t.Errorf("last: %s", last)
	}
	if r.c.calls.len() != 0 {
		t.Error("still in flight")
	}
}

func TestCallsDoNotWaitForeverForAChild(t *testing.T) {
	r := newRig(t)
	r.client(hello, toolCall(1, "x", `{}`))
	r.pass(19 * time.Second)
	r.toClient = nil
	r.pass(time.Second)
	r.wantClient(`…x was not answered…`)

	r = newRig(t).up()
	r.client(toolCall(1, "execute_cell", `{"cell_id":"c"}`))
	r.dies(exit75)
	r.pass(10*time.Second - 1)
	r.wantClient()
	r.pass(1)
	r.wantClient(`…get_results with execution_id…`)
}

func TestAChildThatDoesNotShakeHandsIsReplaced(t *testing.T) {
	r := newRig(t)
	r.client(hello)
	r.handle(ChildStarted{Gen: 1, PID: 5})
	r.pass(15 * time.Second)
	r.wantState(Ending)
	r.dies(shooted)
	r.wantState(Pausing)
	if r.c.counts.Crashes != 1 {
		t.Errorf("%+v", r.c.counts)
	}
	r.pass(time.Second)
	r.handle(ChildStarted{Gen: 2, PID: 6})
	r.child(`{"jsonrpc":"2.0","id":"runt-proxy:session-1:initialize","error":{"code":1,"message":"no"}}`)
	r.wantState(Ending)
}

func TestP11_AReplacedProgramIsTakenUpWhenIdle(t *testing.T) {
	r := newRig(t).up()
	r.handle(ProgramFound{"sum-1.0"})
	r.wantState(Ready)
	r.client(toolCall(1, "x", `{}`))
	r.handle(ProgramFound{"sum-2.0"})
	r.wantState(Ready)
	r.child(answerTo(1, ""))
	r.wantState(Ending)
	r.client(toolCall(2, "x", `{}`))
	r.dies(onEOF)
	r.wantState(Starting)
	r.forget()
	r.started("2.0")
	r.wantClient(`…upgraded from 1.0 to 2.0…`)
	r.wantChild(`2 …`, "2 "+ready, "2 "+toolCall(2, "x", `{}`))
	if r.c.counts.Crashes != 0 || r.c.program.stale() {
		t.Errorf("%+v %+v", r.c.counts, r.c.program)
	}
}

func TestP14_Reconnect(t *testing.T) {
	r := newRig(t).up()
	r.client(toolCall(1, "execute_cell", `{}`), toolCall(2, "reconnect", `{}`), toolCall(3, "reconnect", `{}`))
	r.wantState(Ending)
	r.toChild = nil
	r.dies(shooted)
	r.wantState(Starting)
	r.started("1.0")
	r.wantClient(`…Reconnected: a new notebook server (version 1.0, pid 102) is running.…`, `…Reconnected…`)
	r.wantChild(`2 …`, "2 "+ready, "2 "+toolCall(1, "execute_cell", `{}`))
	if r.c.counts.Crashes != 0 {
		t.Error("counted as a crash")
	}
	r.client(toolCall(4, "reconnect", `{}`))
	r.pass(899 * time.Millisecond)
	r.wantClient()
	r.pass(time.Millisecond)
	r.wantClient(`…is starting. Calls wait for it…`)
}
