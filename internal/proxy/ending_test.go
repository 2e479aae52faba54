package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/proxy/proxytest"
)

func TestP08_BadLinesThenServiceGoesOn(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	for _, line := range []string{"hello, not json", `{"jsonrpc":"2.0","id":2,`, `[1,2]`, `{"a":1}`} {
		b.agent.Send(line)
	}
	if r := b.agent.Call("echo", nil); r.IsError {
		t.Errorf("%+v", r)
	}
	faults := 0
	for _, m := range b.agent.Received() {
		if m.Fault != nil && m.ID == nil {
			faults++
		}
	}
	if faults != 4 {
		t.Errorf("%d faults for 4 bad lines", faults)
	}
}

func TestP08_PipedRequestsThenEOFAreAllAnswered(t *testing.T) {
	for range 50 {
		b := setup(t)
		hello := `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case","version":"0"}}}`
		ready := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		b.agent.Send(strings.Join([]string{hello, ready, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`}, "\n"))
		calls := []*proxytest.Pending{b.agent.Begin("echo", nil), b.agent.Begin("execute", map[string]int{"ms": 10})}
		b.agent.CloseInput()
		for _, p := range calls {
			if r := p.Result(proxytest.Patience); r.IsError {
				t.Errorf("%+v", r)
			}
		}
		if code := b.exit(proxytest.Patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if b.agent.AnswersTo(`"i"`) != 1 || b.agent.AnswersTo(`"l"`) != 1 {
			t.Error("initialize or tools/list was not answered once")
		}
	}
}

func TestP09_TheChildIsGoneSoonAfterTheClient(t *testing.T) {
	tests := map[string]struct {
		settings []string
		end      func(*bench)
		limit    time.Duration
	}{
		"end of input":                    {nil, func(b *bench) { b.agent.CloseInput() }, time.Second},
		"SIGTERM":                         {nil, func(b *bench) { b.stop() }, time.Second},
		"end of input, a call hangs":      {nil, func(b *bench) { b.agent.Begin("hang", nil); b.agent.CloseInput() }, 5 * time.Second},
		"end of input, the child is deaf": {[]string{"FAKE_DEAF=1"}, func(b *bench) { b.agent.CloseInput() }, 5 * time.Second},
		"SIGTERM, the child is deaf":      {[]string{"FAKE_DEAF=1"}, func(b *bench) { b.stop() }, 5 * time.Second},
		"SIGTERM while the child is mute": {[]string{"FAKE_MUTE=1"}, func(b *bench) { b.stop() }, time.Second},
		"end of input, the child is mute": {[]string{"FAKE_MUTE=1"}, func(b *bench) { b.agent.Begin("echo", nil); b.agent.CloseInput() }, 5 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.child.Install("1.0", tt.settings...)
			b.agent.Initialize()
			st := b.report(func(r Report) bool { return r.Child.PID != 0 })
			start := time.Now()
			tt.end(b)
			code := b.exit(10 * time.Second)
			took := time.Since(start)
			if code != 0 || took > tt.limit+time.Second { // a second for a busy machine
				t.Errorf("exit code %d after %v, want 0 within %v", code, took, tt.limit)
			}
			if err := syscall.Kill(st.Child.PID, 0); err == nil {
				t.Errorf("child %d is still there", st.Child.PID)
			}
			if reports, err := Reports(b.dir + "/proxies"); err != nil || len(reports) != 0 {
				t.Errorf("status left behind: %v %v", reports, err)
			}
		})
	}
}

// A client that does not read stops what is read from it, and not the end.
func TestAStuckClient(t *testing.T) {
	r, w := pipe(t)
	defer r.Close()
	b := setup(t, func(o *Options) {
		o.Out = w
		o.Core.Tools = json.RawMessage(`["` + strings.Repeat("x", 1<<20) + `"]`)
	})
	const lists = 100 // megabytes
	for i := range lists {
		b.agent.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i))
	}
	if _, err := io.ReadFull(r, make([]byte, 2<<20)); err != nil { // and then no more
		t.Fatal(err)
	}
	b.stop()
	if code := b.exit(10 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(b.log.String(), "the client did not take the last lines") {
		t.Error("the log does not say so")
	}
}

func TestAClientThatIsGone(t *testing.T) {
	r, w := pipe(t)
	b := setup(t, func(o *Options) { o.Out = w })
	r.Close()
	b.agent.Send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if code := b.exit(5 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestALineThatIsTooLongIsRefused(t *testing.T) {
	b := setup(t)
	b.agent.Initialize()
	b.agent.Send(strings.Repeat("x", 65<<20))
	if r := b.agent.Call("echo", nil); r.IsError {
		t.Errorf("%+v", r)
	}
	got := b.agent.Received()
	if len(got) != 1 || !strings.Contains(string(got[0].Fault), "the limit is 67108864") {
		t.Errorf("%d messages", len(got))
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	program := dir + "/runt"
	t.Setenv("PATH", dir)
	t.Setenv(ProgramVar, "")
	if path, err := Locate("runt"); err == nil || !strings.HasSuffix(path, "/runt") {
		t.Errorf("found %q (%v) where nothing is", path, err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := Locate("runt"); err != nil || path != program {
		t.Errorf("on PATH: %q %v", path, err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := exe[strings.LastIndex(exe, "/")+1:]
	if path, err := Locate(name); err != nil || path != exe {
		t.Errorf("beside us: %q %v", path, err)
	}
	t.Setenv(ProgramVar, program)
	if path, err := Locate("other"); err != nil || path != program {
		t.Errorf("by variable: %q %v", path, err)
	}
	t.Setenv(ProgramVar, dir)
	if _, err := Locate("other"); err == nil {
		t.Error("a folder passed for a program")
	}
}

func TestReportsOfDeadProxiesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"123.json", "123.lock", "5.lock", "unrelated"} {
		if err := os.WriteFile(dir+"/"+name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reports, err := Reports(dir)
	if err != nil || len(reports) != 0 {
		t.Errorf("%v %v", reports, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v %v", entries, err)
	}
	if reports, err := Reports(dir + "/none"); err != nil || reports != nil {
		t.Errorf("%v %v", reports, err)
	}
}
