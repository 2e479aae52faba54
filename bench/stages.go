package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"runt/internal/trace"
)

// stages says where the time of an execution goes.
type stages struct {
	Title string  `json:"title"`
	N     int     `json:"n"`
	Total float64 `json:"total_p50_ms"`
	Raw   float64 `json:"raw_p50_ms,omitempty"`
	List  []stage `json:"stages"`
}

// stage is the time between two points that an execution passes.
type stage struct {
	Name    string  `json:"name"`
	OffPath bool    `json:"off_path,omitempty"` // nobody waits for it
	P50     float64 `json:"p50_ms"`
	P95     float64 `json:"p95_ms"`
	Min     float64 `json:"min_ms"`
}

// Points that the benchmark itself marks.
const (
	pointBegin = "bench.begin"
	pointEnd   = "bench.end"
)

// leg is a stage as it is found in a trace: from the last mark of one point to
// the next of another.
type leg struct {
	name     string
	from, to string
	offPath  bool
}

// answerLegs are the stages from the client's request to its answer.
var answerLegs = []leg{
	{"daemon: receive, apply the edit", "client.request", "room.request", false},
	{"daemon: decide", "room.request", "room.dispatch", false},
	{"to the kernel host, to the kernel", "room.dispatch", "host.sent", false},
	{"kernel", "host.sent", "host.done", false},
	{"back to the daemon", "host.done", "room.ended", false},
	{"daemon: decide the answer, queue it", "room.ended", "room.answer", false},
	{"answer to the client", "room.answer", "client.answer", false},
}

var closeLegs = []leg{
	{"daemon: close (documents, journal)", "room.answer", "room.closed", true},
	{"client: takes the documents in", "room.closed", "client.state", true},
}

var clientLegs = slices.Concat([]leg{{"client: edit, commit, send", pointBegin, "client.request", false}},
	answerLegs, []leg{{"client: wake up", "client.answer", pointEnd, false}}, closeLegs)

var mcpLegs = slices.Concat([]leg{{"MCP: line to request", pointBegin, "client.request", false}},
	answerLegs, []leg{{"MCP: answer to line", "client.answer", pointEnd, false}}, closeLegs)

// editLegs are the stages of a tool that changes the notebook and waits for the disk.
var editLegs = []leg{
	{"MCP: line to edit", pointBegin, "client.edit", false},
	{"client: edit, commit, send", "client.edit", "client.edited", false},
	{"to the daemon", "client.edited", "room.arrived", false},
	{"daemon: apply", "room.arrived", "room.applied", false},
	{"daemon: journal on disk, acknowledge", "room.applied", "client.response", false},
	{"MCP: answer to line", "client.response", pointEnd, false},
}

// benchStages measures where the time goes, with all programs tracing.
func benchStages(ctx context.Context, o options, r *report) (err error) {
	b, err := newBed(o.bin, o.python)
	if err != nil {
		return err
	}
	c := &closers{}
	c.add(b.close)
	c.add(trace.Off)
	defer c.close(&err)
	if err := b.traced(); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	raw, err := startRawKernel(ctx, o.python, b.env)
	if err != nil {
		return err
	}
	c.add(raw.close)
	d, err := b.openDirect(ctx)
	c.add(d.close)
	if err != nil {
		return err
	}
	a, err := startAgent(b.command(ctx, servers[0].program, servers[0].args...))
	if err != nil {
		return err
	}
	c.add(a.close)
	if err := a.openNotebook(); err != nil {
		return err
	}
	cell, err1 := a.newCell("1+1")
	edited, err2 := a.newCell("0")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	const ours, mcp, create, set = "internal/client", "runt_mcp", "create_cell", "set_cell"
	all, err := inTurns([]subject{
		{rawName, timed(func(i int) error { _, err := raw.execute(code(i)); return err })},
		{ours, marked(ours, func(i int) error { return d.run(ctx, i) })},
		{mcp, marked(mcp, func(int) error { return a.shows("2", "execute_cell", map[string]any{"cell_id": cell}) })},
		{create, marked(create, func(i int) error { _, err := a.call(create, map[string]any{"source": code(i)}); return err })},
		{set, marked(set, func(i int) error {
			_, err := a.call(set, map[string]any{"cell_id": edited, "source": code(i)})
			return err
		})},
	}, o.rounds, o.warmup(), o.gap)
	if err != nil {
		return err
	}
	notes, err := trace.Read(b.dir)
	if err != nil {
		return err
	}
	r.Stages = append(r.Stages,
		findStages("where an execution's time goes: our client, edit and execute", notes, ours, clientLegs, all[1], all[0]),
		findStages("where an execution's time goes: runt mcp, execute_cell", notes, mcp, mcpLegs, all[2], all[0]),
		findStages("where an edit's time goes: runt mcp, create_cell", notes, create, editLegs, all[3], nil),
		findStages("where an edit's time goes: runt mcp, set_cell", notes, set, editLegs, all[4], nil))
	return nil
}

// marked times work and marks its begin and its end in the trace.
func marked(subject string, work func(int) error) func(int) (time.Duration, error) {
	return timed(func(round int) error {
		trace.Mark(pointBegin, subject)
		err := work(round)
		trace.Mark(pointEnd, subject)
		return err
	})
}

// findStages takes the last executions of a subject, as many as total has, out of a trace.
func findStages(title string, notes []trace.Note, subject string, legs []leg, total, raw series) stages {
	runs := split(notes, subject)
	runs = runs[max(0, len(runs)-len(total)):]
	s := stages{Title: title, N: len(runs), Total: millis(total.p50()), Raw: millis(raw.p50())}
	for _, l := range legs {
		var took series
		for _, run := range runs {
			if d, ok := l.find(run); ok {
				took = append(took, d)
			}
		}
		if len(took) > 0 {
			s.List = append(s.List, stage{l.name, l.offPath, millis(took.p50()), millis(took.p95()), millis(took.min())})
		}
	}
	return s
}

// split cuts a trace into the runs of a subject, each up to the next begin of whatever.
func split(notes []trace.Note, subject string) (runs [][]trace.Note) {
	from := -1
	for i, n := range notes {
		if n.Point != pointBegin {
			continue
		}
		if from >= 0 {
			runs = append(runs, notes[from:i])
		}
		if from = -1; n.Subject == subject {
			from = i
		}
	}
	if from >= 0 {
		runs = append(runs, notes[from:])
	}
	return runs
}

// find returns the time of a leg in a run: up to the first mark of its end
// after the first mark of its begin.
func (l leg) find(run []trace.Note) (time.Duration, bool) {
	i := slices.IndexFunc(run, func(n trace.Note) bool { return n.Point == l.from })
	if i < 0 {
		return 0, false
	}
	for _, n := range run[i+1:] {
		if n.Point == l.to {
			return time.Duration(n.At - run[i].At), true
		}
	}
	return 0, false
}

func (s stages) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n", s.Title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "  stage\tp50\tp95\tmin\t")
	sum := 0.0
	for _, x := range s.List {
		where := ""
		if x.OffPath {
			where = "nobody waits for it"
		} else {
			sum += x.P50
		}
		fmt.Fprintf(tw, "  %s\t%.2f ms\t%.2f ms\t%.2f ms\t%s\n", x.Name, x.P50, x.P95, x.Min, where)
	}
	fmt.Fprintf(tw, "  sum of those waited for\t%.2f ms\t\t\t\n", sum)
	beside := ""
	if s.Raw > 0 {
		beside = fmt.Sprintf("of a raw kernel in the same run: %.2f ms, ratio %.2f", s.Raw, s.Total/s.Raw)
	}
	fmt.Fprintf(tw, "  total, p50 of %d\t%.2f ms\t\t\t%s\n", s.N, s.Total, beside)
	return tw.Flush()
}
