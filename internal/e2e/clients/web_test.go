package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// webAgent is an MCP client over HTTP.
type webAgent struct {
	url, session string
	last         atomic.Int64
}

// web begins a session.
func (b *bed) web(url, name string) *webAgent {
	b.t.Helper()
	a := &webAgent{url: url}
	_, header, err := a.post("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": name, "version": "1"}})
	if err != nil {
		b.t.Fatalf("initialize: %v", err)
	}
	a.session = header.Get("Mcp-Session-Id")
	return a
}

// post sends a request and returns its result.
func (a *webAgent) post(method string, params any) (json.RawMessage, http.Header, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.last.Add(1), "method": method, "params": params})
	if err != nil {
		return nil, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": a.session} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			ID            any
			Result, Error json.RawMessage
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || json.Unmarshal([]byte(data), &m) != nil || m.ID == nil {
			continue
		}
		if m.Result == nil {
			return nil, nil, fmt.Errorf("%s: %s", method, m.Error)
		}
		return m.Result, resp.Header, nil
	}
	return nil, nil, fmt.Errorf("%s: status %d and no answer, %v", method, resp.StatusCode, lines.Err())
}

// try calls a tool and returns its text.
func (a *webAgent) try(tool string, args map[string]any) (string, error) {
	raw, _, err := a.post("tools/call", map[string]any{"name": tool, "arguments": args})
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
	text := ""
	for _, c := range res.Content {
		text += c.Text
	}
	if res.IsError {
		return text, fmt.Errorf("%s: %s", tool, text)
	}
	return text, nil
}
