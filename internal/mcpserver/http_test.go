package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/session"
	"runt/internal/testenv"
	"runt/internal/testenv/leak"
)

// peers returns the labels of all peers of the bed's daemon, by notebook.
func (b *bed) peers() map[string][]string {
	b.t.Helper()
	rooms, err := client.ListRooms(b.t.Context(), b.opt.Socket)
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string][]string{}
	for _, r := range rooms {
		all[r.NotebookID] = r.Peers
	}
	return all
}

func TestS24_TwoHTTPSessionsEachOnTheirOwnNotebook(t *testing.T) {
	leak.Check(t)
	b := newBed(t)
	s := b.site(nil)
	const inserts = 200
	var wg sync.WaitGroup
	texts := make([]string, 2)
	ids := make([]string, 2)
	for i := range 2 {
		c := s.caller("twin")
		ids[i] = firstID(t, c.call("create_notebook", nil))
		wg.Go(func() {
			for n := range inserts {
				c.call("create_cell", map[string]any{"source": fmt.Sprintf("client_%d_%d", i, n)})
			}
			for start := 0; start < inserts; start += 50 {
				texts[i] += c.call("get_all_cells", map[string]any{"start": start, "count": 51})
			}
		})
	}
	wg.Wait()
	for i := range 2 {
		for n := range inserts {
			if !strings.Contains(texts[i], fmt.Sprintf("client_%d_%d\n", i, n)) && n < inserts-1 {
				t.Fatalf("client %d does not have its cell %d", i, n)
			}
		}
		if strings.Contains(texts[i], fmt.Sprintf("client_%d_", 1-i)) {
			t.Errorf("client %d has a cell of the other", i)
		}
	}
	peers := b.peers()
	one, two := peers[ids[0]], peers[ids[1]]
	if len(one) != 1 || len(two) != 1 || one[0] == two[0] || !strings.HasPrefix(one[0], "twin (") {
		t.Errorf("the daemon shows the peers %v, want one in each notebook, with different labels", peers)
	}
}

func TestS25_HTTPTheArgumentBeatsTheDefault(t *testing.T) {
	b := sharedBed(t)
	c := b.site(nil).caller("chooser")
	c.call("create_notebook", map[string]any{"path": "first.ipynb"})
	c.call("create_notebook", map[string]any{"path": "second.ipynb"})
	c.call("create_cell", map[string]any{"notebook": "first.ipynb", "source": "for the first"})
	if text := c.call("get_all_cells", nil); strings.Contains(text, "for the first") {
		t.Errorf("the default has changed: %s", text)
	}
	wantWords(t, c.call("get_all_cells", map[string]any{"notebook": "first.ipynb"}), "for the first")
}

func TestS26_HTTPAllNotebooksAreRejoined(t *testing.T) {
	b := newBed(t)
	s := b.site(nil)
	callers := []*caller{s.caller("holder"), s.caller("holder")}
	var held [2][]string
	for i, c := range callers {
		for n := range 3 {
			held[i] = append(held[i], firstID(t, c.call("create_notebook", nil)))
			c.call("create_cell", map[string]any{"source": fmt.Sprintf("mine_%d_%d", i, n)})
		}
	}
	for range 2 {
		b.stop()
		b.start()
		testenv.Await(t, t.Context(), "all notebooks to be rejoined without a call", func() bool {
			n := 0
			for _, peers := range b.peers() {
				n += len(peers)
			}
			return n == 6
		})
	}
	for i, c := range callers {
		for n, id := range held[i] {
			wantWords(t, c.call("get_all_cells", map[string]any{"notebook": id}), fmt.Sprintf("mine_%d_%d", i, n))
		}
		wantWords(t, c.call("get_all_cells", nil), fmt.Sprintf("mine_%d_2", i))
	}
}

func TestS27_HTTPACallSentAgainFindsItsOwnWork(t *testing.T) {
	b := sharedBed(t)
	c := b.site(nil).caller("again")
	c.call("create_notebook", nil)
	before := strings.Count(c.call("get_all_cells", nil), "\n")
	body := c.message("create_cell", map[string]any{"source": "once"})
	one, two := answerOf(c.exchange(body)), answerOf(c.exchange(body))
	if one.isError || two.isError || firstID(t, one.text) != firstID(t, two.text) {
		t.Errorf("the call gave %q, then %q", one.text, two.text)
	}
	other := answerOf(c.exchange(strings.Replace(body, "once", "another", 1)))
	if other.isError || firstID(t, other.text) == firstID(t, one.text) {
		t.Errorf("another call with an old id gave %q", other.text)
	}
	if n := strings.Count(c.call("get_all_cells", nil), "\n") - before; n != 2 {
		t.Errorf("%d new cells, want 2", n)
	}
	edit := c.message("replace_match", map[string]any{"cell_id": firstID(t, one.text), "match": "once", "content": "once more"})
	for range 2 {
		if ans := answerOf(c.exchange(edit)); ans.isError {
			t.Errorf("an edit sent again: %s", ans.text)
		}
	}
	if text := c.call("get_cell", map[string]any{"cell_id": firstID(t, one.text)}); strings.Contains(text, "more more") {
		t.Errorf("the edit was made twice: %s", text)
	}
}

// cutter passes connections on to a socket until they are cut.
type cutter struct {
	ln     net.Listener
	wg     sync.WaitGroup
	passed atomic.Int32 // connections so far

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newCutter(t *testing.T, at, to string) *cutter {
	t.Helper()
	ln, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{ln: ln}
	c.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, in, out)
			c.mu.Unlock()
			c.passed.Add(1)
			c.wg.Go(func() { pump(in, out) })
			c.wg.Go(func() { pump(out, in) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		c.cut()
		c.wg.Wait()
	})
	return c
}

func pump(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, nc := range c.conns {
		_ = nc.Close()
	}
	c.conns = nil
}

func TestS28_HTTPALostSocketIsRejoinedAtOnce(t *testing.T) {
	b := newBed(t)
	relay := filepath.Join(b.root, "r")
	cut := newCutter(t, relay, b.opt.Socket)
	c := b.site(func(o *Options, _ *HTTPOptions) { o.Socket = relay }).caller("loser")
	id := firstID(t, c.call("create_notebook", nil))
	c.call("create_cell", map[string]any{"source": "before"})
	for range 3 {
		before := cut.passed.Load()
		start := time.Now()
		cut.cut()
		testenv.Await(t, t.Context(), "the peer to be back without a call", func() bool {
			return cut.passed.Load() >= before+2 && len(b.peers()[id]) == 1 // the watch of the daemon, and the notebook
		})
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("it was back after %v", took)
		}
	}
	c.call("create_cell", map[string]any{"source": "after"})
	wantWords(t, c.call("get_all_cells", nil), "before", "after")
}

func TestOneHTTPSessionDoesNotTouchAnother(t *testing.T) {
	b := sharedBed(t)
	s := b.site(nil)
	slow, steady := s.caller("slow"), s.caller("steady")
	slow.call("create_notebook", nil)
	slow.call("create_cell", map[string]any{"source": "import time", "and_run": true, "timeout_secs": 60})
	id := firstID(t, steady.call("create_notebook", nil))
	cell := firstID(t, steady.call("create_cell", map[string]any{"source": "x"}))
	var wg sync.WaitGroup
	defer wg.Wait()
	running := slow.begin(&wg, "create_cell", map[string]any{"source": "print('begun', flush=True)\ntime.sleep(30)", "and_run": true, "timeout_secs": 60})
	testenv.Await(t, t.Context(), "the slow cell to run", func() bool {
		return strings.Contains(slow.call("get_all_cells", map[string]any{"view": "outputs"}), "→ begun")
	})
	begun := time.Now()
	slow.fails(domain.CodeCellNotFound, "get_cell", map[string]any{"cell_id": "none"})
	slow.fails(domain.CodeInvalidArgument, "get_cell", map[string]any{"cell_id": "none", "wrong": 1})
	steady.call("set_cell", map[string]any{"cell_id": cell, "source": "y"})
	wantWords(t, steady.call("get_cell", map[string]any{"cell_id": cell}), "y")
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("calls beside a slow one took %v", took)
	}
	if status := slow.leave(); status != http.StatusNoContent {
		t.Errorf("DELETE: status %d", status)
	}
	wantWords(t, awaitAnswer(t, running).text, "running", "begun", "leaving")
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the end of a session with a running cell took %v", took)
	}
	if status, _ := s.send(slow.post(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)); status != http.StatusNotFound {
		t.Errorf("a call of an ended session: status %d", status)
	}
	steady.call("create_cell", map[string]any{"source": "still here"})
	if peers := b.peers()[id]; len(peers) != 1 {
		t.Errorf("peers %v, want one", peers)
	}
}

func TestATimeoutInterruptsOnlyItsOwnCell(t *testing.T) {
	b := sharedBed(t)
	s := b.site(nil)
	first, second := s.caller("first"), s.caller("second")
	id := firstID(t, first.call("create_notebook", nil))
	first.call("create_cell", map[string]any{"source": "import time", "and_run": true, "timeout_secs": 60})
	waits := firstID(t, second.call("create_cell", map[string]any{"notebook": id, "source": "'waits'"}))
	var wg sync.WaitGroup
	defer wg.Wait()
	long := first.begin(&wg, "create_cell", map[string]any{"source": "print('begun', flush=True)\ntime.sleep(3)\nprint('whole')", "and_run": true, "timeout_secs": 60})
	testenv.Await(t, t.Context(), "the long cell to run", func() bool {
		return strings.Contains(first.call("get_all_cells", map[string]any{"view": "outputs"}), "→ begun")
	})
	wantWords(t, second.call("execute_cell", map[string]any{"notebook": id, "cell_id": waits, "timeout_secs": 1, "on_timeout": "interrupt"}), "cancelled")
	wantWords(t, awaitAnswer(t, long).text, "done", "whole")
}

func TestEndedAndIdleHTTPSessionsReleaseTheirPeers(t *testing.T) {
	b := sharedBed(t)
	const idle = 400 * time.Millisecond
	s := b.site(func(_ *Options, h *HTTPOptions) { h.Idle = idle })
	gone, watched := s.caller("gone"), s.caller("watched")
	first := firstID(t, gone.call("create_notebook", nil))
	second := firstID(t, watched.call("create_notebook", nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := http.DefaultClient.Do(s.request(http.MethodGet, watched.session, "").WithContext(ctx))
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("stream: %v, %v", stream, err)
	}
	defer stream.Body.Close()
	testenv.Await(t, t.Context(), "the idle session to end", func() bool { return len(b.peers()[first]) == 0 })
	if status, _ := s.send(gone.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); status != http.StatusNotFound {
		t.Errorf("a call after the end: status %d", status)
	}
	if n := len(b.peers()[second]); n != 1 {
		t.Errorf("a session with an open stream has %d peers, want 1", n)
	}
	if status := watched.leave(); status != http.StatusNoContent || len(b.peers()[second]) != 0 {
		t.Errorf("after DELETE (%d) the daemon shows the peers %v", status, b.peers()[second])
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream of an ended session: %v", err)
	}
}

func TestAStreamThatBrokeIsResumed(t *testing.T) {
	b := sharedBed(t)
	s := b.site(nil)
	c := s.caller("breaker")
	c.call("create_notebook", nil)
	c.call("create_cell", map[string]any{"source": "import time", "and_run": true, "timeout_secs": 60})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp, err := http.DefaultClient.Do(c.post(c.message("create_cell", map[string]any{"source": "time.sleep(1.5)\nprint('not lost')", "and_run": true})).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 200)
	n, err := resp.Body.Read(first) // the event that says where the stream begins
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(first[:n]), "id: ")
	last, _, _ := strings.Cut(rest, "\n")
	cancel()
	_ = resp.Body.Close()
	r := s.request(http.MethodGet, c.session, "")
	r.Header.Set("Last-Event-ID", last)
	var resumed *http.Response
	testenv.Await(t, t.Context(), "the server to notice that the stream broke", func() bool {
		if resumed, err = http.DefaultClient.Do(r); err != nil || resumed.StatusCode == http.StatusOK {
			return true
		}
		return resumed.Body.Close() != nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Body.Close()
	m, _, err := events(resumed.Body, isAnswer)
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, answerOf(m).text, "done", "not lost")
}

func TestS01_AnotherVersionEndsTheHTTPServer(t *testing.T) {
	b := newBed(t)
	s := b.site(nil)
	c, idle := s.caller("outdated"), s.caller("idle")
	c.call("create_notebook", nil)
	idle.call("create_notebook", nil)
	c.call("create_cell", map[string]any{"source": "import time", "and_run": true, "timeout_secs": 60})
	var wg sync.WaitGroup
	running := c.begin(&wg, "create_cell", map[string]any{"source": "print('begun', flush=True)\ntime.sleep(30)", "and_run": true, "timeout_secs": 60})
	testenv.Await(t, t.Context(), "the cell to run", func() bool {
		return strings.Contains(c.call("get_all_cells", map[string]any{"view": "outputs"}), "→ begun")
	})
	b.mu.Lock()
	b.version = "test-2" // before the end of the first: the running call may start the next
	b.mu.Unlock()
	b.stop()
	b.start()
	wantWords(t, awaitAnswer(t, running).text, "execution")
	wg.Wait()
	select {
	case code := <-s.code:
		if code != session.ExitUpgraded {
			t.Errorf("exit code %d, want %d", code, session.ExitUpgraded)
		}
	case <-time.After(30 * time.Second):
		t.Error("the server did not end")
	}
}

func TestHTTPSessionsGoOnInTheNextProcess(t *testing.T) {
	b := sharedBed(t)
	dir := filepath.Join(t.TempDir(), "sessions")
	kept := func(_ *Options, h *HTTPOptions) { h.Records = dir }
	first := b.site(kept)
	c, leaver := first.caller("long-lived"), first.caller("leaver")
	one := firstID(t, c.call("create_notebook", map[string]any{"path": "one.ipynb"}))
	two := firstID(t, c.call("create_notebook", nil))
	c.call("create_cell", map[string]any{"source": "of the first process"})
	c.exchange(fmt.Sprintf(`{"jsonrpc":"2.0","id":900,"method":"resources/subscribe","params":{"uri":"runt://notebooks/%s/cells"}}`, one))
	leaver.call("create_notebook", nil)
	leaver.leave()
	label := b.peers()[one]
	first.stop()
	if code := <-first.code; code != 0 {
		t.Fatalf("exit code %d", code)
	}
	testenv.Await(t, t.Context(), "the peers to be gone", func() bool {
		peers := b.peers()
		return len(peers[one])+len(peers[two]) == 0
	})
	second := b.site(kept)
	var wg sync.WaitGroup
	next := &caller{site: second, session: c.session, last: 100}
	for range 5 { // the first of them makes the session go on
		wg.Go(func() { wantWords(t, next.call("get_all_cells", nil), "of the first process") })
	}
	wg.Wait()
	wantWords(t, next.call("get_all_cells", map[string]any{"notebook": one}), "1 cell")
	if now := b.peers()[one]; len(now) != 1 || len(label) != 1 || now[0] != label[0] {
		t.Errorf("the peer was %v and is %v", label, now)
	}
	testenv.Await(t, t.Context(), "the subscription", func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("records %v, %v, want one", files, err)
		}
		next.call("list_notebooks", nil)
		text, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(text), one+"/cells")
	})
	if status, _ := second.send(second.request(http.MethodPost, leaver.session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)); status != http.StatusNotFound {
		t.Errorf("a session that its client ended: status %d", status)
	}
	next.leave()
	if status, _ := second.send(next.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); status != http.StatusNotFound {
		t.Errorf("after DELETE: status %d", status)
	}
}

func TestTooManySessionsAndBadRequests(t *testing.T) {
	b := sharedBed(t)
	s := b.site(func(_ *Options, h *HTTPOptions) { h.MaxSessions = 2 })
	one := s.caller("one")
	s.caller("two")
	const init = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	if status, header := s.send(s.request(http.MethodPost, "", init)); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("a session too many: status %d", status)
	}
	one.leave()
	for name, tc := range map[string]struct {
		method, session, body string
		want                  int
	}{
		"no session":        {http.MethodGet, "", "", 400},
		"unknown session":   {http.MethodGet, "unknown", "", 404},
		"delete of unknown": {http.MethodDelete, "unknown", "", 404},
		"another method":    {http.MethodPut, "", "", 400},
		"no JSON":           {http.MethodPost, "", "{", 400},
		"empty":             {http.MethodPost, "", "", 400},
		"too long":          {http.MethodPost, "", strings.Repeat(" ", maxLine+1), 413},
		"call before":       {http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200},
	} {
		if status, _ := s.send(s.request(tc.method, tc.session, tc.body)); status != tc.want {
			t.Errorf("%s: status %d, want %d", name, status, tc.want)
		}
	}
	s.caller("two again, because what was refused made no session")
}
