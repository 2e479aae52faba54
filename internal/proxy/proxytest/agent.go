package proxytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/proxy/rpcline"
)

// Patience is how long an Agent waits for an answer before it fails the test.
const Patience = 30 * time.Second

// Options says which server to start.
type Options struct {
	Argv   []string
	Env    []string  // the whole environment; nil means ours
	Dir    string    // "" means ours
	Stderr io.Writer // nil: shown when the test fails
	Name   string    // of the client, "fake-agent" if empty
}

// Agent is an MCP client.
type Agent struct {
	t    testing.TB
	name string
	in   io.WriteCloser
	cmd  *exec.Cmd     // nil when attached
	eof  chan struct{} // closed when the server's output has ended
	gone chan struct{} // closed when the command has been reaped
	err  error         // of its end, valid once gone is closed

	writing sync.Mutex // held while a line is written

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	next    int
	waiting map[string]chan rpcline.Message
	answers map[string]int
	others  []rpcline.Message // requests and notifications of the server, and errors without id
	handler func(rpcline.Message) any
}

// Start starts a server.
func Start(t testing.TB, o Options) *Agent {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), o.Argv[0], o.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = o.Env, o.Dir, o.Stderr
	var stderr bytes.Buffer
	if o.Stderr == nil {
		cmd.Stderr = &stderr
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("pipe to the server: %v", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe from the server: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the server: %v", err)
	}
	a := attach(t, o.Name, in, out)
	a.cmd = cmd
	go func() {
		defer close(a.gone)
		<-a.eof
		a.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = a.in.Close()
		if !within(a.gone, Patience/3) {
			_ = cmd.Process.Kill()
			<-a.gone
		}
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("the server's stderr:\n%s", stderr.String())
		}
	})
	return a
}

// Attach makes an Agent of a server that reads in and writes out.
func Attach(t testing.TB, in io.WriteCloser, out io.Reader) *Agent {
	t.Helper()
	a := attach(t, "", in, out)
	close(a.gone)
	t.Cleanup(func() {
		_ = a.in.Close()
		if !within(a.eof, Patience/3) {
			t.Errorf("the server did not close its output")
		}
	})
	return a
}

func attach(t testing.TB, name string, in io.WriteCloser, out io.Reader) *Agent {
	if name == "" {
		name = "fake-agent"
	}
	a := &Agent{
		t: t, name: name, in: in, eof: make(chan struct{}), gone: make(chan struct{}),
		changed: make(chan struct{}), waiting: map[string]chan rpcline.Message{}, answers: map[string]int{},
	}
	go a.read(out)
	return a
}

func (a *Agent) read(out io.Reader) {
	defer close(a.eof)
	lines := rpcline.NewReader(out, 512<<20)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		m, err := rpcline.Parse(line)
		if err != nil {
			a.t.Errorf("the server wrote a line that is no message: %.200s", line)
			continue
		}
		a.take(m)
	}
}

func (a *Agent) take(m rpcline.Message) {
	a.mu.Lock()
	handler := a.handler
	var answer chan rpcline.Message
	switch {
	case m.IsResponse() && m.ID != nil:
		key := string(m.ID)
		answer = a.waiting[key]
		if a.answers[key]++; a.answers[key] > 1 {
			a.t.Errorf("request %s was answered %d times", key, a.answers[key])
			answer = nil
		}
	default:
		a.others = append(a.others, m)
	}
	close(a.changed)
	a.changed = make(chan struct{})
	a.mu.Unlock()
	if answer != nil {
		answer <- m // has room for the one answer
	}
	if m.IsRequest() && handler != nil {
		if result := handler(m); result != nil {
			a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, encode(a.t, result)))
		}
	}
}

func encode(t testing.TB, v any) []byte {
	if raw, ok := v.(json.RawMessage); ok {
		return raw
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Errorf("encode %v: %v", v, err)
		return []byte("null")
	}
	return raw
}

// Send writes one line. A server that is gone is no failure: its answers are.
func (a *Agent) Send(line string) {
	a.writing.Lock()
	defer a.writing.Unlock()
	_, _ = io.WriteString(a.in, line+"\n")
}

// Handle sets what answers the server's requests: a result, or nil for no answer.
func (a *Agent) Handle(f func(rpcline.Message) any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handler = f
}

// Initialize introduces the client and returns the server's result.
func (a *Agent) Initialize() json.RawMessage {
	a.t.Helper()
	m := a.Request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{"roots": map[string]any{}},
		"clientInfo": map[string]string{"name": a.name, "version": "1"},
	}).Wait(Patience)
	a.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return json.RawMessage(m.Result)
}

// Request sends a request under a fresh number.
func (a *Agent) Request(method string, params any) *Pending {
	a.mu.Lock()
	a.next++
	id := fmt.Sprint(a.next)
	a.mu.Unlock()
	return a.RequestAs(id, method, params)
}

// RequestAs sends a request under an id given as raw JSON.
func (a *Agent) RequestAs(id, method string, params any) *Pending {
	p := a.Expect(id)
	p.what = method
	a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}`, id, rpcline.Quote(method), encode(a.t, params)))
	return p
}

// Expect returns what waits for the answer to a request of that id, raw JSON,
// that is then sent as a line.
func (a *Agent) Expect(id string) *Pending {
	p := &Pending{a: a, ID: id, what: "the request", answer: make(chan rpcline.Message, 1)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting[id] = p.answer
	return p
}

// Begin sends a tools/call and does not wait for it.
func (a *Agent) Begin(tool string, args any) *Pending {
	p := a.Request("tools/call", map[string]any{"name": tool, "arguments": args})
	p.what = tool
	return p
}

// Call calls a tool and waits for its result.
func (a *Agent) Call(tool string, args any) Result {
	a.t.Helper()
	return a.Begin(tool, args).Result(Patience)
}

// Cancel asks the server to stop working on a request.
func (a *Agent) Cancel(p *Pending) {
	a.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, p.ID))
}

// AnswersTo returns how often the request of an id, raw JSON, has been answered.
func (a *Agent) AnswersTo(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers[id]
}

// Await waits for a request or notification of the server that f accepts, among
// those that came already too.
func (a *Agent) Await(what string, f func(rpcline.Message) bool) rpcline.Message {
	a.t.Helper()
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	for seen := 0; ; {
		a.mu.Lock()
		fresh, changed := a.others[seen:], a.changed
		seen = len(a.others)
		a.mu.Unlock()
		for _, m := range fresh {
			if f(m) {
				return m
			}
		}
		select {
		case <-changed:
		case <-a.eof:
			a.t.Fatalf("the server closed its output before %s", what)
		case <-limit.C:
			a.t.Fatalf("no %s within %v", what, Patience)
		}
	}
}

// Received returns the requests and notifications of the server so far.
func (a *Agent) Received() []rpcline.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]rpcline.Message(nil), a.others...)
}

// PID returns the process id of a started server.
func (a *Agent) PID() int { return a.cmd.Process.Pid }

// Kill ends the server with SIGKILL.
func (a *Agent) Kill() {
	if err := a.cmd.Process.Kill(); err != nil {
		a.t.Errorf("kill the server: %v", err)
	}
}

// Signal sends the server a signal.
func (a *Agent) Signal(sig os.Signal) {
	if err := a.cmd.Process.Signal(sig); err != nil {
		a.t.Errorf("send the server %v: %v", sig, err)
	}
}

// CloseInput ends the server's input.
func (a *Agent) CloseInput() {
	a.writing.Lock()
	defer a.writing.Unlock()
	_ = a.in.Close()
}

// Alive says whether the server's output is still open.
func (a *Agent) Alive() bool {
	select {
	case <-a.eof:
		return false
	default:
		return true
	}
}

// WaitExit waits for a started server's end and returns its exit code, -1 for a signal.
func (a *Agent) WaitExit(limit time.Duration) int {
	a.t.Helper()
	if !within(a.gone, limit) {
		a.t.Fatalf("the server is still there after %v", limit)
	}
	var exit *exec.ExitError
	if errors.As(a.err, &exit) {
		return exit.ExitCode()
	}
	if a.err != nil {
		a.t.Errorf("wait for the server: %v", a.err)
	}
	return 0
}

func within(c <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

// Pending is a request on its way.
type Pending struct {
	ID     string // raw JSON
	a      *Agent
	what   string
	answer chan rpcline.Message
}

// Wait returns the answer, a result or an error.
func (p *Pending) Wait(limit time.Duration) rpcline.Message {
	p.a.t.Helper()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case m := <-p.answer:
		return m
	case <-t.C:
		p.a.t.Fatalf("%s (request %s) was not answered within %v", p.what, p.ID, limit)
	}
	return rpcline.Message{}
}

// Result returns the result of a tools/call; a JSON-RPC error fails the test.
func (p *Pending) Result(limit time.Duration) Result {
	p.a.t.Helper()
	m := p.Wait(limit)
	if m.Fault != nil {
		p.a.t.Fatalf("%s (request %s) failed: %s", p.what, p.ID, m.Fault)
	}
	return decodeResult(p.a.t, m.Result)
}

// Result is the result of a tools/call.
type Result struct {
	Text    string // of all text blocks, one a line
	IsError bool
	Meta    map[string]json.RawMessage
	Raw     json.RawMessage
}

func decodeResult(t testing.TB, raw []byte) Result {
	t.Helper()
	var v struct {
		Content []struct{ Type, Text string }
		IsError bool
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode result %.200s: %v", raw, err)
	}
	var texts []string
	for _, c := range v.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	return Result{Text: strings.Join(texts, "\n"), IsError: v.IsError, Meta: v.Meta, Raw: raw}
}
