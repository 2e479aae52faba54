package daemon

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/ipynb"
	"runt/internal/notebook"
	"runt/internal/runtimestate"
	"runt/internal/testenv"
	"runt/internal/wire"
)

// killsEnv says how often the daemon is killed, instead of as often as the usual time allows.
const (
	killsEnv  = "RUNT_TEST_KILLS"
	killsTime = 15 * time.Second
)

// promise is what the daemon acknowledged about a cell.
type promise struct {
	confirmed string          // the source that is certain
	since     map[string]bool // what was sent after it
}

// run is an execution that the daemon acknowledged.
type ran struct {
	id    domain.ExecutionID
	cell  domain.CellID
	want  string // what it prints
	known bool   // the end was told
}

// victim is a daemon that is killed again and again, its client, and what that was promised.
type victim struct {
	*real
	rnd   *rand.Rand
	path  string
	id    domain.NotebookID
	h     *client.Handle
	cells []domain.CellID
	said  map[domain.CellID]*promise
	runs  []ran
	saves int
	done  int // operations
	tok   int
}

func TestD01_NothingAcknowledgedIsLostToKill9(t *testing.T) {
	v := &victim{real: newReal(t), rnd: rand.New(rand.NewPCG(1, 2)), said: map[domain.CellID]*promise{}}
	v.path = filepath.Join(t.TempDir(), "victim.ipynb")
	writeNotebook(t, v.path, twoCells)
	v.h = v.must(client.Open(v.ctx(), v.options(), v.path, client.OpenOptions{}))
	v.id = v.h.ID()
	testenv.Await(t, v.ctx(), "the kernel", func() bool { return v.kernelPID(v.id) != 0 })
	pid := v.kernelPID(v.id)
	stop := v.watchFile()
	kills, limit := 0, 0
	if n := os.Getenv(killsEnv); n != "" {
		var err error
		if limit, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	for ; limit == 0 && time.Since(begun) < killsTime || kills < limit; kills++ {
		v.workUntilKilled()
		v.start()
		v.h = v.must(client.Join(v.ctx(), v.options(), v.id))
		v.check(false)
	}
	stop()
	v.check(true)
	if now := v.kernelPID(v.id); now != pid {
		t.Errorf("the kernel is %d, was %d", now, pid)
	}
	t.Logf("%d kills, %d operations, %d executions and %d saves acknowledged, in %s", kills, v.done, len(v.runs), v.saves, time.Since(begun).Round(time.Second))
}

// watchFile reads the file all the time: it is one whole version at any moment.
func (v *victim) watchFile() (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			data, err := os.ReadFile(v.path)
			if err != nil {
				v.t.Errorf("read the file: %v", err)
				return
			}
			f, err := ipynb.Parse(data, nil)
			if err != nil || len(f.Cells) < 2 || f.Cells[1].ID != "second" {
				v.t.Errorf("the file is not whole: %v\n%s", err, data)
				return
			}
		}
	})
	return func() { close(quit); wg.Wait() }
}

// workUntilKilled works with the notebook and kills the daemon in the middle of it.
func (v *victim) workUntilKilled() {
	v.t.Helper()
	killed := make(chan struct{})
	wait := time.NewTimer(time.Duration(v.rnd.IntN(120)) * time.Millisecond)
	go func() {
		defer close(killed)
		<-wait.C
		_ = v.cmd.Process.Kill() // it cannot have ended by itself
	}()
	for v.h.Err() == nil {
		v.operate()
	}
	<-killed
	v.stopped()
	_ = v.h.Close()
}

func (v *victim) stopped() {
	_ = v.cmd.Wait() // killed
	for _, line := range strings.Split(v.log.String(), "\n") {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			v.t.Errorf("the daemon's log has: %s", line)
		}
	}
}

// operate does one thing that a client does, and notes what it was promised.
func (v *victim) operate() {
	v.done++
	switch n := v.rnd.IntN(10); {
	case n < 4:
		v.edit()
	case n < 8:
		v.token()
		lines, pause := 1+v.rnd.IntN(20), ""
		if v.rnd.IntN(3) == 0 {
			pause = "; time.sleep(.003)"
		}
		want := ""
		for i := range lines {
			want += fmt.Sprintf("%d-%d\n", v.tok, i)
		}
		v.execute(fmt.Sprintf("import time\nfor i in range(%d): print('%d-%%d' %% i, flush=True)%s", lines, v.tok, pause), want)
	default:
		resp, err := v.h.Request(v.ctx(), wire.Request{Action: wire.ActionSaveNotebook})
		if err == nil && resp.Result == wire.ResultNotebookSaved {
			v.saves++
		}
	}
}

func (v *victim) token() int { v.tok++; return v.tok }

// edit changes or adds a cell.
func (v *victim) edit() {
	source := fmt.Sprintf("# edit %d", v.token())
	var cell domain.CellID
	if len(v.cells) < 20 {
		cell = domain.CellID(fmt.Sprintf("cell-%d", v.token()))
		v.cells = append(v.cells, cell)
		v.said[cell] = &promise{since: map[string]bool{}}
	} else {
		cell = v.cells[v.rnd.IntN(len(v.cells))]
	}
	v.write(cell, source)
}

func (v *victim) write(cell domain.CellID, source string) bool {
	p := v.said[cell]
	p.since[source] = true
	_, err := v.h.Edit(v.ctx(), func(tx *notebook.Tx) error {
		if _, ok := v.h.Notebook().Cell(cell); ok {
			return tx.SetSource(cell, source)
		}
		return tx.AddCell(notebook.NewCell{ID: cell, Source: source}, notebook.Last)
	})
	if err == nil && v.h.Confirm(v.ctx()) == nil {
		p.confirmed, p.since = source, map[string]bool{}
		return true
	}
	return false
}

// execute runs code in a cell of its own kind and follows it to its end.
func (v *victim) execute(code, want string) {
	cell := domain.CellID(fmt.Sprintf("run-%d", v.rnd.IntN(6)))
	if v.said[cell] == nil {
		v.said[cell] = &promise{since: map[string]bool{}}
	}
	if !v.write(cell, code) {
		return
	}
	id := domain.ExecutionID(domain.DerivedUUID("victim", strconv.Itoa(v.token())))
	x, err := v.h.Execute(v.ctx(), cell, id, client.ExecuteOptions{})
	if err != nil {
		return
	}
	if x.ID != id {
		return // the cell was running already
	}
	v.runs = append(v.runs, ran{id: id, cell: cell, want: want})
	if v.rnd.IntN(4) == 0 {
		return // do something else meanwhile
	}
	if x.Wait(v.ctx()) == nil {
		if got := text(x.Result()); want != "" && got != want {
			v.t.Errorf("the answer of %s is %q, want %q", id, got, want)
		}
		v.runs[len(v.runs)-1].known = true
	}
}

// check compares what is there with what was promised; all looks at every execution, else the last few.
func (v *victim) check(everything bool) {
	v.t.Helper()
	for cell, p := range v.said {
		c, ok := v.h.Notebook().Cell(cell)
		if p.confirmed == "" && !ok {
			continue
		}
		if !ok || c.Source != p.confirmed && !p.since[c.Source] {
			v.t.Fatalf("cell %s is %q (there: %v), %q was acknowledged", cell, c.Source, ok, p.confirmed)
		}
		p.confirmed, p.since = c.Source, map[string]bool{}
	}
	last := v.runs
	if !everything {
		last = last[max(0, len(last)-6):]
	}
	for _, r := range last {
		status, got := v.result(r.id)
		if r.want != "" && (status != wire.StatusDone || got != r.want) {
			v.t.Fatalf("execution %s of %s is %s %q, want %q\nlog of the daemon:\n%s", r.id, r.cell, status, got, r.want, v.log)
		}
	}
	if data, err := os.ReadFile(v.path); err != nil || !json.Valid(data) {
		v.t.Fatalf("the file: %v, %d bytes", err, len(data))
	}
}

// result waits for the end of an execution and returns what it printed.
func (v *victim) result(id domain.ExecutionID) (status, printed string) {
	v.t.Helper()
	var rec wire.ExecutionRecord
	testenv.Await(v.t, v.ctx(), "the end of execution "+string(id), func() bool {
		var err error
		if rec, err = client.ExecutionResult(v.ctx(), v.socket, id); err != nil {
			v.t.Fatalf("execution %s was acknowledged: %v", id, err)
		}
		return runtimestate.Terminal(rec.Status)
	})
	return rec.Status, text(wire.ExecutionDone{Outputs: rec.Outputs})
}

func TestK01_ACellThatPrintsThroughRestartsHasEachLineOnce(t *testing.T) {
	r := newReal(t)
	h := r.must(client.Create(r.ctx(), r.options(), client.CreateOptions{}))
	v := &victim{real: r, h: h, id: h.ID(), rnd: rand.New(rand.NewPCG(3, 4)), said: map[domain.CellID]*promise{"run-0": {since: map[string]bool{}}}}
	pid := func() string {
		cell := domain.CellID("pid")
		v.said[cell] = &promise{since: map[string]bool{}}
		if !v.write(cell, "import os\nv = globals().get('v', 'first')\nprint(os.getpid(), v)\nv = 'kept'") {
			t.Fatal("no edit")
		}
		x, err := v.h.Execute(v.ctx(), cell, "", client.ExecuteOptions{})
		if err == nil {
			err = x.Wait(v.ctx())
		}
		if err != nil || x.Result().Status != wire.StatusDone {
			t.Fatalf("%v, %+v", err, x.Result())
		}
		return text(x.Result())
	}
	before := pid()
	const lines = 400
	v.write("run-0", fmt.Sprintf("import time\nfor i in range(%d):\n    print(i, end=['\\n', ' \\n'][i %% 2], flush=True)\n    time.sleep(.005)", lines))
	id := domain.ExecutionID(domain.DerivedUUID("k01"))
	x, err := v.h.Execute(v.ctx(), "run-0", id, client.ExecuteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kills := 0
	for ; kills < 20; kills++ {
		select {
		case <-x.Done():
		case <-time.After(time.Duration(50+v.rnd.IntN(150)) * time.Millisecond):
		}
		rec, err := client.ExecutionResult(v.ctx(), v.socket, id)
		if err != nil {
			t.Fatal(err)
		}
		if runtimestate.Terminal(rec.Status) {
			break
		}
		r.stop(syscall.SIGKILL)
		r.start()
		v.h = r.must(client.Join(v.ctx(), r.options(), v.id))
		// The call that was cut off is sent again: it finds its own execution.
		if x, err = v.h.Execute(v.ctx(), "run-0", id, client.ExecuteOptions{Idempotent: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Wait(v.ctx()); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range lines {
		want += fmt.Sprint(i, []string{"\n", " \n"}[i%2])
	}
	if got := text(x.Result()); got != want {
		t.Errorf("after %d kills the cell has %q", kills, got)
	}
	if after := pid(); strings.Fields(after)[0] != strings.Fields(before)[0] || strings.Fields(after)[1] != "kept" {
		t.Errorf("the kernel says %q, before %q", after, before)
	}
	if kills == 0 {
		t.Error("the cell was too fast to be interrupted by a restart")
	}
	t.Logf("%d kills while it printed", kills)
}

func TestD06_SIGTERMSavesWhatWasAcknowledged(t *testing.T) {
	r := newReal(t)
	path := filepath.Join(t.TempDir(), "n.ipynb")
	writeNotebook(t, path, twoCells)
	h := r.must(client.Open(r.ctx(), r.options(), path, client.OpenOptions{}))
	v := &victim{real: r, h: h, rnd: rand.New(rand.NewPCG(5, 6)), said: map[domain.CellID]*promise{"first": {since: map[string]bool{}}, "second": {since: map[string]bool{}}}}
	if !v.write("second", "print('out', 6*7)") {
		t.Fatal("not confirmed")
	}
	x, err := h.Execute(r.ctx(), "second", "", client.ExecuteOptions{})
	if err == nil {
		err = x.Wait(r.ctx())
	}
	if err != nil {
		t.Fatal(err)
	}
	if !v.write("first", "x = 'at the last moment'") {
		t.Fatal("not confirmed")
	}
	r.stop(syscall.SIGTERM)
	got := read(t, path)
	for _, want := range []string{"x = 'at the last moment'", `"out 42\n"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the file:\n%s", want, got)
		}
	}
	r.start() // so that the kernel is taken back and ended
}
