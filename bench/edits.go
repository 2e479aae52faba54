package main

import (
	"context"
	"time"
)

// editTarget is what an edit may take, in ms, until it is on disk.
const editTarget = 2.0

// benchEdits measures the tools that change a notebook and wait for the disk.
func benchEdits(ctx context.Context, o options, r *report) (err error) {
	b, err := o.startBed(ctx)
	if err != nil {
		return err
	}
	c := &closers{}
	c.add(b.close)
	defer c.close(&err)
	names, agents, err := b.agents(ctx)
	if err != nil {
		return err
	}
	var subjects []subject
	targets := map[string]*target{}
	for i, a := range agents {
		c.add(a.close)
		if err := a.openNotebook(); err != nil {
			return failed(names[i], err)
		}
		cell, err := a.newCell("0")
		if err != nil {
			return failed(names[i], err)
		}
		for _, t := range []struct {
			tool   string
			target *target
			args   func(int) map[string]any
		}{
			{"create_cell", atMost(editTarget), func(i int) map[string]any { return map[string]any{"source": code(i)} }},
			{"set_cell", atMost(editTarget), func(i int) map[string]any { return map[string]any{"cell_id": cell, "source": code(i)} }},
			{"get_cell", nil, func(int) map[string]any { return map[string]any{"cell_id": cell} }},
		} {
			name := names[i] + ": " + t.tool
			targets[name] = t.target
			subjects = append(subjects, subject{name, timed(func(i int) error { _, err := a.call(t.tool, t.args(i)); return err })})
		}
	}
	const section = "edit, until it is on disk"
	for _, pace := range []struct {
		section string
		gap     time.Duration
		targets map[string]*target
	}{{section + ", one after another", 0, targets}, {section + ", with a pause before each", o.gap, nil}} {
		all, err := inTurns(subjects, o.rounds, o.warmup(), pace.gap)
		if err != nil {
			return err
		}
		for i, s := range subjects {
			r.durations(pace.section, s.name, all[i], nil, "", pace.targets[s.name])
		}
	}
	return nil
}
