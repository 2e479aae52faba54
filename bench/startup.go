package main

import (
	"context"
	"errors"
	"time"
)

// What starting may take.
const (
	startTarget = 1.1   // times the start of a kernel by jupyter_client
	listTarget  = 30000 // bytes
)

// benchStart measures from the start of a program to the first output of a new notebook.
func benchStart(ctx context.Context, o options, r *report) (err error) {
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
	const first = "print('hello')"
	subjects := []subject{
		{"jupyter_client: kernel start", func(int) (time.Duration, error) {
			out, err := floor.do(task{Do: "start"})
			return time.Duration(out.Seconds * float64(time.Second)), err
		}},
		{"kernel alone", func(int) (time.Duration, error) { return startOnce(ctx, b, first) }},
	}
	targets := map[string]*target{}
	for _, s := range servers {
		if !b.has(s.program) {
			continue
		}
		targets[s.name] = timesAtMost(startTarget)
		subjects = append(subjects, subject{s.name, func(int) (time.Duration, error) {
			began := time.Now()
			a, err := startAgent(b.command(ctx, s.program, s.args...))
			if err == nil {
				_, err = a.call("create_notebook", nil)
			}
			if err == nil {
				err = a.shows("hello", "create_cell", map[string]any{"source": first, "and_run": true, "timeout_secs": 120})
			}
			took := time.Since(began)
			return took, errors.Join(err, a.close(), b.endNotebooks(ctx))
		}})
	}
	o.rounds = slowRounds
	return o.compare(r, "spawn to first output", subjects, targets)
}

// startOnce starts a kernel of its own, runs code and ends it.
func startOnce(ctx context.Context, b *bed, code string) (time.Duration, error) {
	began := time.Now()
	k, err := startRawKernel(ctx, b.python, b.env)
	if err != nil {
		return 0, err
	}
	_, err = k.execute(code)
	return time.Since(began), errors.Join(err, k.close())
}

// benchTools measures the list of tools and the handshake.
func benchTools(ctx context.Context, o options, r *report) (err error) {
	b, err := o.startBed(ctx)
	if err != nil {
		return err
	}
	c := &closers{}
	c.add(b.close)
	defer c.close(&err)
	for _, s := range servers {
		if !b.has(s.program) {
			continue
		}
		var initialized, listed series
		size := 0
		for range slowRounds {
			began := time.Now()
			a, err := startAgent(b.command(ctx, s.program, s.args...))
			if err != nil {
				return failed(s.name, err)
			}
			initialized = append(initialized, time.Since(began))
			began = time.Now()
			raw, err := a.request("tools/list", struct{}{})
			listed = append(listed, time.Since(began))
			if err = errors.Join(err, a.close()); err != nil {
				return failed(s.name, err)
			}
			size = len(raw)
		}
		r.durations("tools", s.name+": spawn to initialized", initialized, nil, "", nil)
		r.durations("tools", s.name+": tools/list", listed, nil, "", nil)
		r.amount("tools", s.name+": tools/list result", unitBytes, 1, float64(size), atMost(listTarget))
	}
	return nil
}
