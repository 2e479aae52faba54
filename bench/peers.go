package main

import (
	"context"
	"path/filepath"
	"time"
)

const (
	peerTarget  = 15.0             // ms, from execute to its result in nteract's Python client
	peerDivisor = 4                // the peers are slower, so they get that many fewer rounds
	peerSettle  = 45 * time.Second // for nteract's daemon to make the environments that it keeps ready
)

// benchPeers measures an execution through nteract's Python client, on its own
// daemon and on ours. Without nteract's programs it measures nothing.
func benchPeers(ctx context.Context, o options, r *report) (err error) {
	if o.peers == "" {
		r.note("nteract was not measured: RUNT_PEERS names no folder of its programs.")
		return nil
	}
	ours, err := o.startBed(ctx)
	if err != nil {
		return err
	}
	c := &closers{}
	c.add(ours.close)
	defer c.close(&err)
	theirs, err := newBed(o.bin, o.python)
	if err != nil {
		return err
	}
	c.add(theirs.close)
	theirs.env = append(theirs.env, "HOME="+theirs.dir)
	if err := theirs.start(ctx, filepath.Join(o.peers, "bin", "daemon"), theirs.socket); err != nil {
		return failed("nteract's daemon", err)
	}
	raw, err := startRawKernel(ctx, o.python, ours.env)
	if err != nil {
		return err
	}
	c.add(raw.close)
	subjects := []subject{{rawName, timed(func(i int) error { _, err := raw.execute(code(i)); return err })}}
	for _, p := range []struct {
		name string
		bed  *bed
	}{{"Python client, our daemon", ours}, {"Python client, nteract's daemon", theirs}} {
		h, err := startHelper(ctx, filepath.Join(o.peers, "bin", "python"), peerScript, append(p.bed.env, "HOME="+theirs.dir))
		if err != nil {
			return failed(p.name, err)
		}
		c.add(h.close)
		if _, err := h.do(task{Do: "start"}); err != nil {
			return failed(p.name, err)
		}
		subjects = append(subjects, subject{p.name, h.runs(code)})
	}
	select {
	case <-time.After(peerSettle):
	case <-ctx.Done():
		return ctx.Err()
	}
	o.rounds = max(1, o.rounds/peerDivisor)
	return o.compare(r, "nteract's Python client, execute to result", subjects, map[string]*target{subjects[1].name: atMost(peerTarget)})
}
