package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const webToken = "the-token-of-the-benchmark"

// web is `runt mcp --http` in a bed.
type web struct {
	cmd   *exec.Cmd
	url   string
	http  *http.Client
	ended chan error
}

var urlPattern = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+\S*`)

// serveWeb starts the server on a free port of the loopback interface.
func (b *bed) serveWeb(ctx context.Context) (*web, error) {
	w := &web{cmd: b.command(ctx, "runt", "mcp", "--http", "127.0.0.1:0"), ended: make(chan error, 1)}
	w.cmd.Env = append(w.cmd.Env, "RUNT_MCP_TOKEN="+webToken)
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start runt mcp --http: %w", err)
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	go func() {
		_, copyErr := io.Copy(io.Discard, lines)
		w.ended <- copyErr
	}()
	if w.url = urlPattern.FindString(first); err != nil || w.url == "" {
		return nil, fmt.Errorf("runt mcp --http says %q, %w", first, err)
	}
	const many = 200
	w.http = &http.Client{Transport: &http.Transport{MaxIdleConns: many, MaxIdleConnsPerHost: many}}
	return w, nil
}

func (w *web) close() error {
	w.http.CloseIdleConnections()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	kill := time.AfterFunc(stopLimit, func() { _ = w.cmd.Process.Kill() })
	defer kill.Stop()
	if err := <-w.ended; err != nil {
		return err
	}
	return w.cmd.Wait()
}

// webAgent is one MCP client of it.
type webAgent struct {
	w       *web
	session string
	last    atomic.Int64
}

// agent begins a session.
func (w *web) agent(ctx context.Context, name string) (*webAgent, error) {
	a := &webAgent{w: w}
	_, header, err := a.request(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": name, "version": "1"},
	})
	if err != nil {
		return nil, err
	}
	a.session = header.Get("Mcp-Session-Id")
	return a, nil
}

func (a *webAgent) request(ctx context.Context, method string, params any) (json.RawMessage, http.Header, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.last.Add(1), "method": method, "params": params})
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.w.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+webToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if a.session != "" {
		r.Header.Set("Mcp-Session-Id", a.session)
	}
	resp, err := a.w.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	stream, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	for line := range bytes.Lines(stream) {
		var m struct{ Result, Error json.RawMessage }
		data, ok := bytes.CutPrefix(line, []byte("data: {"))
		if !ok || json.Unmarshal(append([]byte("{"), data...), &m) != nil || m.Result == nil && m.Error == nil {
			continue
		}
		if m.Error != nil {
			return nil, nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, resp.Header, nil
	}
	return nil, nil, fmt.Errorf("%s: %s, %.200s", method, resp.Status, stream)
}

// call calls a tool and returns its text; an error of the tool is one.
func (a *webAgent) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	raw, _, err := a.request(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return "", err
	}
	var res struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range res.Content {
		text.WriteString(c.Text)
	}
	if res.IsError {
		return "", fmt.Errorf("%s: %s", tool, text.String())
	}
	return text.String(), nil
}
