package proxytest

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"runt/internal/proxy/rpcline"
	"runt/internal/testenv/leak"
)

func TestMain(m *testing.M) {
	PlayChild()
	leak.Main(m)
}

// The two fakes speak with each other, without a proxy in between.
func TestAgentAndFakeChild(t *testing.T) {
	child := NewFakeChild(t, "4.2")
	a := Start(t, Options{Argv: []string{child.Path}, Name: "me"})
	if got := string(a.Initialize()); !strings.Contains(got, `"version":"4.2"`) {
		t.Errorf("initialize: %s", got)
	}
	if r := a.Call("who", nil); !strings.HasSuffix(r.Text, " 4.2 me") {
		t.Errorf("who: %s", r.Text)
	}
	a.Handle(func(m rpcline.Message) any { return map[string]string{"hello": "child"} })
	if r := a.Call("ask", nil); !strings.Contains(r.Text, `{"hello":"child"}`) {
		t.Errorf("ask: %s", r.Text)
	}
	a.Call("notify", nil)
	a.Await("a notification", func(m rpcline.Message) bool { return m.Method == "notifications/future" })
	a.Call("execute", map[string]int{"ms": 1})
	if got := len(child.Runs("executed")); got != 1 {
		t.Errorf("%d executions noted", got)
	}
	a.CloseInput()
	if code := a.WaitExit(Patience); code != 0 || a.Alive() {
		t.Errorf("exit code %d, alive %v", code, a.Alive())
	}
}

func TestSettingsOfTheFakeChild(t *testing.T) {
	child := NewFakeChild(t, "1")
	child.Install("1", "FAKE_EXIT=7")
	if code := Start(t, Options{Argv: []string{child.Path}}).WaitExit(Patience); code != 7 {
		t.Errorf("exit code %d", code)
	}
	child.Install("1", "FAKE_DEAF=1")
	a := Start(t, Options{Argv: []string{child.Path}})
	a.Initialize()
	a.CloseInput()
	a.Signal(syscall.SIGTERM)
	if _, err := os.Stat("/proc"); err == nil && syscall.Kill(a.PID(), 0) != nil {
		t.Error("it heeded SIGTERM")
	}
	a.Kill()
	if code := a.WaitExit(Patience); code != -1 {
		t.Errorf("exit code %d", code)
	}
}
