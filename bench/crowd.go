package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a crowd of agents over HTTP does.
const (
	crowdAgents  = 100             // each on a notebook of its own
	crowdRounds  = 100             // an edit and a read each
	crowdPause   = time.Second     // between the rounds of an agent, where they are paced
	pacedRounds  = 20              // of those
	crowdTarget  = 50.0            // ms, of the 99th percentile of an edit
	sharedAgents = 20              // on one notebook
	sharedRounds = 25              // cells each
	crowdLimit   = 4 * time.Minute // for all of it
)

// benchCrowd measures many agents over HTTP at once: all on notebooks of their
// own, as fast as they can and at a pace, and several on one. The notebooks have
// no kernels, which would take the machine for themselves.
func benchCrowd(ctx context.Context, o options, r *report) (err error) {
	ctx, cancel := context.WithTimeout(ctx, crowdLimit)
	defer cancel()
	b, w, c, err := o.startWeb(ctx)
	defer c.close(&err)
	if err != nil {
		return err
	}
	before, err := b.crowdMemory(w)
	if err != nil {
		return err
	}
	agents, err := b.assemble(ctx, w)
	if err != nil {
		return err
	}
	open, err := b.crowdMemory(w)
	if err != nil {
		return err
	}
	for _, run := range []struct {
		name   string
		rounds int
		pause  time.Duration
		target *target
	}{{"as fast as they can", crowdRounds, 0, nil}, {"one round a second each", pacedRounds, crowdPause, atMost(crowdTarget)}} {
		begun := time.Now()
		edits, reads, errs := together(ctx, agents, run.rounds, run.pause)
		if len(errs) > 0 {
			return fmt.Errorf("%d of %d calls failed, the first: %w", len(errs), 2*run.rounds*len(agents), errs[0])
		}
		name := fmt.Sprintf("%d agents, %s: ", len(agents), run.name)
		r.durations("crowd", name+"edit", edits, nil, "", nil)
		r.amount("crowd", name+"edit, 99 of 100 within", unitMS, len(edits), millis(edits.quantile(0.99)), run.target)
		r.durations("crowd", name+"read", reads, nil, "", nil)
		r.note("%s%d calls in %.1f s, %.0f a second, no error.", name, 2*len(edits), time.Since(begun).Seconds(), float64(2*len(edits))/time.Since(begun).Seconds())
	}
	after, err := b.crowdMemory(w)
	if err != nil {
		return err
	}
	for i, what := range []string{"daemon", "runt mcp --http"} {
		r.amount("crowd", what+" without agents", unitMB, 1, before[i], nil)
		r.amount("crowd", fmt.Sprintf("%s with %d agents on %d notebooks", what, crowdAgents, crowdAgents), unitMB, 1, open[i], nil)
		r.amount("crowd", what+" after their work", unitMB, 1, after[i], nil)
	}
	return nil
}

// startWeb starts a daemon and a server; closers end what has been started.
func (o options) startWeb(ctx context.Context) (*bed, *web, *closers, error) {
	c := &closers{}
	b, err := newBed(o.bin, o.python)
	if err != nil {
		return nil, nil, c, err
	}
	b.profiled()
	c.add(b.close)
	if err := b.start(ctx); err != nil {
		return nil, nil, c, err
	}
	w, err := b.serveWeb(ctx)
	if err == nil {
		c.add(w.close)
	}
	return b, w, c, err
}

// assemble begins the sessions, each with a notebook.
func (b *bed) assemble(ctx context.Context, w *web) ([]*webAgent, error) {
	agents := make([]*webAgent, crowdAgents)
	return agents, each(crowdAgents, func(i int) error {
		path := filepath.Join(b.dir, fmt.Sprintf("crowd%d.ipynb", i))
		if err := os.WriteFile(path, fmt.Appendf(nil, idleNotebook, i, i), 0o600); err != nil {
			return err
		}
		a, err := w.agent(ctx, fmt.Sprintf("agent-%d", i))
		if err != nil {
			return err
		}
		agents[i] = a
		_, err = a.call(ctx, "connect_notebook", map[string]any{"path": path})
		return err
	})
}

// each calls f for 0 to n-1, all at once.
func each(n int, f func(int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// together lets all agents edit and read, and returns how long each call took.
func together(ctx context.Context, agents []*webAgent, rounds int, pause time.Duration) (edits, reads series, errs []error) {
	var mu sync.Mutex // guards the results
	_ = each(len(agents), func(i int) error {
		a := agents[i]
		if pause > 0 { // they do not all begin in the same moment
			wait(ctx, pause*time.Duration(i)/time.Duration(len(agents)))
		}
		for n := range rounds {
			begun := time.Now()
			_, err1 := a.call(ctx, "set_cell", map[string]any{"cell_id": fmt.Sprintf("c%d", i), "source": fmt.Sprintf("round = %d", n)})
			edited := time.Now()
			_, err2 := a.call(ctx, "get_cell", map[string]any{"cell_id": fmt.Sprintf("c%d", i)})
			read := time.Now()
			mu.Lock()
			edits, reads = append(edits, edited.Sub(begun)), append(reads, read.Sub(edited))
			if err := errors.Join(err1, err2); err != nil {
				errs = append(errs, err)
			}
			mu.Unlock()
			wait(ctx, pause-time.Since(begun))
		}
		return nil
	})
	return edits, reads, errs
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// benchShared lets several agents insert cells into one notebook, and counts the cells.
func benchShared(ctx context.Context, o options, r *report) (err error) {
	ctx, cancel := context.WithTimeout(ctx, crowdLimit)
	defer cancel()
	b, w, c, err := o.startWeb(ctx)
	defer c.close(&err)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, "shared.ipynb")
	if err := os.WriteFile(path, fmt.Appendf(nil, idleNotebook, 0, 0), 0o600); err != nil {
		return err
	}
	var mu sync.Mutex // guards inserts
	var inserts series
	agents := make([]*webAgent, sharedAgents)
	err = each(sharedAgents, func(i int) error {
		a, err := w.agent(ctx, fmt.Sprintf("inserter-%d", i))
		if err != nil {
			return err
		}
		agents[i] = a
		_, err = a.call(ctx, "connect_notebook", map[string]any{"path": path})
		return err
	})
	if err != nil {
		return err
	}
	err = each(sharedAgents, func(i int) error {
		for n := range sharedRounds {
			begun := time.Now()
			if _, err := agents[i].call(ctx, "create_cell", map[string]any{"source": inserted(i, n)}); err != nil {
				return err
			}
			mu.Lock()
			inserts = append(inserts, time.Since(begun))
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := allThere(ctx, agents[0]); err != nil {
		return err
	}
	name := fmt.Sprintf("%d agents on one notebook: create_cell", sharedAgents)
	r.durations("shared", name, inserts, nil, "", nil)
	r.amount("shared", name+", 99 of 100 within", unitMS, len(inserts), millis(inserts.quantile(0.99)), nil)
	r.note("%d agents on one notebook: every one of %d inserted cells is there once.", sharedAgents, len(inserts))
	return nil
}

// inserted is the source of a cell, which is like no other.
func inserted(agent, round int) string { return fmt.Sprintf("cell_%d_of_%d_end", round, agent) }

// allThere says which inserted cells are missing or there twice.
func allThere(ctx context.Context, a *webAgent) error {
	const page = 50
	var all strings.Builder
	for start := 0; start < sharedAgents*sharedRounds+1; start += page {
		text, err := a.call(ctx, "get_all_cells", map[string]any{"start": start, "count": page})
		if err != nil {
			return err
		}
		all.WriteString(text)
	}
	var errs []error
	for i := range sharedAgents {
		for n := range sharedRounds {
			if found := strings.Count(all.String(), inserted(i, n)); found != 1 {
				errs = append(errs, fmt.Errorf("%s is there %d times", inserted(i, n), found))
			}
		}
	}
	return errors.Join(errs...)
}

// crowdMemory is what the daemon and the server have in memory, in MB.
func (b *bed) crowdMemory(w *web) (mb [2]float64, err error) {
	for i, pid := range []int{b.daemon.Process.Pid, w.cmd.Process.Pid} {
		out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(pid)).Output()
		if err != nil {
			return mb, fmt.Errorf("ask for memory: %w", err)
		}
		kb, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return mb, fmt.Errorf("read memory: %w", err)
		}
		mb[i] = kb / 1024
	}
	return mb, nil
}
