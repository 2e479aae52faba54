package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chaosAgents = 2
	pollEvery   = 5 * time.Millisecond // how often the file is read while it is written
)

// chaos is what `make chaos` runs: two agents on two notebooks, and what they
// were answered.
type chaos struct {
	s      *stage
	agents []*agent
	log    *diary
	pace   time.Duration
	file   string   // of the first notebook
	books  []string // ids: with a file, untitled

	number atomic.Int64 // of texts and executions; none is used twice
	saves  atomic.Int64
	edits  atomic.Int64
	polls  atomic.Int64

	mu     sync.Mutex // guards what follows
	cells  map[string]*cellNote
	texts  map[string]bool // of creates that were not acknowledged
	runs   []*runNote
	hosts  []hostKill
	lost   []string
	twice  []string
	halves []string
	other  []string // what else the agents should not have seen
}

// cellNote is what a cell must hold: the text that was acknowledged last, or one
// of a later edit that was not.
type cellNote struct {
	book  string
	acked string
	n     int // number of acked
	maybe []string
	ran   *runNote // the execution whose outputs the cell shows
}

// hostKill is the death of a kernel host.
type hostKill struct {
	book string
	at   time.Time
}

// runChaos prepares, lets agents and killer work, and proves that nothing was lost.
func runChaos(ctx context.Context, o options) (err error) {
	s, err := prepare(o)
	if err != nil {
		return err
	}
	c := &chaos{s: s, log: &diary{began: time.Now()}, pace: o.pace, file: filepath.Join(s.dir, "work", "chaos.ipynb"), cells: map[string]*cellNote{}, texts: map[string]bool{}}
	err = c.play(ctx, o)
	for _, a := range c.agents {
		c.other = append(c.other, a.faults()...)
		if err := a.close(); err != nil {
			c.other = append(c.other, err.Error())
		}
	}
	over := context.WithoutCancel(ctx)
	err = errors.Join(err, s.stop(over))
	left := s.leftOver(over)
	return errors.Join(err, c.report(os.Stdout, left), s.remove())
}

// play is what happens until the processes are ended.
func (c *chaos) play(ctx context.Context, o options) error {
	for range chaosAgents {
		a, err := start(c.s)
		if err != nil {
			return err
		}
		c.agents = append(c.agents, a)
	}
	if err := c.begin(); err != nil {
		return err
	}
	fmt.Printf("%v of work by %d agents on 2 notebooks; daemon, session layers and kernel hosts are killed; folder %s\n", o.duration, chaosAgents, c.s.dir)
	working, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	polling, enough := context.WithCancel(context.WithoutCancel(ctx))
	var others, hands sync.WaitGroup
	others.Go(func() { c.poll(polling) })
	others.Go(func() { c.kill(working) })
	for i, a := range c.agents {
		for _, h := range []*hand{{c: c, a: a, turn: c.edit}, {c: c, a: a, turn: c.execute}} {
			h.rnd = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(i)))
			hands.Go(func() { h.run(working) })
		}
	}
	hands.Wait()
	c.prove(c.agents[0])
	enough()
	others.Wait()
	return nil
}

// begin makes the notebooks, waits for their kernels and joins the other agents.
func (c *chaos) begin() error {
	for _, args := range []map[string]any{{"path": c.file}, {}} {
		made := c.do(c.agents[0], "create_notebook", args)
		id := notebookID.FindStringSubmatch(made.text)
		if id == nil {
			return fmt.Errorf("no notebook: %s", made.text)
		}
		c.books = append(c.books, id[1])
		first := c.do(c.agents[0], "execute_code", map[string]any{"notebook": id[1], "code": "print('begun')", "timeout_secs": 300})
		if !strings.Contains(first.text, "begun") {
			return fmt.Errorf("no kernel: %s", first.text)
		}
	}
	for _, a := range c.agents[1:] {
		for _, id := range c.books {
			if r := c.do(a, "connect_notebook", map[string]any{"notebook_id": id}); r.refused || r.lost {
				return fmt.Errorf("no notebook for the second agent: %s", r.text)
			}
		}
	}
	if r := c.do(c.agents[0], "save_notebook", map[string]any{"notebook": c.books[0]}); r.refused || r.lost {
		return fmt.Errorf("not saved: %s", r.text)
	}
	c.log.forget()
	return nil
}

// do calls a tool and notes how that went.
func (c *chaos) do(a *agent, tool string, args map[string]any) result {
	began := time.Now()
	r := a.call(tool, args)
	c.log.called(tool, began, 0, r)
	return r
}

func (c *chaos) note(list *[]string, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
}

// poll reads the file all the time: whoever opens it must find a whole notebook.
func (c *chaos) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last []byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		text, err := os.ReadFile(c.file)
		c.polls.Add(1)
		switch {
		case err != nil:
			c.note(&c.halves, "the file is not there: %v", err)
		case bytes.Equal(text, last):
		case !json.Valid(text) || !bytes.Contains(text, []byte(`"nbformat"`)):
			c.note(&c.halves, "%d bytes are no notebook: ...%.100q", len(text), text[max(0, len(text)-100):])
		}
		last = text
	}
}
