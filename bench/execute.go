package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/wire"
)

// What an execution may take, and what it is compared with.
const (
	rawName   = "raw kernel"
	mcpTarget = 1.5 // times the raw kernel
)

// code differs in every round, so that an edit is one.
func code(round int) string { return fmt.Sprintf("%d+1", round) }

// direct is our own client in this process.
type direct struct {
	engine *automerge.Engine
	h      *client.Handle
	cell   domain.CellID
}

func (b *bed) engine() *automerge.Engine {
	cache := filepath.Join(b.dir, "wasm")
	return automerge.Open(automerge.Options{CacheDir: cache})
}

// openDirect makes a notebook with a kernel that has run something.
func (b *bed) openDirect(ctx context.Context) (*direct, error) {
	d := &direct{engine: b.engine(), cell: "bench"}
	h, err := client.Create(ctx, client.Options{Socket: b.socket, Engine: d.engine, Operator: "agent:bench"}, client.CreateOptions{WorkingDir: b.dir})
	if err != nil {
		return d, err
	}
	d.h = h
	_, err = h.Edit(ctx, func(tx *notebook.Tx) error {
		return tx.AddCell(notebook.NewCell{ID: d.cell, Type: "code", Source: "1+1"}, notebook.Last)
	})
	if err == nil {
		_, err = d.execute(ctx)
	}
	return d, err
}

// run edits the cell, executes it, and waits for the direct answer.
func (d *direct) run(ctx context.Context, round int) error {
	_, err := d.h.Edit(ctx, func(tx *notebook.Tx) error { return tx.SetSource(d.cell, code(round)) })
	if err != nil {
		return err
	}
	_, err = d.execute(ctx)
	return err
}

func (d *direct) execute(ctx context.Context) (domain.ExecutionID, error) {
	e, err := d.h.Execute(ctx, d.cell, "", client.ExecuteOptions{})
	if err != nil {
		return "", err
	}
	if err := e.Wait(ctx); err != nil {
		return "", err
	}
	if r := e.Result(); r.Status != wire.StatusDone || len(r.Outputs) > 1 {
		return "", fmt.Errorf("execution ended as %q with %d outputs", r.Status, len(r.Outputs))
	}
	return e.ID, nil
}

func (d *direct) close() error {
	var err error
	if d.h != nil {
		err = d.h.Close()
	}
	return errors.Join(err, d.engine.Close())
}

// benchExecute measures an execution of a sum, through everything there is, in turns.
func benchExecute(ctx context.Context, o options, r *report) (err error) {
	b, err := o.startBed(ctx)
	if err != nil {
		return err
	}
	c := &closers{}
	c.add(b.close)
	defer c.close(&err)

	var subjects []subject
	add := func(name string, run func(int) (time.Duration, error)) {
		subjects = append(subjects, subject{name, run})
	}
	raw, err := startRawKernel(ctx, o.python, b.env)
	if err != nil {
		return err
	}
	c.add(raw.close)
	add(rawName, timed(func(i int) error { _, err := raw.execute(code(i)); return err }))
	floor, err := startHelper(ctx, o.python, floorScript, b.env)
	if err != nil {
		return err
	}
	c.add(floor.close)
	if _, err := floor.do(task{Do: "start"}); err != nil {
		return failed("jupyter_client", err)
	}
	add("jupyter_client", floor.runs(code))
	d, err := b.openDirect(ctx)
	c.add(d.close)
	if err != nil {
		return failed("internal/client", err)
	}
	add("our client: edit, execute, answer", timed(func(i int) error { return d.run(ctx, i) }))
	names, agents, err := b.agents(ctx)
	for i, a := range agents {
		c.add(a.close)
		if err = errors.Join(err, a.openNotebook()); err != nil {
			return failed(names[i], err)
		}
		cell, err1 := a.newCell("1+1")
		edited, err2 := a.newCell("1+1")
		if err := errors.Join(err1, err2); err != nil {
			return failed(names[i], err)
		}
		add(names[i]+": execute_cell", timed(func(int) error { return a.shows("2", "execute_cell", map[string]any{"cell_id": cell}) }))
		add(names[i]+": set_cell and run", timed(func(i int) error {
			return a.shows(fmt.Sprint(i+1), "set_cell", map[string]any{"cell_id": edited, "source": code(i), "and_run": true})
		}))
	}
	if err != nil {
		return err
	}
	targets := map[string]*target{
		"our client: edit, execute, answer": timesAtMost(mcpTarget), "runt mcp: execute_cell": timesAtMost(mcpTarget),
		"runt-mcp-proxy: execute_cell": timesAtMost(mcpTarget),
	}
	all, err := inTurns(subjects, o.rounds, o.warmup(), o.gap)
	if err != nil {
		return err
	}
	r.beside("execute 1+1", subjects, all, 0, targets)
	r.beside("the same beside jupyter_client, which is what people have without us", subjects, all, 1, targets)
	return nil
}

// compare measures subjects in turns and reports each beside the first.
func (o options) compare(r *report, section string, subjects []subject, targets map[string]*target) error {
	all, err := inTurns(subjects, o.rounds, o.warmup(), o.gap)
	if err == nil {
		r.beside(section, subjects, all, 0, targets)
	}
	return err
}

// beside reports what was measured of the subjects from number base on, as ratios to that one.
func (r *report) beside(section string, subjects []subject, all []series, base int, targets map[string]*target) {
	for i := base; i < len(subjects); i++ {
		name := ""
		if i > base {
			name = subjects[base].name
		}
		r.durations(section, subjects[i].name, all[i], all[base], name, targets[subjects[i].name])
	}
}
