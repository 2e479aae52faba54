package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/failpoint"
	"runt/internal/kernel"
	"runt/internal/notebook"
	"runt/internal/testenv"
	"runt/internal/wire"
)

// shortLived lets rooms close soon after their last peer.
func shortLived(after time.Duration) func(*Options) {
	return func(o *Options) { o.Config.KeepAlive = after }
}

// arm sets a failpoint for the time of the test.
func arm(t *testing.T, name, terms string) {
	t.Helper()
	if err := failpoint.Set(name, terms); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { failpoint.Clear(name) })
}

func (b *bed) rooms() int { return len(b.d.rooms.list()) }

func (b *bed) awaitRooms(n int) {
	b.t.Helper()
	testenv.Await(b.t, b.ctx(), fmt.Sprintf("%d rooms", n), func() bool { return b.rooms() == n })
}

// kernels returns the kernel processes of a notebook that live.
func (b *bed) kernels(id domain.NotebookID) (pids []int) {
	dirs, err := filepath.Glob(filepath.Join(b.d.hostsDir(), "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, dir := range dirs {
		m, err := kernel.ReadManifest(dir)
		if err == nil && (id == "" || m.RoomID == string(id)) && m.KernelPID != 0 && syscall.Kill(m.KernelPID, 0) == nil {
			pids = append(pids, m.KernelPID)
		}
	}
	return pids
}

// eval runs code in a new cell and returns its text.
func (b *bed) eval(h *client.Handle, code string) string {
	b.t.Helper()
	return text(b.run(h, b.add(h, code)))
}

func closeHandle(t *testing.T, h *client.Handle) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestR04_APeerBeforeTheTimerFindsEverything(t *testing.T) {
	b := newBed(t, shortLived(700*time.Millisecond))
	h := b.create(client.CreateOptions{})
	pid := b.eval(h, "import os; v = 'kept'\nos.getpid()")
	for range 3 {
		closeHandle(t, h)
		testenv.Await(t, b.ctx(), "the peer's leaving", func() bool { return b.d.rooms.list()[0].Status.Peers == 0 })
		h = b.join(h.ID())
		if got := b.eval(h, "v, os.getpid()"); got != "('kept', "+pid+")" {
			t.Fatalf("the kernel says %q, want v and pid %s", got, pid)
		}
	}
	closeHandle(t, h)
	b.awaitRooms(0)
	testenv.Await(t, b.ctx(), "the kernel's end", func() bool { return len(b.kernels("")) == 0 })
}

func TestR05_APeerAtEachStepOfTheShutDown(t *testing.T) {
	b := newBed(t, shortLived(30*time.Millisecond))
	for _, point := range []string{"roomactor/save", "roomactor/barrier", "roomactor/discard", "roomactor/close-watcher", "roomactor/teardown"} {
		t.Run(point, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "n.ipynb")
			h, err := client.Open(b.ctx(), b.options("first"), writeNotebookAt(t, path), client.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			id, cells := h.ID(), h.Notebook().Len()
			b.setSource(h, "first", "x = 'edited'\nprint(x)")
			if done := b.run(h, "first"); text(done) != "edited\n" {
				t.Fatalf("ran %q", text(done))
			}
			arm(t, point, "1*pause")
			closeHandle(t, h)
			testenv.Await(t, b.ctx(), point, func() bool { return failpoint.Hits(point) > 0 })
			// While the room stands at the step, a peer comes; then it goes on.
			before := b.connections()
			joined := make(chan *client.Handle, 1)
			go func() {
				h, err := client.Open(b.ctx(), b.options("second"), path, client.OpenOptions{})
				if err != nil {
					t.Errorf("open at %s: %v", point, err)
				}
				joined <- h
			}()
			testenv.Await(t, b.ctx(), "the peer's arrival", func() bool { return b.connections() > before })
			failpoint.Clear(point)
			h2 := testenv.Receive(t, b.ctx(), "the notebook", joined)
			if h2 == nil {
				return
			}
			defer closeHandle(t, h2)
			if h2.ID() != id || h2.Notebook().Len() != cells {
				t.Errorf("notebook %s with %d cells, want %s with %d", h2.ID(), h2.Notebook().Len(), id, cells)
			}
			if c, _ := h2.Notebook().Cell("first"); c.Source != "x = 'edited'\nprint(x)" || outputOf(h2, "first") != "edited\n" {
				t.Errorf("source %q, output %q", c.Source, outputOf(h2, "first"))
			}
			if got := b.eval(h2, "6*7"); got != "42" {
				t.Errorf("ran %q", got)
			}
			testenv.Await(t, b.ctx(), "one kernel", func() bool { return len(b.kernels(id)) == 1 })
		})
	}
	b.awaitRooms(0)
}

func writeNotebookAt(t *testing.T, path string) string {
	t.Helper()
	writeNotebook(t, path, twoCells)
	return path
}

func (b *bed) connections() int {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return len(b.d.conns)
}

// outputOf is the text of the outputs that a cell shows.
func outputOf(h *client.Handle, cell domain.CellID) string {
	c, _ := h.Notebook().Cell(cell)
	x, _ := h.Runtime().Execution(c.ExecutionID)
	s := ""
	for _, o := range x.Outputs {
		if ref, ok := o.Manifest["text"].(map[string]any); ok {
			inline, _ := ref["inline"].(string)
			s += inline
		}
	}
	return s
}

func TestR06_ARunningCellHoldsTheRoomAndItsOutputWaits(t *testing.T) {
	b := newBed(t, shortLived(40*time.Millisecond))
	h := b.create(client.CreateOptions{})
	gate := filepath.Join(t.TempDir(), "go")
	cell := b.add(h, fmt.Sprintf("import os, time\nprint('begun', flush=True)\nwhile not os.path.exists(%q): time.sleep(.01)\nprint('ended')", gate))
	x, err := h.Execute(b.ctx(), cell, "", client.ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.WaitFor(b.ctx(), func() bool { return outputOf(h, cell) == "begun\n" }); err != nil {
		t.Fatal(err)
	}
	id := h.ID()
	closeHandle(t, h)
	if x.Err() == nil {
		t.Error("a closed handle follows an execution to its end")
	}
	// The timer is a fortieth of a second; the room stays for as long as the cell runs.
	timer := time.NewTimer(500 * time.Millisecond)
	<-timer.C
	if b.rooms() != 1 {
		t.Fatal("the room is gone while its cell runs")
	}
	writeNotebook(t, gate, "")
	b.awaitRooms(0)
	h = b.join(id)
	if got := outputOf(h, cell); got != "begun\nended\n" {
		t.Errorf("the cell shows %q", got)
	}
}

func TestR07_AfterTheEviction(t *testing.T) {
	b := newBed(t, shortLived(30*time.Millisecond))
	path := filepath.Join(t.TempDir(), "n.ipynb")
	writeNotebook(t, path, twoCells)
	file, untitled, ephemeral := b.open(path), b.create(client.CreateOptions{}), b.create(client.CreateOptions{Ephemeral: true})
	shown := map[string]string{}
	var cells []domain.CellID
	for _, h := range []*client.Handle{file, untitled, ephemeral} {
		cell := b.add(h, "print('of', 6*7)")
		shown[string(h.ID())] = text(b.run(h, cell))
		cells = append(cells, cell)
	}
	order := fmt.Sprint(file.Notebook().Order())
	done := b.run(untitled, b.add(untitled, "'asked later'"))
	for _, h := range []*client.Handle{file, untitled, ephemeral} {
		closeHandle(t, h)
	}
	b.awaitRooms(0)
	if dirs, _ := filepath.Glob(filepath.Join(b.opt.StateDir, "rooms", "*")); len(dirs) != 1 {
		t.Errorf("%d journals are kept, want that of the untitled notebook: %v", len(dirs), dirs)
	}
	again := b.open(path)
	if again.ID() != file.ID() || fmt.Sprint(again.Notebook().Order()) != order || outputOf(again, cells[0]) != "of 42\n" || outputOf(again, "second") != "kept\n" {
		t.Errorf("the file reopens as %s with %v, %q", again.ID(), again.Notebook().Order(), outputOf(again, cells[0]))
	}
	if h := b.join(untitled.ID()); outputOf(h, cells[1]) != "of 42\n" {
		t.Errorf("the untitled notebook shows %q", outputOf(h, cells[1]))
	}
	if _, err := client.Join(b.ctx(), b.options("x"), ephemeral.ID()); domain.CodeOf(err) != domain.CodeNotebookUnavailable {
		t.Errorf("the ephemeral notebook: %v", err)
	}
	rec, err := client.ExecutionResult(b.ctx(), b.opt.Socket, domain.ExecutionID(done.ExecutionID))
	if err != nil || rec.Status != wire.StatusDone || len(rec.Outputs) != 1 {
		t.Errorf("the record of an execution in a closed notebook: %+v, %v", rec, err)
	}
}

// rounds is how often a test does what it does; RUNT_TEST_ROUNDS overrides it.
func rounds(t *testing.T, usual int) int {
	t.Helper()
	if v := os.Getenv("RUNT_TEST_ROUNDS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return usual
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestR08_NothingIsLeftOfNotebooksThatCameAndWent(t *testing.T) {
	b := newBed(t, shortLived(20*time.Millisecond))
	dir := t.TempDir()
	round := func(n int) {
		h := b.create(client.CreateOptions{})
		if got := b.eval(h, "1+1"); got != "2" {
			t.Fatalf("round %d: %q", n, got)
		}
		if resp := b.save(h, wire.Request{Path: filepath.Join(dir, fmt.Sprint(n, ".ipynb"))}); resp.Result != wire.ResultNotebookSaved {
			t.Fatalf("round %d: %s %s", n, resp.Result, resp.Raw)
		}
		closeHandle(t, h)
	}
	round(-1) // what is made once is made now
	b.awaitRooms(0)
	fds, routines := openFiles(t), runtime.NumGoroutine()
	n := rounds(t, 20)
	for i := range n {
		round(i)
	}
	b.awaitRooms(0)
	testenv.Await(t, b.ctx(), "kernels to end", func() bool { return len(b.kernels("")) == 0 })
	const slack = 5
	testenv.Await(t, b.ctx(), "files and goroutines to go back to the start", func() bool {
		return openFiles(t) <= fds+slack && runtime.NumGoroutine() <= routines+slack
	})
	if dirs, _ := filepath.Glob(filepath.Join(b.d.hostsDir(), "*")); len(dirs) > 0 {
		t.Errorf("folders of kernel hosts are left: %v", dirs)
	}
	if dirs, _ := filepath.Glob(filepath.Join(b.opt.StateDir, "rooms", "*")); len(dirs) > 0 {
		t.Errorf("journals are left: %d", len(dirs))
	}
	t.Logf("%d rounds: %d files before, %d after; %d goroutines before, %d after", n, fds, openFiles(t), routines, runtime.NumGoroutine())
}

func TestR09_PeersSeeEachOther(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{})
	cell := b.add(h, "1")
	other, err := client.Join(b.ctx(), b.options("other"), h.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.WaitFor(b.ctx(), func() bool { _, ok := other.Notebook().Cell(cell); return ok }); err != nil {
		t.Fatal(err)
	}
	h.SetFocus(cell)
	other.SetFocus(cell)
	for _, pair := range []struct {
		who  *client.Handle
		want string
	}{{h, "other"}, {other, "tester"}} {
		if err := pair.who.WaitFor(b.ctx(), func() bool {
			p := pair.who.Peers()
			return len(p) == 1 && p[0].Label == pair.want && p[0].Focus == cell
		}); err != nil {
			t.Errorf("%s is not seen: %v, %+v", pair.want, err, pair.who.Peers())
		}
	}
	closeHandle(t, other)
	if err := h.WaitFor(b.ctx(), func() bool { return len(h.Peers()) == 0 }); err != nil {
		t.Errorf("one that left is still seen: %v", err)
	}
}

func TestR10_TheListTellsPeersKernelAndState(t *testing.T) {
	b := newBed(t, shortLived(time.Hour))
	h := b.create(client.CreateOptions{})
	b.eval(h, "1")
	list := func() wire.RoomInfo {
		t.Helper()
		rooms, err := client.ListRooms(b.ctx(), b.opt.Socket)
		if err != nil || len(rooms) != 1 {
			t.Fatalf("%d rooms, %v", len(rooms), err)
		}
		return rooms[0]
	}
	got := list()
	if got.NotebookID != string(h.ID()) || got.ActivePeers != 1 || !got.HasKernel || got.KernelType != "python" || got.KernelStatus != "idle" ||
		got.State != wire.RoomActive || !got.Untitled || got.Cells != 2 || len(got.Peers) != 1 || got.Peers[0] != "tester" {
		t.Errorf("%+v", got)
	}
	gate := filepath.Join(t.TempDir(), "go")
	x, err := h.Execute(b.ctx(), b.add(h, fmt.Sprintf("import os, time\nwhile not os.path.exists(%q): time.sleep(.01)", gate)), "", client.ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Await(t, b.ctx(), "a busy kernel", func() bool { return list().KernelStatus == "busy" })
	writeNotebook(t, gate, "")
	if err := x.Wait(b.ctx()); err != nil {
		t.Fatal(err)
	}
	closeHandle(t, h)
	testenv.Await(t, b.ctx(), "an idle room", func() bool { return list().State == wire.RoomIdle && list().ActivePeers == 0 })
}

func TestR11_APanicInOneRoomIsItsOwn(t *testing.T) {
	b := newBed(t, nil)
	other := b.create(client.CreateOptions{})
	b.eval(other, "o = 1")
	h := b.create(client.CreateOptions{})
	cell := b.add(h, "import os\nv = 7\nprint('before', os.getpid())")
	before := text(b.run(h, cell))
	cells := h.Notebook().Len()
	arm(t, "roomactor/step/"+string(h.ID()), "1*panic(test)")
	// A timer of the room may trip over it first; then there is no connection to
	// send this by, and its error is the one awaited below.
	_, _ = h.Edit(b.ctx(), func(tx *notebook.Tx) error { return tx.SetSource(cell, "v = 8") })
	testenv.Receive(t, b.ctx(), "the end of the connection", errOnly(h.Done()))
	h2 := b.join(h.ID())
	if outputOf(h2, cell) != before || h2.Notebook().Len() < cells {
		t.Errorf("%d cells, output %q, want %d and %q", h2.Notebook().Len(), outputOf(h2, cell), cells, before)
	}
	if got := b.eval(h2, "print('before', os.getpid())\nv"); got != before+"7" {
		t.Errorf("the kernel says %q, want %q", got, before+"7")
	}
	if got := b.eval(other, "o + 1"); got != "2" || other.Err() != nil {
		t.Errorf("the other room says %q, %v", got, other.Err())
	}
	if pids := b.kernels(h.ID()); len(pids) != 1 {
		t.Errorf("kernels %v", pids)
	}
}

// A notebook in memory has nothing but what the failed room still held.
func TestR11_AnEphemeralRoomIsLoadedAgainToo(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{Ephemeral: true})
	cell := b.add(h, "v = 'there'\nprint(v)")
	b.run(h, cell)
	arm(t, "roomactor/step/"+string(h.ID()), "1*panic(test)")
	b.add(h, "wakes the room")
	testenv.Receive(t, b.ctx(), "the end of the connection", errOnly(h.Done()))
	h2 := b.join(h.ID())
	if got := b.eval(h2, "v"); got != "'there'" || outputOf(h2, cell) != "there\n" {
		t.Errorf("the kernel says %q, the cell shows %q", got, outputOf(h2, cell))
	}
}

// errOnly turns the closing of a channel into a value.
func errOnly(done <-chan struct{}) <-chan error {
	c := make(chan error, 1)
	go func() { <-done; c <- nil }()
	return c
}

func TestR11_ARoomThatFailsAgainAndAgainIsLeftAlone(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{})
	arm(t, "roomactor/step/"+string(h.ID()), "panic(always)")
	// A timer of the room may trip over it first; then there is no connection to send this by.
	_, _ = h.Edit(b.ctx(), func(tx *notebook.Tx) error { return tx.SetMetadata("wakes", "the room") })
	testenv.Await(t, b.ctx(), "the room's last failure", func() bool {
		b.d.rooms.mu.Lock()
		defer b.d.rooms.mu.Unlock()
		return len(b.d.rooms.faults[h.ID()]) == faultLimit+1 && b.d.rooms.rooms[h.ID()] == nil
	})
	failpoint.Clear("roomactor/step/" + string(h.ID()))
	if got := b.eval(b.join(h.ID()), "'well again'"); got != "'well again'" {
		t.Errorf("%q", got)
	}
}

func TestR12_TwoClientsAtBothEndsOfACell(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{})
	cell := b.add(h, "|")
	other := b.join(h.ID())
	if err := other.WaitFor(b.ctx(), func() bool { _, ok := other.Notebook().Cell(cell); return ok }); err != nil {
		t.Fatal(err)
	}
	const n = 200
	var wg sync.WaitGroup
	for who, front := range map[*client.Handle]bool{h: true, other: false} {
		wg.Go(func() {
			for i := range n {
				_, err := who.Edit(b.ctx(), func(tx *notebook.Tx) error {
					c, _ := who.Notebook().Cell(cell)
					at, ins := 0, fmt.Sprintf("<%d>", i)
					if !front {
						at, ins = len(c.Source), fmt.Sprintf("(%d)", i)
					}
					return tx.SpliceSource(cell, at, 0, ins)
				})
				if err != nil {
					t.Errorf("edit %d: %v", i, err)
				}
			}
			if err := who.Confirm(b.ctx()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want := len("|")
	for i := range n {
		want += 2 * len(fmt.Sprintf("<%d>", i))
	}
	for _, who := range []*client.Handle{h, other} {
		if err := who.WaitFor(b.ctx(), func() bool { c, _ := who.Notebook().Cell(cell); return len(c.Source) == want }); err != nil {
			t.Fatal(err)
		}
		c, _ := who.Notebook().Cell(cell)
		for i := range n {
			for _, ins := range []string{fmt.Sprintf("<%d>", i), fmt.Sprintf("(%d)", i)} {
				if strings.Count(c.Source, ins) != 1 {
					t.Fatalf("%s is there %d times", ins, strings.Count(c.Source, ins))
				}
			}
		}
	}
}
