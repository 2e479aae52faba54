package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/session"
	"runt/internal/testenv/leak"
)

// cellsOf returns the ids in the order in which get_all_cells lists them.
func cellsOf(t testing.TB, a *agent) []string {
	t.Helper()
	var ids []string
	for line := range strings.Lines(a.call("get_all_cells", nil)) {
		if id := idPattern.FindString(line); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestPipelinedCallsKeepTheirOrder(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("pipe", nil)
	answers := []<-chan map[string]any{a.beginCall("create_notebook", nil)}
	for i := range 20 {
		answers = append(answers, a.beginCall("create_cell", map[string]any{"source": fmt.Sprint("n = ", i)}))
	}
	read := a.beginCall("get_all_cells", nil)
	for i, ch := range answers {
		if ans := answerOf(a.await("pipelined call", ch)); ans.isError {
			t.Fatalf("call %d: %s", i, ans.text)
		}
	}
	text := answerOf(a.await("read", read)).text
	last := -1
	for i := range 20 {
		at := strings.Index(text+"\n", fmt.Sprintf("n = %d\n", i))
		if at <= last {
			t.Fatalf("cell %d is missing or out of order:\n%s", i, text)
		}
		last = at
	}
}

func TestS12_DaemonRestartIsWaitedFor(t *testing.T) {
	b := newBed(t)
	a := b.agent("patient", nil)
	a.call("create_notebook", nil)
	a.call("create_cell", map[string]any{"source": "v = 41", "and_run": true, "timeout_secs": 60})
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "v + 1"}))
	path := filepath.Join(b.dir, "other.ipynb")
	a.call("create_notebook", map[string]any{"path": "other.ipynb"})
	a.call("create_cell", map[string]any{"source": "'in the other one'"})
	held := a.call("list_notebooks", nil)
	untitled := ""
	for line := range strings.Lines(held) {
		if strings.Contains(line, "untitled") {
			untitled = firstID(t, line)
		}
	}
	for range 2 {
		b.stop()
		edited := a.beginCall("create_cell", map[string]any{"source": "made while the daemon was gone"})
		if text := a.call("execute_cell", map[string]any{"notebook": untitled, "cell_id": cell}); !strings.Contains(text, "42") {
			t.Errorf("the variable is lost: %s", text)
		}
		if ans := answerOf(a.await("edit", edited)); ans.isError {
			t.Errorf("edit: %s", ans.text)
		}
	}
	wantWords(t, a.call("list_notebooks", nil), path, untitled, "held by you, your default")
	if n := strings.Count(a.call("get_all_cells", nil), "made while"); n != 2 {
		t.Errorf("%d cells of 2 made while the daemon was gone", n)
	}
}

func TestK01_ExecutionIsFollowedOverARestart(t *testing.T) {
	b := newBed(t)
	a := b.agent("follower", nil)
	a.call("create_notebook", nil)
	a.call("create_cell", map[string]any{"source": "import time", "and_run": true, "timeout_secs": 60})
	running := a.beginCall("create_cell", map[string]any{"source": "for i in range(30):\n    print('line', i)\n    time.sleep(0.1)", "and_run": true, "timeout_secs": 60})
	h := b.peek(t)
	if err := h.WaitFor(t.Context(), func() bool {
		executing, _ := h.Runtime().Queue()
		e, _ := h.Runtime().Execution(executing)
		return len(e.Outputs) > 0
	}); err != nil {
		t.Fatal(err)
	}
	b.stop()
	b.start()
	ans := answerOf(a.await("execution", running))
	if ans.isError {
		t.Fatal(ans.text)
	}
	for i := range 30 {
		if n := strings.Count(ans.text, fmt.Sprintf("line %d\n", i)); n != 1 && i < 29 {
			t.Errorf("line %d is there %d times", i, n)
		}
	}
	wantWords(t, ans.text, "done", "line 29")
}

// peek joins the one open notebook as somebody else.
func (b *bed) peek(t testing.TB) *client.Handle {
	t.Helper()
	rooms, err := client.ListRooms(t.Context(), b.opt.Socket)
	if err != nil || len(rooms) != 1 {
		t.Fatalf("%d rooms, %v", len(rooms), err)
	}
	h, err := client.Join(t.Context(), client.Options{Socket: b.opt.Socket, Engine: b.engine, Operator: "agent:peek", Label: "peek"}, domain.NotebookID(rooms[0].NotebookID))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestS24_TwoClientsEachOnTheirOwnNotebook(t *testing.T) {
	b := newBed(t)
	const inserts = 50
	var wg sync.WaitGroup
	texts := make([]string, 2)
	for i := range 2 {
		a := b.agent("twin", nil)
		wg.Go(func() {
			a.call("create_notebook", nil)
			for n := range inserts {
				a.call("create_cell", map[string]any{"source": fmt.Sprintf("client_%d_%d", i, n)})
			}
			texts[i] = a.call("get_all_cells", map[string]any{"view": "source", "count": 500}) + a.call("get_all_cells", map[string]any{"start": 40})
		})
	}
	wg.Wait()
	for i := range 2 {
		if !strings.Contains(texts[i], fmt.Sprintf("client_%d_%d", i, inserts-1)) || strings.Contains(texts[i], fmt.Sprintf("client_%d_", 1-i)) {
			t.Errorf("client %d does not have exactly its own cells:\n%s", i, texts[i])
		}
	}
	rooms, err := client.ListRooms(t.Context(), b.opt.Socket)
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]bool{}
	for _, r := range rooms {
		for _, p := range r.Peers {
			labels[p] = true
		}
	}
	if len(labels) != 2 {
		t.Errorf("the daemon shows the labels %v, want two", labels)
	}
}

func TestS27_ACallSentAgainFindsItsOwnWork(t *testing.T) {
	b := sharedBed(t)
	counter := filepath.Join(b.dir, "counter")
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"runt/session":"s"},"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"again","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_notebook","arguments":{"path":"again.ipynb"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"create_cell","arguments":{"source":"x=1"}}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"create_cell","arguments":{"source":"open('%s','a').write('x')","and_run":true,"timeout_secs":60}}}`, counter),
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"edit_cells","arguments":{"operations":[{"op":"create","source":"a"},{"op":"create","source":"b"}]}}}`,
	}
	ids := map[string]string{}
	for round := range 2 {
		var out strings.Builder
		o := b.options()
		o.In, o.Out = strings.NewReader(strings.Join(lines, "\n")), &out
		o.Getenv = func(key string) string {
			if key == envRejoin && round > 0 {
				return filepath.Join(b.dir, "again.ipynb")
			}
			return ""
		}
		if code, err := Run(t.Context(), o); code != 0 || err != nil {
			t.Fatalf("run: %d, %v", code, err)
		}
		for line := range strings.Lines(out.String()) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			ans := answerOf(m)
			if m["id"] == 1.0 {
				continue
			}
			if ans.isError {
				t.Fatalf("round %d, call %v: %s", round, m["id"], ans.text)
			}
			key := fmt.Sprint(m["id"])
			if id := idPattern.FindString(ans.text); round == 0 {
				ids[key] = id
			} else if key != "5" && ids[key] != id {
				t.Errorf("call %s gave %s, then %s", key, ids[key], id)
			}
		}
	}
	a := b.agent("reader", nil)
	a.call("connect_notebook", map[string]any{"path": "again.ipynb"})
	if n := len(cellsOf(t, a)); n != 5 {
		t.Errorf("%d cells after the calls were sent twice, want 4 and the starter cell", n)
	}
	if data, err := os.ReadFile(counter); err != nil || string(data) != "x" {
		t.Errorf("the cell ran %d times, %v", len(data), err)
	}
}

func TestS01_AnotherVersionEndsTheProcess(t *testing.T) {
	leak.Check(t)
	b := newBed(t)
	a := b.agent("outdated", nil)
	a.call("create_notebook", nil)
	b.stop()
	b.mu.Lock()
	b.version = "test-2"
	b.mu.Unlock()
	b.start()
	select {
	case code := <-a.code:
		if code != session.ExitUpgraded {
			t.Errorf("exit code %d, want %d", code, session.ExitUpgraded)
		}
	case <-time.After(30 * time.Second):
		t.Error("the process did not end")
	}
}

func TestP12_NotebooksOfAnEarlierProcessAreRejoined(t *testing.T) {
	b := sharedBed(t)
	first := b.agent("first", nil)
	wantMeta(t, first.try("create_notebook", map[string]any{"path": "one.ipynb"}), "connected", "one.ipynb", true)
	two := first.try("create_notebook", nil)
	wantMeta(t, two, "connected", "", true)
	id := firstID(t, two.text)
	first.call("create_cell", map[string]any{"source": "kept"})
	wantMeta(t, first.try("save_notebook", map[string]any{"notebook": "one.ipynb", "path": "saved.ipynb"}), "saved", "saved.ipynb", false)
	first.close()
	all, err := json.Marshal([]map[string]any{{"path": filepath.Join(b.dir, "saved.ipynb")}, {"id": id, "default": true}})
	if err != nil {
		t.Fatal(err)
	}
	second := b.agent("second", func(o *Options) {
		o.Getenv = func(key string) string { return map[string]string{envRejoin: id, envRejoinAll: string(all)}[key] }
	})
	wantWords(t, second.call("get_all_cells", nil), "kept")
	wantWords(t, second.call("get_all_cells", map[string]any{"notebook": "saved.ipynb"}), "1 cell")
	wantWords(t, second.call("list_notebooks", nil), "held by you, your default", "saved.ipynb")
	wantMeta(t, second.try("disconnect_notebook", map[string]any{"notebook": "saved.ipynb"}), "disconnected", "saved.ipynb", false)
}

func wantMeta(t *testing.T, ans answer, event, path string, isDefault bool) {
	t.Helper()
	meta, _ := ans.raw["_meta"].(map[string]any)
	about, _ := meta[metaNotebook].(map[string]any)
	got, _ := about["path"].(string)
	if about["event"] != event || !strings.HasSuffix(got, path) || (path == "") != (got == "") || about["default"] != isDefault || about["id"] == "" {
		t.Errorf("meta %v, want %s of %q, default %v\n%s", about, event, path, isDefault, ans.text)
	}
}

func TestSwitchedFrom(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("switcher", nil)
	a.call("create_notebook", map[string]any{"path": "a.ipynb"})
	a.call("create_notebook", map[string]any{"path": "b.ipynb"})
	wantWords(t, a.call("connect_notebook", map[string]any{"path": "./a.ipynb"}), "switched_from: "+filepath.Join(b.dir, "b.ipynb"))
	if text := a.call("connect_notebook", map[string]any{"notebook": filepath.Join(b.dir, "a.ipynb")}); strings.Contains(text, "switched_from") {
		t.Errorf("connecting to the same one says: %s", text)
	}
	a.call("create_cell", map[string]any{"notebook": "b.ipynb", "source": "in b"})
	if text := a.call("get_all_cells", nil); strings.Contains(text, "in b") {
		t.Errorf("the default has moved: %s", text)
	}
	if err := os.Symlink(filepath.Join(b.dir, "a.ipynb"), filepath.Join(b.dir, "link.ipynb")); err != nil {
		t.Fatal(err)
	}
	a.call("connect_notebook", map[string]any{"path": "link.ipynb"})
	if text := a.call("list_notebooks", nil); strings.Count(text, "held by you") != 2 || strings.Count(text, "1 connected") != 2 {
		t.Errorf("a symlink made another peer: %s", text)
	}
}

func TestCallFromTheShell(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("opener", nil)
	a.call("create_notebook", map[string]any{"path": "shell.ipynb"})
	s := New(b.options())
	defer s.Close()
	text, _, err := Call(t.Context(), s, "runt CLI", "create_cell", json.RawMessage(`{"notebook":"shell.ipynb","source":"from the shell"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, text, "Created cell-")
	wantWords(t, a.call("get_all_cells", nil), "from the shell")
	if _, _, err := Call(t.Context(), s, "runt CLI", "get_all_cells", json.RawMessage(`{}`)); domain.CodeOf(err) != domain.CodeNoSession {
		t.Errorf("without a notebook: %v", err)
	}
	if _, _, err := Call(t.Context(), s, "runt CLI", "no_such_tool", nil); domain.CodeOf(err) != domain.CodeInvalidArgument {
		t.Errorf("unknown tool: %v", err)
	}
}

func TestP08_OneShotThroughTheWholeServer(t *testing.T) {
	b := sharedBed(t)
	input := oneShot + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"create_notebook","arguments":{"ephemeral":true}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"create_cell","arguments":{"source":"x"}}}
not json
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"get_all_cells"}}`
	for range 3 {
		var out strings.Builder
		o := b.options()
		o.In, o.Out = strings.NewReader(input), &out
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		code, err := Run(ctx, o)
		cancel()
		if code != 0 || err != nil {
			t.Fatalf("run: %d, %v", code, err)
		}
		if n := strings.Count(out.String(), "\n"); n != 6 {
			t.Fatalf("%d lines of answers, want 6:\n%s", n, out.String())
		}
	}
}

func TestP09_EndOfInputWithARunningCell(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("leaver", nil)
	a.warm()
	running := a.beginCall("create_cell", map[string]any{"source": "print('begun L', flush=True)\ntime.sleep(5)\nprint('after all')", "and_run": true, "timeout_secs": 60})
	b.awaitOutput(a, "begun L")
	start := time.Now()
	a.close()
	ans := answerOf(a.await("run", running))
	wantWords(t, ans.text, "running", "begun L", "leaving")
	select {
	case code := <-a.code:
		if took := time.Since(start); code != 0 || took > 5*time.Second {
			t.Errorf("exit code %d after %v", code, took)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the process did not end")
	}
	next := b.agent("finder", nil)
	text := next.call("get_results", map[string]any{"execution_id": executionID(t, ans.text), "wait_secs": 30})
	wantWords(t, text, "done", "after all")
}

func TestS17_ParallelConnectsThroughTheWholeServer(t *testing.T) {
	b := sharedBed(t)
	maker := b.agent("maker", nil)
	id := firstID(t, maker.call("create_notebook", map[string]any{"path": "many.ipynb"}))
	maker.call("disconnect_notebook", nil)
	if err := os.Symlink(filepath.Join(b.dir, "many.ipynb"), filepath.Join(b.dir, "linked.ipynb")); err != nil {
		t.Fatal(err)
	}
	a := b.agent("crowd", nil)
	spellings := []map[string]any{{"path": "many.ipynb"}, {"path": "./x/../many.ipynb"}, {"path": filepath.Join(b.dir, "many.ipynb")}, {"path": "linked.ipynb"}, {"notebook_id": id}, {"notebook": id}}
	var answers []<-chan map[string]any
	for i := range 24 {
		answers = append(answers, a.beginCall("connect_notebook", spellings[i%len(spellings)]))
	}
	for _, ch := range answers {
		if ans := answerOf(a.await("connect", ch)); ans.isError || !strings.Contains(ans.text, id) {
			t.Errorf("connect: %s", ans.text)
		}
	}
	wantWords(t, a.call("list_notebooks", map[string]any{"notebook": id}), "1 connected: crowd (", "held by you, your default")
}

// rejoinLimit is far above the 250 ms that a rejoin takes on a machine with
// nothing else to do, and below what a client would wait that only looked now and then.
const rejoinLimit = 10 * time.Second

func TestS20_RejoinIsQuickOnceTheDaemonListens(t *testing.T) {
	b := newBed(t)
	a := b.agent("quick", func(o *Options) { o.StartDaemon = nil })
	a.call("create_notebook", nil)
	for range 3 {
		b.stop()
		read := a.beginCall("get_all_cells", nil)
		b.start()
		start := time.Now()
		if ans := answerOf(a.await("read", read)); ans.isError {
			t.Fatal(ans.text)
		}
		if took := time.Since(start); took > rejoinLimit {
			t.Errorf("rejoined %v after the daemon was there", took)
		}
	}
}
