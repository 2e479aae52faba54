package kernelcases

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/testenv"
)

// patience is how long a test waits for one answer.
const patience = 60 * time.Second * slack

// agent is an MCP client, one JSON line at a time. It is used by the test's
// goroutine, and by others as long as the test waits for them.
type agent struct {
	t  testing.TB
	in io.WriteCloser

	mu      sync.Mutex // guards the fields that follow
	last    int
	waiting map[string]chan map[string]any
	notes   []map[string]any // notifications and requests of the server
}

func newAgent(t testing.TB, in io.WriteCloser) *agent {
	return &agent{t: t, in: in, waiting: map[string]chan map[string]any{}}
}

func (a *agent) close() { _ = a.in.Close() }

func (a *agent) read(r io.Reader) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		var m map[string]any
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			a.t.Errorf("not JSON from the server: %q", s.Text())
			continue
		}
		a.mu.Lock()
		if ch := a.waiting[fmt.Sprint(m["id"])]; ch != nil && m["method"] == nil {
			m["line bytes"] = len(s.Bytes())
			ch <- m
		} else {
			a.notes = append(a.notes, m)
		}
		a.mu.Unlock()
	}
}

func (a *agent) send(m map[string]any) {
	a.t.Helper()
	line, err := json.Marshal(m)
	if err == nil {
		_, err = a.in.Write(append(line, '\n'))
	}
	if err != nil {
		a.t.Errorf("send: %v", err)
	}
}

// begin sends a request and returns its id, and where its answer will be.
func (a *agent) begin(method string, params any) (id int, answer <-chan map[string]any) {
	a.t.Helper()
	ch := make(chan map[string]any, 1)
	a.mu.Lock()
	a.last++
	id = a.last
	a.waiting[fmt.Sprint(id)] = ch
	a.mu.Unlock()
	a.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id, ch
}

func (a *agent) request(method string, params any) map[string]any {
	a.t.Helper()
	_, ch := a.begin(method, params)
	return a.await(method, ch)
}

func (a *agent) await(what string, ch <-chan map[string]any) map[string]any {
	a.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m := <-ch:
		return m
	case <-timer.C:
		a.t.Fatalf("%s was not answered", what)
	}
	return nil
}

// beginCall sends a tool call.
func (a *agent) beginCall(name string, args map[string]any) <-chan map[string]any {
	a.t.Helper()
	_, ch := a.begin("tools/call", map[string]any{"name": name, "arguments": args})
	return ch
}

// answer is the result of a tool call.
type answer struct {
	text    string
	isError bool
	images  []string // base64
	bytes   int      // of the whole line
	raw     map[string]any
}

func answerOf(m map[string]any) answer {
	n, _ := m["line bytes"].(int)
	res, ok := m["result"].(map[string]any)
	if !ok {
		return answer{text: fmt.Sprint(m["error"]), isError: true, raw: m, bytes: n}
	}
	ans := answer{raw: res, isError: res["isError"] == true, bytes: n}
	content, _ := res["content"].([]any)
	for _, c := range content {
		block, _ := c.(map[string]any)
		switch block["type"] {
		case "text":
			ans.text += fmt.Sprint(block["text"])
		case "image":
			ans.images = append(ans.images, fmt.Sprint(block["data"]))
		}
	}
	return ans
}

// result waits for a call that was begun and must succeed.
func (a *agent) result(ch <-chan map[string]any) string {
	a.t.Helper()
	ans := answerOf(a.await("a call", ch))
	if ans.isError {
		a.t.Fatalf("a call failed: %s", ans.text)
	}
	return ans.text
}

func (a *agent) try(name string, args map[string]any) answer {
	a.t.Helper()
	return answerOf(a.await(name, a.beginCall(name, args)))
}

// call calls a tool that must succeed, and returns its text.
func (a *agent) call(name string, args map[string]any) string {
	a.t.Helper()
	ans := a.try(name, args)
	if ans.isError {
		a.t.Fatalf("%s %v: %s", name, args, ans.text)
	}
	if strings.ContainsRune(ans.text, 0x1b) {
		a.t.Errorf("%s: an escape byte in %q", name, ans.text)
	}
	return ans.text
}

// fails calls a tool that must fail with the code, and returns its text.
func (a *agent) fails(code domain.Code, name string, args map[string]any) string {
	a.t.Helper()
	ans := a.try(name, args)
	if !ans.isError || !strings.HasSuffix(ans.text, "["+string(code)+"]") {
		a.t.Errorf("%s %v: got %q, want an error with the code %s", name, args, ans.text, code)
	}
	return ans.text
}

// awaitOutput waits until a running cell has printed something, as its own text.
func (a *agent) awaitOutput(cell, text string) {
	a.t.Helper()
	testenv.Await(a.t, a.t.Context(), "output "+text, func() bool {
		shown := a.call("get_cell", map[string]any{"cell_id": cell})
		_, outputs, _ := strings.Cut(shown, "Still running")
		return strings.Contains(outputs, text)
	})
}

var idPattern = regexp.MustCompile(`cell-[0-9a-f-]{8,}|[0-9a-f]{8}-[0-9a-f-]{27}`)

// firstID is the first id in a text, as an agent would pick it.
func firstID(t testing.TB, text string) string {
	t.Helper()
	id := idPattern.FindString(text)
	if id == "" {
		t.Fatalf("no id in %q", text)
	}
	return id
}

// executionOf is the id of the execution that a text tells of.
func executionOf(t testing.TB, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "execution ")
	if !ok {
		t.Fatalf("no execution in %q", text)
	}
	return firstID(t, rest)
}

// outputs is a text without its header line.
func outputs(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

// want checks that a text has all of these.
func want(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in:\n%s", p, text)
		}
	}
}

// wantNone checks that a text has none of these.
func wantNone(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%q is in:\n%s", p, text)
		}
	}
}

// wantOutput checks what an execution put out, to the byte.
func wantOutput(t testing.TB, text, wanted string) {
	t.Helper()
	if got := outputs(text); got != wanted {
		t.Errorf("got the output %q, want %q", got, wanted)
	}
}

// within checks that something took no longer than that, on a machine that has nothing else to do.
func within(t testing.TB, limit time.Duration, what string, since time.Time) {
	t.Helper()
	if took := time.Since(since); took > limit*slack {
		t.Errorf("%s took %v, want at most %v", what, took.Round(time.Millisecond), limit)
	}
}

func readFile(t testing.TB, path string) map[string]any {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}

// fileOutputs returns the outputs of a cell in a decoded file.
func fileOutputs(file map[string]any, cell string) []map[string]any {
	var all []map[string]any
	cells, _ := file["cells"].([]any)
	for _, c := range cells {
		m, _ := c.(map[string]any)
		if m["id"] != cell {
			continue
		}
		list, _ := m["outputs"].([]any)
		for _, o := range list {
			out, _ := o.(map[string]any)
			all = append(all, out)
		}
	}
	return all
}

// fileText joins text of a file, which is a string or a list of lines.
func fileText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, l := range v {
			b.WriteString(fmt.Sprint(l))
		}
		return b.String()
	}
	return ""
}
