package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"time"
)

const (
	handCells = 150 // that a hand creates; afterwards it changes them
	runLimit  = 60  // seconds until a run is answered as running
	maxPrints = 12
)

var (
	executionID = regexp.MustCompile(`· execution (\S+)`)
	printed     = regexp.MustCompile(`<(\d+):(\d+)>`)
)

// hand does one thing after the other: it edits, or runs.
type hand struct {
	c    *chaos
	a    *agent
	rnd  *rand.Rand
	turn func(*hand)
	mine []string
}

// run works until ctx ends. A call under way is waited for.
func (h *hand) run(ctx context.Context) {
	tick := time.NewTicker(h.c.pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		h.turn(h)
		<-tick.C
	}
}

// runNote is an acknowledged execution.
type runNote struct {
	n, prints   int
	id, book    string
	began, over time.Time
	told        int // lines in the first answer
	status      string
	excused     bool // its kernel's host was killed
}

// edit creates a cell, changes one of its own, or saves.
func (c *chaos) edit(h *hand) {
	n := int(c.number.Add(1))
	text := fmt.Sprintf("# chaos %d\n# %s <&> \"ü\" \\n\n# end %d", n, strings.Repeat("x", h.rnd.IntN(300)), n)
	switch k := h.rnd.IntN(10); {
	case k == 0:
		c.save(h)
	case len(h.mine) < handCells && (k < 5 || len(h.mine) == 0):
		book := c.books[h.rnd.IntN(len(c.books))]
		c.created(h, n, book, text, c.do(h.a, "create_cell", map[string]any{"notebook": book, "source": text}), nil)
	default:
		id := h.mine[h.rnd.IntN(len(h.mine))]
		c.set(h, n, id, text, nil)
	}
}

// created notes what came of a create.
func (c *chaos) created(h *hand, n int, book, text string, r result, ran *runNote) {
	id := cellID.FindString(r.text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.refused || r.lost || id == "" {
		c.texts[text] = true
		return
	}
	if c.cells[id] != nil {
		c.twice = append(c.twice, fmt.Sprintf("create %d was answered with cell %s of another create", n, id))
	}
	h.mine = append(h.mine, id)
	c.cells[id] = &cellNote{book: book, acked: text, n: n, ran: ran}
	c.edits.Add(1)
}

// set changes a cell, and runs it when run is given.
func (c *chaos) set(h *hand, n int, id, text string, run *runNote) {
	c.mu.Lock()
	cell := c.cells[id]
	cell.maybe = append(cell.maybe, text)
	c.mu.Unlock()
	args := map[string]any{"notebook": cell.book, "cell_id": id, "source": text}
	if run != nil {
		args["and_run"], args["timeout_secs"] = true, runLimit
		run.book, run.began = cell.book, time.Now()
	}
	r := c.do(h.a, "set_cell", args)
	if run != nil && !c.ran(run, r) {
		run = nil
	}
	if r.refused || r.lost {
		c.mu.Lock()
		cell.ran = nil
		c.mu.Unlock()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cell.acked, cell.n, cell.maybe, cell.ran = text, n, nil, run
	c.edits.Add(1)
}

// execute runs code that counts and prints.
func (c *chaos) execute(h *hand) {
	n := int(c.number.Add(1))
	run := &runNote{n: n, prints: 1 + h.rnd.IntN(maxPrints), book: c.books[h.rnd.IntN(len(c.books))], began: time.Now()}
	code := fmt.Sprintf("# chaos %d\nimport time\nwith open(%q, 'a') as f: f.write('%d\\n')\nfor k in range(%d):\n    print(f'<%d:{k}>', flush=True)\n    time.sleep(%d / 1000)",
		n, c.s.counter, n, run.prints, n, h.rnd.IntN(150))
	switch k := h.rnd.IntN(3); {
	case k == 0:
		c.ran(run, c.do(h.a, "execute_code", map[string]any{"notebook": run.book, "code": code, "timeout_secs": runLimit}))
	case k == 1 && len(h.mine) > 0 || len(h.mine) >= handCells:
		c.set(h, n, h.mine[h.rnd.IntN(len(h.mine))], code, run)
	default:
		r := c.do(h.a, "create_cell", map[string]any{"notebook": run.book, "source": code, "and_run": true, "timeout_secs": runLimit})
		if c.ran(run, r) {
			c.created(h, n, run.book, code, r, run)
		} else {
			c.created(h, n, run.book, code, r, nil)
		}
	}
}

// ran notes an execution, if that was acknowledged.
func (c *chaos) ran(run *runNote, r result) bool {
	run.over = time.Now()
	id := executionID.FindStringSubmatch(r.text)
	if r.refused || r.lost || id == nil {
		return false
	}
	run.id, run.told = id[1], len(printed.FindAllString(r.text, -1))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = append(c.runs, run)
	return true
}

// save saves the notebook with a file and looks whether that holds what was
// acknowledged before.
func (c *chaos) save(h *hand) {
	c.mu.Lock()
	before := map[string]int{}
	for id, cell := range c.cells {
		if cell.book == c.books[0] {
			before[id] = cell.n
		}
	}
	c.mu.Unlock()
	if r := c.do(h.a, "save_notebook", map[string]any{"notebook": c.books[0]}); r.refused || r.lost {
		return
	}
	c.saves.Add(1)
	cells, err := readCells(c.file)
	if err != nil {
		c.note(&c.halves, "after a save: %v", err)
		return
	}
	for _, cell := range cells {
		if n, ok := before[cell.ID]; ok && numberOf(cell.source()) >= n {
			delete(before, cell.ID)
		}
	}
	for id, n := range maps.All(before) {
		c.note(&c.lost, "cell %s with text %d was acknowledged, then a save, and the file does not hold it", id, n)
	}
}

// numberOf returns the number of a text of ours, -1 for any other.
func numberOf(source string) int {
	n := -1
	if _, err := fmt.Sscanf(source, "# chaos %d\n", &n); err != nil {
		return -1
	}
	return n
}

// counted returns how often each execution has written its number.
func (c *chaos) counted() (map[int]int, error) {
	text, err := os.ReadFile(c.s.counter)
	if err != nil {
		return nil, err
	}
	count := map[int]int{}
	for f := range strings.FieldsSeq(string(text)) {
		n := -1
		if _, err := fmt.Sscan(f, &n); err != nil {
			return nil, fmt.Errorf("the counter file holds %q", f)
		}
		count[n]++
	}
	return count, nil
}
