package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/proxy/proxytest"
	"runt/internal/proxy/rpcline"
)

func TestP01_KnownAnswersWithoutAnyChild(t *testing.T) {
	b := setup(t, func(o *Options) {
		o.Command = func() (string, []string, error) { return "", nil, errors.New("no runt here") }
	})
	start := time.Now()
	b.agent.Initialize()
	first := b.agent.RequestAs(`"l"`, "tools/list", map[string]any{}).Wait(proxytest.Patience)
	if d := time.Since(start); d > 50*time.Millisecond {
		t.Errorf("initialize and tools/list took %v", d)
	}
	b.report(func(r Report) bool { return r.Breaker.State == "open" })
	second := b.agent.RequestAs(`"m"`, "tools/list", map[string]any{}).Wait(proxytest.Patience)
	if !bytes.Equal(first.Result, second.Result) {
		t.Errorf("%s\n%s", first.Result, second.Result)
	}
	start = time.Now()
	r := b.agent.Call("echo", nil)
	if d := time.Since(start); !r.IsError || d > 100*time.Millisecond || !strings.Contains(r.Text, "no runt here") {
		t.Errorf("after %v: %+v", d, r)
	}
}

func TestP02_ChildKilledTwentyTimes(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	seen := map[int]bool{}
	var worst time.Duration
	for range 20 {
		pid, _ := b.who()
		if seen[pid] {
			t.Fatalf("child %d answers after its death", pid)
		}
		seen[pid] = true
		b.killChild()
		start := time.Now()
		b.agent.Call("echo", nil)
		worst = max(worst, time.Since(start))
	}
	t.Logf("longest wait for the next answer %v", worst)
	if worst > 5*time.Second || !b.agent.Alive() {
		t.Errorf("the next answer took %v, stdio open %v", worst, b.agent.Alive())
	}
	if r := b.report(func(r Report) bool { return r.Counts.Crashes == 20 }); r.Counts.Refused != 0 || r.Breaker.State != "closed" {
		t.Errorf("%+v %+v", r.Counts, r.Breaker)
	}
}

func TestP03_CallsInFlightAtAChildsDeath(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	const calls = 12
	for round := range 3 {
		pid, _ := b.who()
		var pending []*proxytest.Pending
		for i := range calls {
			tool := []string{"execute", "echo"}[i%2]
			pending = append(pending, b.agent.Begin(tool, map[string]int{"ms": 150}))
		}
		b.agent.Begin("die", map[string]int{"times": 1, "code": []int{1, 75, 0}[round]}).Result(proxytest.Patience)
		for _, p := range pending {
			if r := p.Result(proxytest.Patience); r.IsError {
				t.Errorf("call %s: %s", p.ID, r.Text)
			}
		}
		if next, _ := b.who(); next == pid {
			t.Errorf("round %d: the child did not die", round)
		}
	}
	if got := len(b.child.Runs("executed")); got != 3*calls/2 {
		t.Errorf("%d executions, want %d", got, 3*calls/2)
	}
	if got := len(b.child.Runs("received")); got <= 3*(calls+1) {
		t.Errorf("nothing was sent again: %d arrivals", got)
	}
}

func TestP04_Exit75(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	b.who()
	b.child.Install("2.0")
	pending := b.agent.Begin("die", map[string]int{"times": 1, "code": 75})
	if r := pending.Result(proxytest.Patience); r.Text != "alive" {
		t.Errorf("%+v", r)
	}
	if _, version := b.who(); version != "2.0" {
		t.Errorf("version %s", version)
	}
	b.agent.Await("banner", func(m rpcline.Message) bool { return bytes.Contains(m.Line, []byte("upgraded from 1.0 to 2.0")) })
	banners := 0
	for _, m := range b.agent.Received() {
		if m.Method == "notifications/message" {
			banners++
		}
	}
	r := b.report(func(r Report) bool { return r.Child.Version == "2.0" })
	if banners != 1 || r.Counts.Crashes != 0 || r.Counts.Upgrades != 1 || r.Breaker.Crashes != 0 {
		t.Errorf("%d banners, %+v, %+v", banners, r.Counts, r.Breaker)
	}
}

func TestP05_Breaker(t *testing.T) {
	b := setup(t, fast)
	b.child.Install("1.0", "FAKE_EXIT=3")
	b.agent.Initialize()
	r := b.agent.Call("echo", nil)
	if !r.IsError || !strings.Contains(r.Text, "exit code 3: fake child: told to exit with 3") {
		t.Errorf("%+v", r)
	}
	st := b.report(func(r Report) bool { return r.Breaker.State == "open" })
	start := time.Now()
	if r := b.agent.Call("echo", nil); !r.IsError || time.Since(start) > 100*time.Millisecond || !strings.Contains(r.Text, "another 1 s") {
		t.Errorf("after %v: %+v", time.Since(start), r)
	}
	if st.Counts.Starts != 5 {
		t.Errorf("%d starts", st.Counts.Starts)
	}
	b.child.Install("1.1") // mended: it is tried at once, whatever the cooldown
	b.report(func(r Report) bool { return r.Child.State == "ready" })
	if _, version := b.who(); version != "1.1" {
		t.Errorf("version %s", version)
	}
}

func TestP06_ToolErrorsLeaveTheChildAlone(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	before, _ := b.who()
	for range 10 {
		if r := b.agent.Call("fail", nil); !r.IsError || r.Text != "cell_id is missing" {
			t.Errorf("%+v", r)
		}
	}
	if after, _ := b.who(); after != before {
		t.Errorf("child %d became %d", before, after)
	}
}

func TestP07_PassThrough(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	t.Run("bytes of a call", func(t *testing.T) {
		line := ` {"x":[1e400,12345678901234567890],  "jsonrpc":"2.0","id":9007199254740993,"method":"future/method","params":{"n":0.10,"t":"\u00e9é"}}`
		p := b.agent.Expect("9007199254740993")
		b.agent.Send(line)
		var got struct{ Line string }
		if err := json.Unmarshal(p.Wait(proxytest.Patience).Result, &got); err != nil || got.Line != line {
			t.Errorf("the child got %q (%v)", got.Line, err)
		}
	})
	t.Run("8 MB both ways", func(t *testing.T) {
		line := `{"jsonrpc":"2.0","id":"m","method":"tools/call","params":{"name":"measure","arguments":{"text":"` + strings.Repeat("y", 8<<20) + `"}}}`
		want := fmt.Sprintf("%d %x", len(line), sha256.Sum256([]byte(line)))
		start := time.Now()
		p := b.agent.Expect(`"m"`)
		b.agent.Send(line)
		if r := p.Result(proxytest.Patience); r.Text != want {
			t.Errorf("the child got %s, want %s", r.Text, want)
		}
		if r := b.agent.Call("big", map[string]int{"bytes": 8 << 20}); len(r.Text) != 8<<20 {
			t.Errorf("%d bytes", len(r.Text))
		}
		t.Logf("8 MB there and 8 MB back in %v", time.Since(start))
	})
	t.Run("progress", func(t *testing.T) {
		b.agent.RequestAs(`"p"`, "tools/call", json.RawMessage(`{"name":"progress","_meta":{"progressToken":"tok"}}`)).Result(proxytest.Patience)
		n := 0
		for _, m := range b.agent.Received() {
			if m.Method == "notifications/progress" && bytes.Contains(m.Line, []byte(`"progressToken":"tok"`)) {
				n++
			}
		}
		if n != 3 {
			t.Errorf("%d of 3 progress notifications", n)
		}
	})
	t.Run("requests and notifications of the child", func(t *testing.T) {
		b.agent.Handle(func(m rpcline.Message) any { return json.RawMessage(`{"roots":[],"big":12345678901234567890}`) })
		if r := b.agent.Call("ask", nil); !strings.Contains(r.Text, `"big":12345678901234567890`) {
			t.Errorf("%+v", r)
		}
		b.agent.Call("notify", nil)
		for _, method := range []string{"notifications/message", "notifications/tools/list_changed", "notifications/future"} {
			b.agent.Await(method, func(m rpcline.Message) bool {
				return m.Method == method && bytes.Contains(m.Line, []byte("12345678901234567890"))
			})
		}
	})
	t.Run("cancellation and log level", func(t *testing.T) {
		hang := b.agent.Begin("hang", nil)
		b.agent.Cancel(hang)
		b.agent.Request("logging/setLevel", map[string]string{"level": "warning"}).Wait(proxytest.Patience)
		if r := b.agent.Call("state", nil); !strings.Contains(r.Text, "level=warning") || !strings.Contains(r.Text, "notifications/initialized,notifications/cancelled") {
			t.Errorf("%s", r.Text)
		}
		b.killChild()
		if r := hang.Result(proxytest.Patience); !r.IsError || !strings.Contains(r.Text, "cancelled") {
			t.Errorf("%+v", r)
		}
		if r := b.agent.Call("state", nil); !strings.Contains(r.Text, "level=warning") {
			t.Errorf("the next child: %s", r.Text)
		}
	})
}

func TestP10_OnlyMessagesReachTheClient(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	if r := b.agent.Call("noise", nil); r.Text != "quiet again" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"noise on stdout", "noise on stderr", "almost"} {
		if !strings.Contains(b.log.String(), want) {
			t.Errorf("%q is not in the log", want)
		}
	}
}

func TestP11_ReplacedProgramIsTakenUpWhenIdle(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	pid, _ := b.who()
	busy := b.agent.Begin("execute", map[string]int{"ms": 1500})
	b.child.Install("2.0")
	b.report(func(r Report) bool { return r.Child.Stale })
	if now, version := b.who(); now != pid || version != "1.0" {
		t.Errorf("replaced during a call: pid %d, version %s", now, version)
	}
	if r := busy.Result(proxytest.Patience); r.IsError {
		t.Errorf("%+v", r)
	}
	b.report(func(r Report) bool { return r.Child.State == "ready" && r.Child.Version == "2.0" && !r.Child.Stale })
	if now, version := b.who(); now == pid || version != "2.0" {
		t.Errorf("pid %d, version %s", now, version)
	}
	if got := len(b.child.Runs("executed")); got != 1 {
		t.Errorf("%d executions", got)
	}
}

func TestP12_NotebooksAreHandedOn(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	bind := func(event, id, path string, byDefault bool) {
		b.agent.Call("bind", map[string]any{"event": event, "id": id, "path": path, "default": byDefault})
	}
	bind("connected", "a", "/a.ipynb", true)
	bind("connected", "b", "", true)
	bind("connected", "c", "/c.ipynb", false)
	bind("disconnected", "c", "/c.ipynb", false)
	bind("saved", "b", "/with space.ipynb", true)
	b.killChild()
	want := `default=/with space.ipynb all=[{"id":"a","path":"/a.ipynb","default":false},{"id":"b","path":"/with space.ipynb","default":true}]`
	if r := b.agent.Call("state", nil); !strings.HasSuffix(r.Text, want) {
		t.Errorf("got %s", r.Text)
	}
	if r := b.report(func(r Report) bool { return len(r.Notebooks) == 2 }); !strings.Contains(r.Text(time.Now()), "/with space.ipynb (default)") {
		t.Errorf("%s", r.Text(time.Now()))
	}
}

func TestP13_TheChildKnowsTheClient(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	if r := b.agent.Call("who", nil); !strings.HasSuffix(r.Text, " fake-agent") {
		t.Errorf("%s", r.Text)
	}
}

func TestP14_Reconnect(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	before, _ := b.who()
	running := b.agent.Begin("execute", map[string]int{"ms": 600})
	start := time.Now()
	r := b.agent.Call("reconnect", nil)
	took := time.Since(start)
	t.Logf("reconnect took %v: %s", took, r.Text)
	if r.IsError || took > time.Second {
		t.Errorf("took %v: %+v", took, r)
	}
	if r := running.Result(proxytest.Patience); r.IsError {
		t.Errorf("%+v", r)
	}
	if after, _ := b.who(); after == before {
		t.Error("the same child answers")
	}
	if got := len(b.child.Runs("executed")); got != 1 {
		t.Errorf("%d executions", got)
	}
}

func TestManyClientsGoroutinesOneProxy(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				text := fmt.Sprintf("%d/%d", g, i)
				if r := b.agent.Call("echo", map[string]string{"text": text}); !strings.Contains(r.Text, text) {
					t.Errorf("%s: %s", text, r.Text)
				}
			}
		})
	}
	for range 3 {
		b.killChild()
	}
	wg.Wait()
}
