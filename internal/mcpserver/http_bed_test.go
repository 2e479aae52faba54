package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
)

const testToken = "a token for the tests"

// site is RunHTTP on a bed.
type site struct {
	b    *bed
	url  string
	code chan int
	stop context.CancelFunc
}

// site starts a server; change may alter the options.
func (b *bed) site(change func(*Options, *HTTPOptions)) *site {
	b.t.Helper()
	ln, err := ListenHTTP("127.0.0.1:0", false)
	if err != nil {
		b.t.Fatal(err)
	}
	o, h := b.options(), HTTPOptions{Listener: ln, Token: testToken}
	if change != nil {
		change(&o, &h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &site{b: b, url: "http://" + ln.Addr().String() + HTTPPath, code: make(chan int, 1), stop: cancel}
	var wg sync.WaitGroup
	wg.Go(func() {
		code, err := RunHTTP(ctx, o, h)
		if err != nil {
			b.t.Errorf("run over HTTP: %v", err)
		}
		s.code <- code
	})
	b.t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return s
}

// request makes a request with the token and what else MCP wants.
func (s *site) request(method, session, body string) *http.Request {
	s.b.t.Helper()
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	if err != nil {
		s.b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set(headerSession, session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	return r
}

// send sends a request and returns the answer's status and header; its body is read and thrown away.
func (s *site) send(r *http.Request) (int, http.Header) {
	s.b.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.b.t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		s.b.t.Error(err)
	}
	return resp.StatusCode, resp.Header
}

// caller is an MCP client over HTTP.
type caller struct {
	*site
	session string

	mu   sync.Mutex // guards last
	last int
}

// caller begins a session under that name.
func (s *site) caller(name string) *caller {
	s.b.t.Helper()
	c := &caller{site: s}
	init := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, name)
	status, header := s.send(s.request(http.MethodPost, "", init))
	if c.session = header.Get(headerSession); status != http.StatusOK || c.session == "" {
		s.b.t.Fatalf("initialize: status %d, header %v", status, header)
	}
	if status, _ := s.send(c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); status != http.StatusAccepted {
		s.b.t.Fatalf("initialized: status %d", status)
	}
	return c
}

func (c *caller) post(body string) *http.Request { return c.request(http.MethodPost, c.session, body) }

// message makes a tools/call with a number of its own.
func (c *caller) message(name string, args map[string]any) string {
	c.b.t.Helper()
	c.mu.Lock()
	c.last++
	id := c.last
	c.mu.Unlock()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": name, "arguments": args}})
	if err != nil {
		c.b.t.Fatal(err)
	}
	return string(body)
}

// events reads a stream of events and returns the message that f accepts, with the last event's id.
func events(r io.Reader, f func(map[string]any) bool) (m map[string]any, last string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if id, ok := bytes.CutPrefix(lines.Bytes(), []byte("id: ")); ok {
			last = string(id)
		}
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || len(data) == 0 {
			continue
		}
		m = nil
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, last, err
		}
		if f(m) {
			return m, last, nil
		}
	}
	return nil, last, fmt.Errorf("the stream ended without it: %v", lines.Err())
}

func isAnswer(m map[string]any) bool { return m["id"] != nil && m["method"] == nil }

// exchange sends one message and returns the answer to it.
func (c *caller) exchange(body string) map[string]any {
	c.b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	resp, err := http.DefaultClient.Do(c.post(body).WithContext(ctx))
	if err != nil {
		c.b.t.Errorf("post: %v", err)
		return nil
	}
	defer resp.Body.Close()
	m, _, err := events(resp.Body, isAnswer)
	if err != nil {
		c.b.t.Errorf("answer to %.100s: status %d, %v", body, resp.StatusCode, err)
	}
	return m
}

func (c *caller) try(name string, args map[string]any) answer {
	c.b.t.Helper()
	return answerOf(c.exchange(c.message(name, args)))
}

func (c *caller) call(name string, args map[string]any) string {
	c.b.t.Helper()
	ans := c.try(name, args)
	if ans.isError {
		c.b.t.Errorf("%s %v: %s", name, args, ans.text)
	}
	return ans.text
}

func (c *caller) fails(code domain.Code, name string, args map[string]any) {
	c.b.t.Helper()
	if ans := c.try(name, args); !ans.isError || !strings.HasSuffix(ans.text, "["+string(code)+"]") {
		c.b.t.Errorf("%s %v: got %q, want an error with the code %s", name, args, ans.text, code)
	}
}

// begin calls a tool without waiting for the answer.
func (c *caller) begin(wg *sync.WaitGroup, name string, args map[string]any) <-chan answer {
	ch := make(chan answer, 1)
	wg.Go(func() { ch <- c.try(name, args) })
	return ch
}

// leave ends the session.
func (c *caller) leave() int {
	status, _ := c.send(c.request(http.MethodDelete, c.session, ""))
	return status
}

func awaitAnswer(t testing.TB, ch <-chan answer) answer {
	t.Helper()
	select {
	case ans := <-ch:
		return ans
	case <-time.After(90 * time.Second):
		t.Fatal("no answer")
		return answer{}
	}
}
