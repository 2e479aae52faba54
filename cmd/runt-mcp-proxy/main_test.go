package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/proxy"
	"runt/internal/proxy/proxytest"
	"runt/internal/testenv/leak"
)

// TestMain lets the test binary be the program, a client of it, or its child.
func TestMain(m *testing.M) {
	proxytest.PlayChild()
	switch role := os.Getenv("PLAY"); role {
	case "":
		leak.Main(m)
	case "proxy":
		main()
		os.Exit(0)
	default:
		os.Exit(play(role))
	}
}

func play(role string) int {
	switch role {
	case "client": // starts a proxy, makes it work and waits to be killed
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PLAY=proxy")
		in, err := cmd.StdinPipe()
		if err != nil {
			return 1
		}
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Fprintln(in, hello)
		fmt.Fprintln(in, ready)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"who"}}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"hang"}}`)
		_ = cmd.Wait()
	case "stdout":
		out, err := takeStdout()
		if err != nil {
			return 1
		}
		fmt.Println("noise by fmt")
		_, _ = syscall.Write(syscall.Stdout, []byte("noise by the system call\n"))
		fmt.Fprintln(out, "message")
	case "panic":
		openLog()
		go panic("a fault of ours")
		<-time.After(time.Minute)
	}
	return 0
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case","version":"0"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// environ is that of a process in a role, with a state folder of its own.
func environ(t *testing.T, role string, more ...string) []string {
	t.Helper()
	env := append(os.Environ(), "PLAY="+role, "RUNT_STATE_DIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	return append(env, more...)
}

func inRole(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = environ(t, role)
	return c
}

func TestP08_OneShotAndMalformedLines(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	tests := []struct {
		name, input string
		want        []string // beginnings of the lines
	}{
		{"one shot", hello + "\n" + ready + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n",
			[]string{`{"jsonrpc":"2.0","id":1,"result"`, `{"jsonrpc":"2.0","id":2,"result"`}},
		{"malformed lines", strings.Join([]string{hello, ready, "hello, not json", `{"jsonrpc":"2.0","id":2,`, "[1,2]", `{"a":1}`, list}, "\n"),
			[]string{`{"jsonrpc":"2.0","id":1,"result"`, `{"jsonrpc":"2.0","id":null,"error"`, `{"jsonrpc":"2.0","id":null,"error"`,
				`{"jsonrpc":"2.0","id":null,"error"`, `{"jsonrpc":"2.0","id":null,"error"`, `{"jsonrpc":"2.0","id":3,"result"`}},
	}
	child := proxytest.NewFakeChild(t, "1.0")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 50 {
				c := inRole(t, "proxy")
				c.Env = append(c.Env, proxy.ProgramVar+"="+child.Path)
				c.Stdin = strings.NewReader(tt.input)
				out, err := c.Output()
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.Split(strings.TrimSpace(string(out)), "\n")
				if len(lines) != len(tt.want) {
					t.Fatalf("%d lines, want %d: %s", len(lines), len(tt.want), out)
				}
				for i, w := range tt.want {
					if !strings.HasPrefix(lines[i], w) {
						t.Errorf("line %d is %.100s", i, lines[i])
					}
				}
			}
		})
	}
}

func TestP10_StdoutCarriesMessagesOnly(t *testing.T) {
	c := inRole(t, "stdout")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil || string(out) != "message\n" {
		t.Errorf("stdout %q, %v", out, err)
	}
	if got := stderr.String(); got != "noise by fmt\nnoise by the system call\n" {
		t.Errorf("stderr %q", got)
	}
}

func TestP10_APanicGoesToTheLog(t *testing.T) {
	c := inRole(t, "panic")
	state := t.TempDir()
	c.Env = append(c.Env, "RUNT_STATE_DIR="+state)
	out, err := c.Output()
	if err == nil || len(out) != 0 {
		t.Errorf("stdout %q, %v", out, err)
	}
	logs, err := filepath.Glob(filepath.Join(state, "logs", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs %v, %v", logs, err)
	}
	if text, err := os.ReadFile(logs[0]); err != nil || !bytes.Contains(text, []byte("panic: a fault of ours")) {
		t.Errorf("log %q, %v", text, err)
	}
}

func TestStatus(t *testing.T) {
	child := proxytest.NewFakeChild(t, "3.1")
	env := environ(t, "proxy", proxy.ProgramVar+"="+child.Path)
	run := func(args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), os.Args[0], args...)
		c.Env = env
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := run("--status"); got != "no proxy is running\n" {
		t.Errorf("got %q", got)
	}
	if got := run("--status", "--json"); got != "[]\n" {
		t.Errorf("got %q", got)
	}
	a := proxytest.Start(t, proxytest.Options{Argv: []string{os.Args[0], "--", "--flag"}, Env: env, Name: "status-test"})
	a.Initialize()
	a.Call("bind", map[string]any{"event": "connected", "id": "n", "path": "/n.ipynb", "default": true})
	var reports []proxy.Report
	if err := json.Unmarshal([]byte(run("--status", "--json")), &reports); err != nil {
		t.Fatal(err)
	}
	if len(reports) != 1 || reports[0].PID != a.PID() || reports[0].Child.Version != "3.1" || reports[0].Client != "status-test" || len(reports[0].Notebooks) != 1 {
		t.Errorf("%+v", reports)
	}
	text := run("--status")
	for _, want := range []string{"client    status-test", "child     ready, pid ", "breaker   closed", "notebook  /n.ipynb (default)", reports[0].LogPath} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	a.CloseInput()
	if code := a.WaitExit(proxytest.Patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := run("--status"); got != "no proxy is running\n" {
		t.Errorf("got %q", got)
	}
}

func TestP09_SignalsEndTheProxyInOrder(t *testing.T) {
	child := proxytest.NewFakeChild(t, "1.0")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		a := proxytest.Start(t, proxytest.Options{Argv: os.Args[:1], Env: environ(t, "proxy", proxy.ProgramVar+"="+child.Path)})
		a.Initialize()
		hang := a.Begin("hang", nil)
		a.Call("echo", nil)
		a.Signal(sig)
		if r := hang.Result(proxytest.Patience); !r.IsError {
			t.Errorf("%+v", r)
		}
		if code := a.WaitExit(6 * time.Second); code != 0 {
			t.Errorf("%v: exit code %d", sig, code)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"--no-such-flag"}, {"x", "--", "y"}} {
		c := inRole(t, "proxy", args...)
		out, err := c.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "runt-mcp-proxy: un") {
			t.Errorf("%v: %q %v", args, out, err)
		}
	}
	out, err := inRole(t, "proxy", "--help").Output()
	if err != nil || !strings.Contains(string(out), "--status") {
		t.Errorf("help %q %v", out, err)
	}
}
