package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const oneShot = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// probeServer has the tools that the transport's tests call.
func probeServer(draining <-chan struct{}, seen chan<- map[string]any) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "probe", Version: "0"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if seen != nil {
			seen <- r.Params.Meta
		}
		if token := r.Params.GetProgressToken(); token != nil {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Message: "on my way"}); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "stuck", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text := "drained"
		select {
		case <-draining:
		case <-ctx.Done():
			text = "cancelled"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	})
	return s
}

// runLines gives the input to a probe server and returns the lines it wrote.
func runLines(t *testing.T, input string, seen chan<- map[string]any) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	tr := newStdio(strings.NewReader(input), &out, slog.New(slog.DiscardHandler))
	tr.grace, tr.limit = 50*time.Millisecond, time.Minute
	if err := probeServer(tr.draining, seen).Run(t.Context(), tr); err != nil {
		t.Fatalf("run: %v", err)
	}
	var lines []map[string]any
	for line := range strings.Lines(out.String()) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			t.Fatalf("not a JSON object: %q", line)
		}
		lines = append(lines, m)
	}
	return lines
}

func answers(lines []map[string]any) (ids []string) {
	for _, m := range lines {
		id, _ := json.Marshal(m["id"])
		kind := "result"
		if e, ok := m["error"].(map[string]any); ok {
			kind = fmt.Sprint(e["code"])
		}
		if m["method"] != nil {
			kind = fmt.Sprint(m["method"])
		}
		ids = append(ids, string(id)+":"+kind)
	}
	return ids
}

func TestP08_EverythingReadIsAnsweredBeforeTheEnd(t *testing.T) {
	for range 50 {
		got := answers(runLines(t, oneShot+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, nil))
		if fmt.Sprint(got) != "[1:result 2:result]" {
			t.Fatalf("got %v, want answers to 1 and 2", got)
		}
	}
}

func TestP08_BadLinesGetErrorsAndNothingEnds(t *testing.T) {
	const bad = `hello, not json
{"jsonrpc":"2.0","id":2,
[1,2]
{"a":1}
{"jsonrpc":"1.0","id":7,"method":"ping"}
{"jsonrpc":"2.0","id":{},"method":"ping"}
{"jsonrpc":"2.0","id":8,"method":5}

{"jsonrpc":"2.0","id":9,"result":{}}
{"jsonrpc":"2.0","id":3,"method":"tools/list"}
`
	want := "[1:result null:-32700 null:-32700 null:-32600 null:-32600 7:-32600 null:-32600 8:-32600 3:result]"
	for range 50 {
		lines := runLines(t, oneShot+bad, nil)
		if got := answers(lines); len(got) != 9 || !sameSet(got, want) {
			t.Fatalf("got %v\nwant %v in some order", got, want)
		}
	}
}

func sameSet(got []string, want string) bool {
	left := strings.Fields(strings.Trim(want, "[]"))
	for _, g := range got {
		found := false
		for i, w := range left {
			if w == g {
				left = append(left[:i], left[i+1:]...)
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return len(left) == 0
}

func TestP07_IdsAndTokensComeBackAsWritten(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"_meta":{"progressToken":%s},"name":"echo","arguments":{"n":12345678901234567890}}}` + "\n"
	input := oneShot
	ids := []string{`9007199254740993`, `"a \"b\""`, `1.50`, `-3`, `"1"`}
	for _, id := range ids {
		input += fmt.Sprintf(call, id, `12345678901234567890`)
	}
	lines := runLines(t, input, nil)
	seen, progress := map[string]bool{}, 0
	for _, m := range lines[1:] {
		raw, _ := json.Marshal(m["id"])
		seen[string(raw)] = true
		if m["method"] == "notifications/progress" {
			progress++
			if token := m["params"].(map[string]any)["progressToken"]; fmt.Sprint(token) != "12345678901234567890" {
				t.Errorf("progress token %v", token)
			}
		} else if text := fmt.Sprint(m["result"]); !strings.Contains(text, "12345678901234567890") {
			t.Errorf("arguments came as %s", text)
		}
	}
	for _, id := range ids {
		if !seen[id] {
			t.Errorf("no answer with the id %s: %v", id, lines)
		}
	}
	if progress != len(ids) {
		t.Errorf("%d progress notifications, want %d", progress, len(ids))
	}
}

func TestS27_CallIDsAreTheSameWhenACallIsSentAgain(t *testing.T) {
	const session = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"runt/session":"s1"},"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case","version":"0"}}}
{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo"}}
`
	get := func(id string) string {
		seen := make(chan map[string]any, 1)
		runLines(t, fmt.Sprintf(session, id), seen)
		return fmt.Sprint((<-seen)[metaCallID])
	}
	first := get("5")
	if again := get("5"); again != first {
		t.Errorf("call id %s, then %s", first, again)
	}
	if other := get(`"5"`); other == first {
		t.Error("two ids give one call id")
	}
	anonymous := strings.Replace(session, `"runt/session":"s1"`, "", 1)
	seen := make(chan map[string]any, 2)
	for range 2 {
		runLines(t, fmt.Sprintf(anonymous, "5"), seen)
	}
	if a, b := (<-seen)[metaCallID], (<-seen)[metaCallID]; a == b {
		t.Error("two sessions give one call id")
	}
}

func TestP09_StuckCallsAreHurriedAtTheEnd(t *testing.T) {
	lines := runLines(t, oneShot+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stuck"}}`, nil)
	if got := fmt.Sprint(lines[len(lines)-1]); !strings.Contains(got, "drained") {
		t.Errorf("got %s", got)
	}
}

func TestP07_CancellationReachesTheCall(t *testing.T) {
	lines := runLines(t, oneShot+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stuck"}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
`, nil)
	// The library answers a call that is cancelled before it began by itself.
	if got := fmt.Sprint(lines[len(lines)-1]); !strings.Contains(got, "cancel") {
		t.Errorf("got %s", got)
	}
}

func TestP07_LongLines(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	lines := runLines(t, oneShot+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"s":"`+long+`"}}}`, nil)
	if got := fmt.Sprint(lines[len(lines)-1]["result"]); !strings.Contains(got, long) {
		t.Errorf("2 MB came back as %d bytes", len(got))
	}
	r := bufio.NewReaderSize(strings.NewReader(long+"\nnext\nlast"), 16)
	if _, err := nextLine(r, 1000); err != errLineTooLong {
		t.Errorf("a line over the limit: %v", err)
	}
	if line, err := nextLine(r, 1000); string(line) != "next\n" || err != nil {
		t.Errorf("after it: %q, %v", line, err)
	}
	if line, err := nextLine(r, 1000); string(line) != "last" || err != io.EOF {
		t.Errorf("at the end: %q, %v", line, err)
	}
}

func TestDuplicateRequestID(t *testing.T) {
	lines := runLines(t, oneShot+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stuck"}}
{"jsonrpc":"2.0","id":2,"method":"ping"}
`, nil)
	if got := answers(lines); !sameSet(got, "[1:result null:-32600 2:result]") {
		t.Errorf("got %v", got)
	}
}

func FuzzAccept(f *testing.F) {
	for line := range strings.Lines(oneShot) {
		f.Add(line)
	}
	for _, line := range []string{`{"a":1}`, `[1,2]`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1},"name":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "null", "{", `{"jsonrpc":"2.0","id":1e99,"method":"x"}`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var out bytes.Buffer
		tr := newStdio(strings.NewReader(""), &out, slog.New(slog.DiscardHandler))
		c, err := tr.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m := c.(*lineConn).accept([]byte(line))
		if m != nil && out.Len() > 0 {
			t.Errorf("the line %q was accepted and refused", line)
		}
		if out.Len() > 0 && !json.Valid(out.Bytes()) {
			t.Errorf("the line %q was refused with %q", line, out.String())
		}
	})
}

func TestOrderOfCalls(t *testing.T) {
	o := newOrder()
	a, b, c := o.next(), o.next(), o.next()
	if err := o.enter(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	entered := make(chan uint64, 2)
	for _, n := range []uint64{c, b} {
		go func() {
			if err := o.enter(t.Context(), n); err != nil {
				t.Error(err)
			}
			entered <- n
			o.leave(n)
		}()
	}
	o.leave(a)
	o.leave(a)
	if first, second := <-entered, <-entered; first != b || second != c {
		t.Errorf("entered %d, then %d", first, second)
	}
	d := o.next()
	e := o.next()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.enter(ctx, e); err == nil {
		t.Error("entered before an earlier call had left")
	}
	o.leave(e)
	o.leave(d)
	if err := o.enter(t.Context(), o.next()); err != nil {
		t.Error(err)
	}
}
