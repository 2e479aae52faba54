package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	keptCells = 30   // of each hand; older ones are deleted
	slowEvery = 8    // every so manieth run takes time
	slowLimit = 3000 // milliseconds, at most
)

// work is what the agent does, with several hands at once: one edits, one runs
// cells, one reads. What it did it remembers, to compare with what is there in the end.
type work struct {
	s    *stage
	a    *agent
	log  *diary
	pace time.Duration // between the calls of one hand

	run1   string // cell that is run again and again
	second string // another notebook, untitled
	target string // cell in the second one that grows by replace_match

	mu       sync.Mutex // guards what follows
	faults   []string
	cells    map[string]string // cell id → source that was answered for
	appended []int
	ran      []int
	number   atomic.Int64
}

var (
	cellID     = regexp.MustCompile(`cell-[0-9a-f-]{36}`)
	notebookID = regexp.MustCompile(`notebook ([0-9a-f-]{36})`)
)

// begin makes the notebooks and waits for their kernels.
func (w *work) begin(context.Context) error {
	w.cells = map[string]string{}
	made := w.do("create_notebook", map[string]any{}, 0)
	if id := notebookID.FindStringSubmatch(made.text); id != nil {
		w.second = id[1]
	}
	w.target = cellID.FindString(w.do("create_cell", map[string]any{"source": "# begin #end", "notebook": w.second}, 0).text)
	w.do("create_notebook", map[string]any{"path": filepath.Join(w.s.dir, "work", "soak.ipynb")}, 0)
	first := w.do("create_cell", map[string]any{"source": "total = 0\nimport time\nprint('begun')", "and_run": true, "timeout_secs": 300}, 0)
	w.remember(cellID.FindString(first.text), "begun")
	if !strings.Contains(first.text, "begun") {
		return fmt.Errorf("no kernel: %s", first.text)
	}
	w.run1 = cellID.FindString(w.do("create_cell", map[string]any{"source": "total += 1\nprint('total', total)"}, 0).text)
	if w.second == "" || w.target == "" || w.run1 == "" {
		return errors.New("the notebooks could not be made")
	}
	w.log.forget()
	return nil
}

// run works with all hands until ctx ends. Calls under way are waited for.
func (w *work) run(ctx context.Context) {
	var hands sync.WaitGroup
	for _, hand := range []func(*rand.Rand){w.editor(), w.runner(), w.reader()} {
		hands.Go(func() {
			tick := time.NewTicker(w.pace)
			defer tick.Stop()
			for rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)); ctx.Err() == nil; {
				hand(rnd)
				<-tick.C
			}
		})
	}
	hands.Wait()
}

// do calls a tool and notes how that went. slept is how long the work itself takes.
func (w *work) do(tool string, args map[string]any, slept time.Duration) result {
	began := time.Now()
	r := w.a.call(tool, args)
	w.log.called(tool, began, slept, r)
	return r
}

func (w *work) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// remember notes what a cell must hold in the end; "" that it must be gone.
func (w *work) remember(cell, source string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cells[cell] = source
}

func (w *work) editor() func(*rand.Rand) {
	var mine []string
	return func(rnd *rand.Rand) {
		n := int(w.number.Add(1))
		text := fmt.Sprintf("# edit %d", n)
		switch k := rnd.IntN(10); {
		case len(mine) > keptCells:
			if r := w.do("delete_cell", map[string]any{"cell_id": mine[0]}, 0); !r.lost {
				w.remember(mine[0], "")
				mine = mine[1:]
			}
		case k < 4 || len(mine) == 0:
			if id := cellID.FindString(w.do("create_cell", map[string]any{"source": text}, 0).text); id != "" {
				mine = append(mine, id)
				w.remember(id, text)
			}
		case k < 6:
			id := mine[rnd.IntN(len(mine))]
			w.do("set_cell", map[string]any{"cell_id": id, "source": text}, 0)
			w.remember(id, text)
		case k < 7:
			w.do("move_cell", map[string]any{"cell_id": mine[rnd.IntN(len(mine))], "after_cell_id": w.run1}, 0)
		case k < 9:
			w.do("replace_match", map[string]any{"cell_id": w.target, "notebook": w.second, "match": "#end", "content": fmt.Sprintf("+%d #end", n)}, 0)
			w.mu.Lock()
			w.appended = append(w.appended, n)
			w.mu.Unlock()
		default:
			w.do("save_notebook", map[string]any{}, 0)
		}
	}
}

func (w *work) runner() func(*rand.Rand) {
	var mine []string
	total, runs := 0, 0
	return func(rnd *rand.Rand) {
		if len(mine) > keptCells {
			w.do("delete_cell", map[string]any{"cell_id": mine[0]}, 0)
			w.remember(mine[0], "")
			mine = mine[1:]
			return
		}
		n, sleep := int(w.number.Add(1)), 0
		if runs++; runs%slowEvery == 0 {
			sleep = rnd.IntN(slowLimit)
		}
		code := fmt.Sprintf("time.sleep(%d / 1000)\nwith open(%q, 'a') as f: f.write('%d\\n')\nprint('ran', %d)", sleep, w.s.counter, n, n)
		slept := time.Duration(sleep) * time.Millisecond
		switch rnd.IntN(3) {
		case 0:
			total++
			r := w.do("execute_cell", map[string]any{"cell_id": w.run1}, 0)
			if !strings.Contains(r.text, fmt.Sprintf("total %d\n", total)) && !strings.HasSuffix(r.text, fmt.Sprintf("total %d", total)) {
				w.fault("run %d of the counting cell gave %q", total, r.text)
			}
			return
		case 1:
			w.check(n, w.do("execute_code", map[string]any{"code": code, "timeout_secs": 60}, slept))
		default:
			r := w.do("create_cell", map[string]any{"source": code, "and_run": true, "timeout_secs": 60}, slept)
			w.check(n, r)
			if id := cellID.FindString(r.text); id != "" {
				mine = append(mine, id)
				w.remember(id, code)
			}
		}
	}
}

// check notes an execution and looks at its answer.
func (w *work) check(n int, r result) {
	if want := fmt.Sprintf("ran %d", n); !strings.Contains(r.text, want) {
		w.fault("execution %d gave %q", n, r.text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ran = append(w.ran, n)
}

func (w *work) reader() func(*rand.Rand) {
	return func(rnd *rand.Rand) {
		switch rnd.IntN(4) {
		case 0:
			w.do("get_all_cells", map[string]any{}, 0)
		case 1:
			if r := w.do("get_cell", map[string]any{"cell_id": w.run1}, 0); !strings.Contains(r.text, "total += 1") {
				w.fault("get_cell gave %q", r.text)
			}
		case 2:
			w.do("get_all_cells", map[string]any{"notebook": w.second, "view": "source"}, 0)
		default:
			if r := w.do("list_notebooks", map[string]any{}, 0); !strings.Contains(r.text, "soak.ipynb") {
				w.fault("list_notebooks gave %q", r.text)
			}
		}
	}
}

// judge compares what is there with what was answered.
func (w *work) judge(context.Context) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	faults := w.faults
	lines, err := os.ReadFile(w.s.counter)
	if err != nil {
		faults = append(faults, err.Error())
	}
	faults = append(faults, compare("execution", strings.Fields(string(lines)), w.ran)...)
	grown := w.a.call("get_cell", map[string]any{"cell_id": w.target, "notebook": w.second, "full_output": true}).text
	var found []string
	for _, m := range regexp.MustCompile(`\+(\d+) `).FindAllStringSubmatch(grown, -1) {
		found = append(found, m[1])
	}
	faults = append(faults, compare("replacement", found, w.appended)...)
	for id, source := range w.cells {
		r := w.a.call("get_cell", map[string]any{"cell_id": id, "outputs": false})
		switch {
		case source == "" && !r.refused:
			faults = append(faults, fmt.Sprintf("cell %s was deleted and is there", id))
		case source != "" && !strings.Contains(r.text, source):
			faults = append(faults, fmt.Sprintf("cell %s should hold %q: %s", id, source, r.text))
		}
	}
	return append(faults, w.compareMap()...)
}

// compareMap looks for cells that nobody has asked for: a create that was done twice.
func (w *work) compareMap() []string {
	var faults []string
	for start := 0; ; {
		text := w.a.call("get_all_cells", map[string]any{"start": start}).text
		ids := cellID.FindAllString(text, -1)
		for _, id := range ids {
			if _, ok := w.cells[id]; !ok && id != w.run1 {
				w.cells[id] = ""
				faults = append(faults, "an unknown cell is there: "+id)
			}
		}
		start += len(ids)
		if len(ids) == 0 || !strings.Contains(text, "start=") {
			return faults
		}
	}
}

// compare tells what was done more than once, not at all, or without being asked for.
func compare(what string, found []string, wanted []int) []string {
	var faults []string
	count := map[string]int{}
	for _, f := range found {
		count[f]++
	}
	for _, n := range wanted {
		if c := count[strconv.Itoa(n)]; c != 1 {
			faults = append(faults, fmt.Sprintf("%s %d was done %d times", what, n, c))
		}
		delete(count, strconv.Itoa(n))
	}
	for f := range count {
		faults = append(faults, fmt.Sprintf("%s %s was done and never answered for", what, f))
	}
	slices.Sort(faults)
	return faults
}
