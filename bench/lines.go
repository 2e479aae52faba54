package main

import (
	"context"
	"fmt"
	"strings"
)

const (
	manyLines   = "for i in range(100000): print(i)"
	lastLine    = "99999"
	linesTarget = 1.3  // times jupyter_client
	replyTarget = 8000 // bytes to the model
	slowRounds  = 10   // of what takes about a second
)

// benchLines measures a flood of output.
func benchLines(ctx context.Context, o options, r *report) (err error) {
	b, err := o.startBed(ctx)
	if err != nil {
		return err
	}
	c := &closers{}
	c.add(b.close)
	defer c.close(&err)
	floor, err := startHelper(ctx, o.python, floorScript, b.env)
	if err != nil {
		return err
	}
	c.add(floor.close)
	if _, err := floor.do(task{Do: "start"}); err != nil {
		return failed("jupyter_client", err)
	}
	flood := func(int) string { return manyLines }
	subjects := []subject{{"jupyter_client", floor.runs(flood)}}
	raw, err := startRawKernel(ctx, o.python, b.env)
	if err != nil {
		return err
	}
	c.add(raw.close)
	subjects = append(subjects, subject{rawName, timed(func(int) error { _, err := raw.execute(manyLines); return err })})
	names, agents, err := b.agents(ctx)
	if err != nil {
		return err
	}
	size := map[string]int{}
	for i, a := range agents {
		c.add(a.close)
		if err := a.openNotebook(); err != nil {
			return failed(names[i], err)
		}
		cell, err := a.newCell(manyLines)
		if err != nil {
			return failed(names[i], err)
		}
		subjects = append(subjects, subject{names[i], timed(func(int) error {
			got, err := a.call("execute_cell", map[string]any{"cell_id": cell, "timeout_secs": 120})
			if err == nil && !strings.Contains(got.text, lastLine) {
				err = fmt.Errorf("the last line is not shown: %s", got.text)
			}
			size[names[i]] = got.bytes
			return err
		})})
	}
	all, err := inTurns(subjects, slowRounds, 1, o.gap)
	if err != nil {
		return err
	}
	const section = "100,000 printed lines"
	r.durations(section, subjects[0].name, all[0], nil, "", nil)
	r.durations(section, rawName, all[1], all[0], subjects[0].name, nil)
	for i, name := range names {
		r.durations(section, name, all[i+2], all[0], subjects[0].name, timesAtMost(linesTarget))
	}
	for _, name := range names {
		r.amount(section, name+": result", unitBytes, 1, float64(size[name]), atMost(replyTarget))
	}
	return nil
}
