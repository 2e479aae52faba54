package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
)

// agent is an MCP client on the stdio of a server. One call at a time.
type agent struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr tail
	last   int
}

// startAgent starts a server and shakes hands.
func startAgent(cmd *exec.Cmd) (*agent, error) {
	a := &agent{cmd: cmd}
	cmd.Stderr = &a.stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	a.in, a.out = in, bufio.NewReaderSize(out, 1<<20)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, err := a.request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "bench", "version": "1"}})
	if err == nil {
		err = a.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	}
	return a, err
}

func (a *agent) send(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err = a.in.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("server is gone: %w\n%s", err, a.stderr.String())
	}
	return nil
}

// request sends a request and returns the result as it came.
func (a *agent) request(method string, params any) (json.RawMessage, error) {
	a.last++
	if err := a.send(map[string]any{"jsonrpc": "2.0", "id": a.last, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("server gave no answer: %w\n%s", err, a.stderr.String())
		}
		var m struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(line, &m) != nil || m.ID != a.last || m.Result == nil && m.Error == nil {
			continue
		}
		if m.Error != nil {
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, nil
	}
}

// answer is the result of a tool.
type answer struct {
	text  string
	bytes int // of the result as it came
}

// call calls a tool; a result that says it failed is an error.
func (a *agent) call(tool string, args map[string]any) (answer, error) {
	raw, err := a.request("tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return answer{}, err
	}
	var r struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return answer{}, err
	}
	var text []string
	for _, c := range r.Content {
		text = append(text, c.Text)
	}
	out := answer{text: strings.Join(text, "\n"), bytes: len(bytes.TrimSpace(raw))}
	if r.IsError {
		return out, fmt.Errorf("%s failed: %s", tool, out.text)
	}
	return out, nil
}

// shows calls a tool and checks that its result has a text in it.
func (a *agent) shows(want, tool string, args map[string]any) error {
	got, err := a.call(tool, args)
	if err == nil && !strings.Contains(got.text, want) {
		err = fmt.Errorf("%s does not show %q: %s", tool, want, got.text)
	}
	return err
}

var cellID = regexp.MustCompile(`cell-[0-9a-f-]{8,}|[0-9a-f]{8}-[0-9a-f-]{27}`)

// newCell makes a cell and returns its id.
func (a *agent) newCell(source string) (string, error) {
	got, err := a.call("create_cell", map[string]any{"source": source})
	if err != nil {
		return "", err
	}
	id := cellID.FindString(got.text)
	if id == "" {
		return "", fmt.Errorf("create_cell names no cell: %s", got.text)
	}
	return id, nil
}

// openNotebook makes a notebook with a kernel that has run something.
func (a *agent) openNotebook() error {
	if _, err := a.call("create_notebook", nil); err != nil {
		return err
	}
	return a.shows("warm", "create_cell", map[string]any{"source": "print('warm')", "and_run": true, "timeout_secs": 120})
}

// close ends the input and waits for the server.
func (a *agent) close() error {
	_ = a.in.Close() // that is how it is told
	if err := a.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, a.stderr.String())
	}
	return nil
}

// servers are the programs that speak MCP on stdio, by what reports call them.
var servers = []struct {
	name    string
	program string
	args    []string
}{
	{"runt mcp", "runt", []string{"mcp"}},
	{"runt-mcp-proxy", "runt-mcp-proxy", nil},
}

// agents starts an agent on every server that was built.
func (b *bed) agents(ctx context.Context) (names []string, all []*agent, err error) {
	for _, s := range servers {
		if !b.has(s.program) {
			continue
		}
		a, err := startAgent(b.command(ctx, s.program, s.args...))
		if err != nil {
			return names, all, failed(s.name, err)
		}
		names, all = append(names, s.name), append(all, a)
	}
	return names, all, nil
}
