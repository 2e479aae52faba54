package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mourning is how long after the death of a host an execution may still meet it.
const mourning = 10 * time.Second

// savedCell is a cell in a notebook file.
type savedCell struct {
	ID      string   `json:"id"`
	Source  lineList `json:"source"`
	Outputs []struct {
		Text lineList `json:"text"`
	} `json:"outputs"`
}

func (c savedCell) source() string { return strings.Join(c.Source, "") }

// lineList is a text in a notebook file: a list of lines, or one string.
type lineList []string

// UnmarshalJSON takes both forms.
func (l *lineList) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*l = lineList{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(l))
}

func readCells(path string) ([]savedCell, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var book struct {
		Format int         `json:"nbformat"`
		Cells  []savedCell `json:"cells"`
	}
	if err := json.Unmarshal(text, &book); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if book.Format != 4 {
		return nil, fmt.Errorf("%s: nbformat %d", filepath.Base(path), book.Format)
	}
	return book.Cells, nil
}

// prove compares what is there with what was acknowledged.
func (c *chaos) prove(a *agent) {
	count, err := c.counted()
	if err != nil {
		c.note(&c.lost, "%v", err)
	}
	c.mu.Lock()
	runs := slices.Clone(c.runs)
	c.mu.Unlock()
	for _, run := range runs {
		c.proveRun(a, run, count[run.n])
		delete(count, run.n)
	}
	for n, times := range count {
		if times > 1 {
			c.note(&c.twice, "execution %d, not acknowledged, was done %d times", n, times)
		}
	}
	untitled := filepath.Join(c.s.dir, "work", "untitled.ipynb")
	for i, args := range []map[string]any{{}, {"path": untitled}} {
		args["notebook"] = c.books[i]
		if r := c.do(a, "save_notebook", args); r.refused || r.lost {
			c.note(&c.lost, "the last save: %s", r.text)
			continue
		}
		cells, err := readCells([]string{c.file, untitled}[i])
		if err != nil {
			c.note(&c.halves, "after the last save: %v", err)
			continue
		}
		c.proveBook(c.books[i], cells)
	}
	for id, cell := range c.cells {
		r := c.do(a, "get_cell", map[string]any{"notebook": cell.book, "cell_id": id, "outputs": false, "full_output": true})
		if r.refused || r.lost || !slices.ContainsFunc(append(cell.maybe, cell.acked), func(t string) bool { return strings.Contains(r.text, t) }) {
			c.note(&c.lost, "get_cell %s should give %q: %q", id, cell.acked, r.text)
		}
	}
}

// proveRun looks at an execution: its end, its lines, and how often it was done.
func (c *chaos) proveRun(a *agent, run *runNote, done int) {
	for _, k := range c.hosts {
		if k.book == run.book && !k.at.After(run.over) && run.began.Before(k.at.Add(mourning)) {
			run.excused = true
		}
	}
	r := c.do(a, "get_results", map[string]any{"notebook": run.book, "execution_id": run.id, "wait_secs": runLimit, "full_output": true})
	if r.refused || r.lost {
		c.note(&c.lost, "execution %d (%s) is not known: %s", run.n, run.id, r.text)
		return
	}
	head, _, _ := strings.Cut(r.text, "\n")
	if parts := strings.Split(head, " · "); len(parts) > 1 {
		run.status = parts[1]
	}
	whole := run.status == "done"
	if !whole && !run.excused {
		c.note(&c.lost, "execution %d (%s) ended as %q: %.300s", run.n, run.id, run.status, r.text)
	}
	if done > 1 {
		c.note(&c.twice, "execution %d (%s) was done %d times", run.n, run.id, done)
	}
	if done == 0 && whole {
		c.note(&c.lost, "execution %d (%s) was not done", run.n, run.id)
	}
	c.proveLines(fmt.Sprintf("execution %d (%s)", run.n, run.id), run, whole, r.text)
}

// proveLines wants every line of an execution once and in order: all of them, or
// at least those of the first answer when its kernel died.
func (c *chaos) proveLines(what string, run *runNote, whole bool, text string) {
	seen := map[string]int{}
	for _, l := range printed.FindAllString(text, -1) {
		seen[l]++
	}
	least := run.told
	if whole {
		least = run.prints
	}
	for k := range run.prints {
		line := fmt.Sprintf("<%d:%d>", run.n, k)
		switch times := seen[line]; {
		case times > 1:
			c.note(&c.twice, "%s: line %s is there %d times", what, line, times)
		case times == 0 && k < least:
			c.note(&c.lost, "%s (%s): line %s is not there", what, run.status, line)
		}
		delete(seen, line)
	}
	for _, line := range slices.Sorted(maps.Keys(seen)) {
		c.note(&c.other, "%s: line %s is of another", what, line)
	}
}

// proveBook compares a saved notebook with what was acknowledged for it.
func (c *chaos) proveBook(book string, cells []savedCell) {
	found, texts := map[string]int{}, map[string]int{}
	for _, s := range cells {
		found[s.ID]++
		texts[s.source()]++
		cell := c.cells[s.ID]
		switch {
		case cell == nil && c.texts[s.source()]: // made, though the answer was an error
		case cell == nil && s.source() == "": // a notebook begins with an empty cell, and texts are counted below
		case cell == nil:
			c.note(&c.twice, "cell %s holds %q and was not asked for", s.ID, s.source())
		case s.source() != cell.acked && !slices.Contains(cell.maybe, s.source()):
			c.note(&c.lost, "cell %s in the file holds %q, acknowledged was %q", s.ID, s.source(), cell.acked)
		case cell.ran != nil && cell.ran.status == "done":
			var out strings.Builder
			for _, o := range s.Outputs {
				out.WriteString(strings.Join(o.Text, ""))
			}
			c.proveLines("in the file, cell "+s.ID, cell.ran, true, out.String())
		}
	}
	for text, times := range texts {
		if times > 1 {
			c.note(&c.twice, "%d cells hold %q", times, text)
		}
	}
	for id, cell := range c.cells {
		if cell.book != book || found[id] == 1 {
			continue
		}
		if found[id] > 1 {
			c.note(&c.twice, "cell %s is %d times in the file", id, found[id])
			continue
		}
		c.note(&c.lost, "cell %s with %q is not in the file", id, cell.acked)
	}
}

// report prints the summary, and fails when anything is not as it should be.
func (c *chaos) report(w io.Writer, left []string) error {
	kills, refused, unanswered := map[string]int{}, map[string]int{}, 0
	for _, e := range c.log.events {
		kills[e.text]++
	}
	for _, n := range c.log.calls {
		switch {
		case n.lost:
			unanswered++
		case n.refused != "":
			if len(refused) < shown && refused[n.tool] < 3 {
				fmt.Fprintf(w, "REFUSED %s at %s after %v: %.300q\n", n.tool, c.log.at(n.began), n.took.Round(time.Millisecond), n.refused)
			}
			refused[n.tool]++
		}
	}
	lines, byHost := 0, 0
	for _, r := range c.runs {
		if r.status == "done" {
			lines += r.prints
			continue
		}
		byHost++
		lines += r.told
	}
	fmt.Fprintf(w, "killed: the daemon %d times, a session layer %d times, a kernel host %d times\n", kills["kill -9 "+daemonName], kills["kill -9 "+sessionLayer], kills["kill -9 "+hostName])
	fmt.Fprintf(w, "calls: %d, refused %v, unanswered %d\n", len(c.log.calls), refused, unanswered)
	fmt.Fprintf(w, "acknowledged: %d edits in %d cells, %d executions (%d ended otherwise than done), %d lines, %d saves\n", c.edits.Load(), len(c.cells), len(c.runs), byHost, lines, c.saves.Load())
	fmt.Fprintf(w, "the file was read %d times while it was written\n", c.polls.Load())
	fmt.Fprintf(w, "lost %d, twice %d, halves %d, left over %d, other faults %d\n", len(c.lost), len(c.twice), len(c.halves), len(left), len(c.other)+unanswered)
	n := unanswered
	for _, list := range [][]string{c.lost, c.twice, c.halves, left, c.other} {
		n += len(list)
		for _, f := range list[:min(shown, len(list))] {
			fmt.Fprintln(w, "FAULT:", f)
		}
	}
	if n > 0 {
		return fmt.Errorf("%d faults", n)
	}
	if len(c.runs) == 0 || c.edits.Load() == 0 || c.saves.Load() == 0 {
		return errors.New("nothing was acknowledged, so nothing is proved")
	}
	return nil
}
