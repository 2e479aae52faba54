package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/testenv"
	"runt/internal/wire"

	"github.com/google/go-cmp/cmp"
)

func (d *FakeDaemon) options(name string) Options {
	return Options{Socket: d.Socket, Engine: engine, Operator: "agent:" + name, Label: name}
}

// join connects to a room, and disconnects at the end of the test.
func (d *FakeDaemon) join(t testing.TB, name, id string) *Handle {
	t.Helper()
	d.Room(id)
	h, err := Join(t.Context(), d.options(name), domain.NotebookID(id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeHandle(t, h) })
	return h
}

func closeHandle(t testing.TB, h *Handle) {
	t.Helper()
	if err := h.Close(); err != nil && h.Err() == nil {
		t.Errorf("close: %v", err)
	}
}

func isError(err error, code domain.Code, message, hint string) bool {
	var e *domain.Error
	return errors.As(err, &e) && e.Code == code && e.Message == message && e.Hint == hint
}

func setSource(id domain.CellID, s string) func(*notebook.Tx) error {
	return func(tx *notebook.Tx) error { return tx.SetSource(id, s) }
}

func await(t testing.TB, h *Handle, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := h.WaitFor(ctx, cond); err != nil {
		t.Fatal(err)
	}
}

func TestJoinOpenCreate(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n1")
	if h.ID() != "n1" || h.Path() != "" || !h.Extended() || !h.Status().Ready() {
		t.Errorf("id %q, path %q, status %+v", h.ID(), h.Path(), h.Status())
	}
	if s, _ := h.Notebook().Source("first"); s != "print('hi')" || h.Notebook().NotebookID() != "n1" {
		t.Errorf("the notebook is not there at once: %q", s)
	}
	keep := 90 * time.Second
	opened, err := Open(t.Context(), d.options("b"), "/x/y.ipynb", OpenOptions{KeepAlive: &keep, Kernel: "ir"})
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(t, opened)
	created, err := Create(t.Context(), d.options("c"), CreateOptions{ID: "n2", WorkingDir: "/w", Ephemeral: true, Dependencies: []string{"numpy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer closeHandle(t, created)
	if opened.ID() != "made-by-daemon" || opened.Path() != "/x/y.ipynb" || created.ID() != "n2" {
		t.Errorf("opened %q at %q, created %q", opened.ID(), opened.Path(), created.ID())
	}
	ninety := 90
	want := []wire.Handshake{
		{Channel: "notebook_sync", NotebookID: "n1", Protocol: "v4", TypedBootstrap: true, Label: "a", Extensions: 1},
		{Channel: "open_notebook", Path: "/x/y.ipynb", KeepAliveSecs: &ninety, KernelName: "ir", TypedBootstrap: true, Label: "b", Extensions: 1},
		{Channel: "create_notebook", NotebookID: "n2", Runtime: "python", WorkingDir: "/w", Ephemeral: true, Dependencies: []string{"numpy"}, TypedBootstrap: true, Label: "c", Extensions: 1},
	}
	operators := map[string]bool{}
	for i := range want {
		got := d.hellos[i]
		operators[got.Operator] = true
		if !strings.HasPrefix(got.Operator, "agent:"+want[i].Label+":") {
			t.Errorf("operator %q", got.Operator)
		}
		got.Operator = ""
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Error(diff)
		}
	}
	if len(operators) != 3 {
		t.Errorf("operators %v are not unique", operators)
	}
}

func TestRefusals(t *testing.T) {
	d := newFake(t)
	for _, tc := range []struct {
		name    string
		refusal wire.ConnectionInfo
		open    func(context.Context) error
		code    domain.Code
		text    string
		hint    string
	}{
		{"unknown id, no code", wire.ConnectionInfo{Error: "Notebook not found"}, func(ctx context.Context) error {
			_, err := Join(ctx, d.options("a"), "gone")
			return err
		}, domain.CodeNotebookUnavailable, "Notebook not found", ""},
		{"broken file, no code", wire.ConnectionInfo{Error: "bad JSON"}, func(ctx context.Context) error {
			_, err := Open(ctx, d.options("a"), "/x", OpenOptions{})
			return err
		}, domain.CodeFileUnreadable, "bad JSON", ""},
		{"code and hint of ours", wire.ConnectionInfo{Error: "no such kernel", ErrorCode: "kernel_unavailable", ErrorHint: "List them."}, func(ctx context.Context) error {
			_, err := Create(ctx, d.options("a"), CreateOptions{Kernel: "x"})
			return err
		}, domain.CodeKernelUnavailable, "no such kernel", "List them."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d.Refusal = &tc.refusal
			if err := tc.open(t.Context()); !isError(err, tc.code, tc.text, tc.hint) {
				t.Errorf("error %v, want code %s", err, tc.code)
			}
		})
	}
}

func TestOpeningFails(t *testing.T) {
	d := newFake(t)
	d.Loading = func(p *FakePeer) {
		p.status.InitialLoad = wire.InitialLoad{Phase: wire.PhaseFailed, Reason: "line 3: no"}
		p.Say(p.status)
	}
	if _, err := Join(t.Context(), d.options("a"), "n"); domain.CodeOf(err) != domain.CodeFileUnreadable || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("failed load: %v", err)
	}
	d.Loading = func(p *FakePeer) { _ = p.Conn.Send(wire.FrameNotebookSync, []byte("junk")) }
	if _, err := Join(t.Context(), d.options("a"), "n"); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("junk from the daemon: %v", err)
	}
	d.Loading = func(*FakePeer) {}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Join(ctx, d.options("a"), "n"); domain.CodeOf(err) != domain.CodeTimeout {
		t.Errorf("silent daemon: %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	boom := errors.New("boom")
	stop(boom)
	if _, err := Join(ctx, d.options("a"), "n"); !errors.Is(err, boom) {
		t.Errorf("cancelled: %v", err)
	}
	d.Stop()
	if _, err := Join(t.Context(), d.options("a"), "n"); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("no daemon: %v", err)
	}
	d.Listen()
}

func TestEditsTravel(t *testing.T) {
	d := newFake(t)
	a, b := d.join(t, "a", "n"), d.join(t, "b", "n")
	heads, err := a.Edit(t.Context(), setSource("first", "1+1"))
	if err != nil || len(heads) != 1 {
		t.Fatal(heads, err)
	}
	await(t, b, func() bool { s, _ := b.Notebook().Source("first"); return s == "1+1" })
	if err := a.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := a.Edit(t.Context(), setSource("first", "1+1"))
	if err != nil || again[0] != heads[0] {
		t.Errorf("an edit without effect gave heads %v, %v", again, err)
	}
	if _, err := a.Edit(t.Context(), setSource("none", "x")); domain.CodeOf(err) != domain.CodeCellNotFound {
		t.Errorf("editing no cell: %v", err)
	}
}

// TestR12 has two clients insert at both ends of one cell at once.
func TestR12_TwoClientsInsertAtBothEnds(t *testing.T) {
	d := newFake(t)
	a, b := d.join(t, "a", "n"), d.join(t, "b", "n")
	const n = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			if _, err := a.Edit(t.Context(), func(tx *notebook.Tx) error { return tx.SpliceSource("first", 0, 0, fmt.Sprintf("<a%d>", i)) }); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for i := range n {
			if _, err := b.Edit(t.Context(), func(tx *notebook.Tx) error {
				s, _ := b.Notebook().Source("first")
				return tx.SetSource("first", s+fmt.Sprintf("<b%d>", i))
			}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	source := func(h *Handle) string { s, _ := h.Notebook().Source("first"); return s }
	all := len("print('hi')") + 2*(10*len("<a0>")+90*len("<a10>")+100*len("<a100>"))
	for _, h := range []*Handle{a, b} {
		await(t, h, func() bool { return len(source(h)) >= all })
	}
	if source(a) != source(b) {
		t.Fatal("the replicas differ")
	}
	for i := range n {
		for _, mark := range []string{fmt.Sprintf("<a%d>", i), fmt.Sprintf("<b%d>", i)} {
			if c := strings.Count(source(a), mark); c != 1 {
				t.Errorf("%s is there %d times", mark, c)
			}
		}
	}
}

func TestConfirmWithoutReceipts(t *testing.T) {
	d := newFake(t)
	d.Plain = true
	h := d.join(t, "a", "n")
	if h.Extended() {
		t.Error("additions of a plain daemon")
	}
	if _, err := h.Edit(t.Context(), setSource("first", "x")); err != nil {
		t.Fatal(err)
	}
	if err := h.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, _ := d.Room("n").NB.Source("first"); s != "x" {
		t.Errorf("confirmed, but the daemon reads %q", s)
	}
}

func TestRequests(t *testing.T) {
	d := newFake(t)
	var late []string
	d.Answer = func(p *FakePeer, q wire.Request) bool {
		switch q.Action {
		case wire.ActionComplete: // answered in the reverse order
			if late = append(late, q.ID); len(late) == 2 {
				p.Respond("nobody", wire.ResultOK, nil)
				p.Respond(late[1], wire.ResultCompletion, wire.CompletionResult{CursorEnd: 2})
				p.Respond(late[0], wire.ResultCompletion, wire.CompletionResult{CursorEnd: 1})
			}
			return true
		case wire.ActionGetHistory:
			return true // never
		}
		return false
	}
	h := d.join(t, "a", "n")
	var wg sync.WaitGroup
	var mu sync.Mutex
	ends := map[int]bool{}
	for range 2 {
		wg.Go(func() {
			r, err := h.Request(t.Context(), wire.Request{Action: wire.ActionComplete})
			var body wire.CompletionResult
			if err != nil || r.Decode(&body) != nil {
				t.Errorf("complete: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			ends[body.CursorEnd] = true
		})
	}
	wg.Wait()
	if !ends[1] || !ends[2] {
		t.Errorf("answers went to the wrong callers: %v", ends)
	}
	_, err := h.Request(t.Context(), wire.Request{Action: wire.ActionApproveTrust})
	if !isError(err, domain.CodeInvalidArgument, "cannot approve_trust", "do not") {
		t.Errorf("error of the daemon: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := h.Request(ctx, wire.Request{Action: wire.ActionGetHistory}); domain.CodeOf(err) != domain.CodeTimeout {
		t.Errorf("no answer: %v", err)
	}
	if len(h.pending) != 0 {
		t.Errorf("%d requests are still remembered", len(h.pending))
	}
}

func TestLostConnection(t *testing.T) {
	d := newFake(t)
	asked := make(chan struct{})
	d.Answer = func(p *FakePeer, q wire.Request) bool {
		close(asked)
		return true
	}
	h := d.join(t, "a", "n")
	changed := h.Changed()
	failed := make(chan error, 2)
	go func() {
		_, err := h.Request(t.Context(), wire.Request{Action: wire.ActionGetHistory})
		failed <- err
	}()
	go func() { failed <- h.WaitFor(t.Context(), func() bool { return false }) }()
	<-asked
	d.DropAll()
	for range 2 {
		if err := testenv.Receive(t, t.Context(), "an error", failed); domain.CodeOf(err) != domain.CodeSessionDisconnected {
			t.Errorf("error %v", err)
		}
	}
	<-h.Done()
	<-changed
	if domain.CodeOf(h.Err()) != domain.CodeSessionDisconnected {
		t.Errorf("reason %v", h.Err())
	}
	if s, _ := h.Notebook().Source("first"); s != "print('hi')" {
		t.Errorf("a lost handle reads %q", s)
	}
	if _, err := h.Edit(t.Context(), setSource("first", "x")); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("edit of a lost handle: %v", err)
	}
	if _, err := h.Execute(t.Context(), "first", "", ExecuteOptions{}); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("execute on a lost handle: %v", err)
	}
	if _, err := h.Request(t.Context(), wire.Request{Action: wire.ActionGetHistory}); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("request on a lost handle: %v", err)
	}
}

func TestCloseSendsTheLastEdit(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n")
	if _, err := h.Edit(t.Context(), setSource("first", "last words")); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	testenv.Await(t, t.Context(), "the edit", func() bool { s, _ := d.Room("n").NB.Source("first"); return s == "last words" })
	if err := h.Close(); err != nil || domain.CodeOf(h.Err()) != domain.CodeSessionDisconnected {
		t.Errorf("closing twice: %v, %v", err, h.Err())
	}
}

// TestAfterClose uses a handle that has been closed, and one while it is.
func TestAfterClose(t *testing.T) {
	d := newFake(t)
	h := d.join(t, "a", "n")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := 0; h.Err() == nil; k++ {
				_, err := h.Edit(t.Context(), setSource("first", fmt.Sprint(i, k)))
				if err == nil && i == 0 {
					_, err = h.Execute(t.Context(), "first", "", ExecuteOptions{})
				}
				if err != nil && domain.CodeOf(err) != domain.CodeSessionDisconnected {
					t.Errorf("while closing: %v", err)
				}
			}
		})
	}
	await(t, h, func() bool { e, _ := h.Notebook().Cell("first"); return e.ExecutionID != "" })
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := h.Edit(t.Context(), setSource("first", "x")); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("edit: %v", err)
	}
	if err := h.Confirm(t.Context()); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("confirm: %v", err)
	}
	if err := h.WaitFor(t.Context(), func() bool { return false }); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("wait: %v", err)
	}
	h.SetFocus("first")
	if h.ID() != "n" || h.Path() != "" || len(h.Notebook().Order()) != 1 {
		t.Error("what was read is gone")
	}
	o := d.options("b")
	o.Carry = h
	again, err := Join(t.Context(), o, "n")
	if err != nil {
		t.Fatalf("join with a closed handle to carry: %v", err)
	}
	closeHandle(t, again)
}

func TestPresence(t *testing.T) {
	d := newFake(t)
	a := d.join(t, "ann", "n")
	b := d.join(t, "bob", "n")
	await(t, b, func() bool { p := b.Peers(); return len(p) == 1 && p[0].Label == "ann" })
	b.SetFocus("second")
	b.SetFocus("first")
	b.SetFocus("first")
	await(t, a, func() bool { p := a.Peers(); return len(p) == 1 && p[0].Focus == "first" && p[0].Label == "bob" })
	if p := a.Peers()[0]; !strings.HasPrefix(p.Actor, "local:me/agent:bob:") || p.ID == "" || p.Seen.IsZero() {
		t.Errorf("peer %+v", p)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, a, func() bool { return len(a.Peers()) == 0 })
}

func TestPool(t *testing.T) {
	d := newFake(t)
	d.Room("n")
	ctx := t.Context()
	if p, err := Ping(ctx, d.Socket); err != nil || p.DaemonVersion != "2.9.0" {
		t.Errorf("ping %+v, %v", p, err)
	}
	if i, err := DaemonInfo(ctx, d.Socket); err != nil || i.PID != 1 {
		t.Errorf("info %+v, %v", i, err)
	}
	if r, err := ListRooms(ctx, d.Socket); err != nil || len(r) != 1 || r[0].NotebookID != "n" {
		t.Errorf("rooms %+v, %v", r, err)
	}
	if r, err := ExecutionResult(ctx, d.Socket, "e1"); err != nil || r.Status != "done" {
		t.Errorf("result %+v, %v", r, err)
	}
	if _, err := ExecutionResult(ctx, d.Socket, "e2"); !isError(err, domain.CodeInvalidArgument, "no execution e2", "ask for another") {
		t.Errorf("missing result: %v", err)
	}
	if found, err := ShutdownNotebook(ctx, d.Socket, "n"); err != nil || !found {
		t.Errorf("shutdown of a notebook: %v, %v", found, err)
	}
	if err := ShutdownDaemon(ctx, d.Socket); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if _, err := Ping(ctx, d.Socket+"x"); domain.CodeOf(err) != domain.CodeSessionDisconnected {
		t.Errorf("no daemon: %v", err)
	}
}
