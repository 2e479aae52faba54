package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"runt/internal/proxy/rpcline"
)

const (
	lostAfter = 2 * time.Minute // a call that is not answered by then is lost
	exitLimit = 10 * time.Second
	maxLine   = 64 << 20
)

// agent is an MCP client over stdio that notices what a client may not see: a
// closed stream, a line that is no message, a second answer.
type agent struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when the proxy's output has ended

	writing sync.Mutex // held while a line is written

	mu      sync.Mutex // guards what follows
	next    int
	waiting map[string]chan rpcline.Message
	bad     []string
	closing bool
}

// result is the outcome of a tool call.
type result struct {
	text    string
	refused bool // a tool's error or a JSON-RPC one
	lost    bool
}

func start(s *stage) (*agent, error) {
	cmd := s.program(context.Background(), "runt-mcp-proxy")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	a := &agent{cmd: cmd, in: in, gone: make(chan struct{}), waiting: map[string]chan rpcline.Message{}}
	go a.read(out)
	hello := map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "soak", "version": "1"}}
	if _, ok := a.request(context.Background(), "initialize", hello); !ok {
		return nil, errors.Join(errors.New("initialize was not answered"), a.close())
	}
	a.send([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return a, nil
}

func (a *agent) pid() int { return a.cmd.Process.Pid }

func (a *agent) read(out io.Reader) {
	defer close(a.gone)
	lines := rpcline.NewReader(out, maxLine)
	for {
		line, err := lines.Next()
		if err != nil {
			a.mu.Lock()
			if !a.closing {
				a.bad = append(a.bad, "the proxy closed its output: "+err.Error())
			}
			a.mu.Unlock()
			return
		}
		m, err := rpcline.Parse(line)
		a.mu.Lock()
		switch {
		case err != nil:
			a.bad = append(a.bad, fmt.Sprintf("a line is no message: %.200s", line))
		case m.IsResponse():
			answer := a.waiting[string(m.ID)]
			delete(a.waiting, string(m.ID))
			if answer == nil {
				a.bad = append(a.bad, fmt.Sprintf("an answer that nobody waits for: %.200s", line))
				break
			}
			answer <- m // has room for the one answer
		}
		a.mu.Unlock()
	}
}

func (a *agent) send(line []byte) {
	a.writing.Lock()
	defer a.writing.Unlock()
	if _, err := a.in.Write(append(line, '\n')); err != nil {
		a.mu.Lock()
		a.bad = append(a.bad, "the proxy takes no input: "+err.Error())
		a.mu.Unlock()
	}
}

// request sends a request and waits for its answer; false when there is none.
func (a *agent) request(ctx context.Context, method string, params any) (rpcline.Message, bool) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpcline.Message{}, false
	}
	answer := make(chan rpcline.Message, 1)
	a.mu.Lock()
	a.next++
	id := fmt.Sprint(a.next)
	a.waiting[id] = answer
	a.mu.Unlock()
	a.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, raw))
	ctx, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	select {
	case m := <-answer:
		return m, true
	case <-a.gone:
	case <-ctx.Done():
	}
	return rpcline.Message{}, false
}

func (a *agent) call(tool string, args map[string]any) result {
	m, ok := a.request(context.Background(), "tools/call", map[string]any{"name": tool, "arguments": args})
	if !ok {
		return result{lost: true}
	}
	if m.Fault != nil {
		return result{text: string(m.Fault), refused: true}
	}
	var body struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(m.Result, &body); err != nil {
		return result{text: err.Error(), refused: true}
	}
	var text []string
	for _, c := range body.Content {
		text = append(text, c.Text)
	}
	return result{text: strings.Join(text, "\n"), refused: body.IsError}
}

// faults returns what the client should not have seen.
func (a *agent) faults() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bad
}

// close ends the proxy's input and waits for its end.
func (a *agent) close() error {
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	began := time.Now()
	_ = a.in.Close()
	timer := time.AfterFunc(exitLimit, func() { _ = a.cmd.Process.Kill() })
	defer timer.Stop()
	<-a.gone
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("the proxy ended after %v: %w", time.Since(began), err)
	}
	return nil
}
