package proxy

import (
	"errors"
	"sync"
	"time"

	"runt/internal/proxy/core"
	"runt/internal/proxy/rpcline"
	"runt/internal/supervise"
)

const (
	// drainLimit is how long after a child's end its stdout is still read. What it
	// wrote is in the pipe already; only a grandchild can hold the pipe open.
	drainLimit = 300 * time.Millisecond
	// brokenLimit is how long a child may live on after it has closed stdin or stdout.
	brokenLimit = time.Second
)

// process is a running child with its two lanes.
type process struct {
	gen   int
	child *supervise.Child
	in    *rpcline.Writer

	broken    chan struct{} // closed by breakOff: one of its pipes is of no use any more
	breakOnce sync.Once
	lost      chan struct{} // closed by lose: it could not be ended
	loseOnce  sync.Once
}

func (p *process) breakOff() { p.breakOnce.Do(func() { close(p.broken) }) }

func (p *process) lose() { p.loseOnce.Do(func() { close(p.lost) }) }

// start makes the process that the core asked for, and stays with it.
func (r *runner) start(e core.StartChild) {
	path, args, err := r.o.Command()
	if path != "" {
		r.watchProgram(path)
	}
	var p *process
	if err == nil {
		p, err = r.spawn(e, path, args)
	}
	if err != nil {
		r.post(message{ev: core.ChildFailed{Gen: e.Gen, Err: err}})
		return
	}
	r.follow(p)
}

// spawn starts the process and tells. Its program is hashed beside that, unless
// it has been; a replacement between the look and the hash is seen as one.
func (r *runner) spawn(e core.StartChild, path string, args []string) (*process, error) {
	seen, sum, err := r.sums.Sight(path)
	if err != nil {
		return nil, err
	}
	child, err := supervise.Start(supervise.Command{
		Path: path, Args: args, Env: childEnviron(r.o.Environ, e.Env), Dir: r.o.Dir, Stderr: r.o.ChildLog,
	})
	if err != nil {
		return nil, err
	}
	p := &process{gen: e.Gen, child: child, broken: make(chan struct{}), lost: make(chan struct{})}
	p.in = rpcline.NewWriter(child.Stdin(), func(error) { p.breakOff() })
	r.post(message{ev: core.ChildStarted{Gen: e.Gen, PID: child.PID(), Path: path, Sum: sum}, proc: p})
	if sum == "" {
		r.work.Go(func() { r.hash(e.Gen, seen) })
	}
	return p, nil
}

// replaced stands for the sum of a program that was replaced before it could be hashed.
const replaced = "replaced"

func (r *runner) hash(gen int, seen supervise.Sighting) {
	sum, err := r.sums.SumOf(seen)
	switch {
	case errors.Is(err, supervise.ErrChanged):
		sum = replaced
	case err != nil:
		r.o.Logger.Warn("the program cannot be hashed", "err", err)
		return
	}
	r.post(message{ev: core.ChildProgram{Gen: gen, Sum: sum}})
}

// watchProgram makes the watch look at path. Without a watch the program is
// still compared at every start.
func (r *runner) watchProgram(path string) {
	if r.watch != nil {
		if r.watch.Path() == path {
			return
		}
		r.watch.Close()
		r.watch = nil
	}
	w, err := supervise.WatchProgram(path, &r.sums, r.o.Logger, func(sum string) {
		r.post(message{ev: core.ProgramFound{Sum: sum}})
	})
	if err != nil {
		r.o.Logger.Warn("the program cannot be watched", "err", err)
		return
	}
	r.watch = w
}

// follow reads what the child writes until its end, and tells that.
func (r *runner) follow(p *process) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.readChild(p)
		p.breakOff()
	}()
	exit := r.awaitEnd(p)
	within(read, drainLimit)
	p.child.Stdout().Close()
	<-read
	p.child.Stdin().Close()
	p.in.Close(0)
	r.post(message{ev: core.ChildExited{Gen: p.gen, Exit: exit}})
}

// awaitEnd waits for the end of a process. One that has closed its pipes is helped along.
func (r *runner) awaitEnd(p *process) supervise.Exit {
	select {
	case <-p.child.Done():
	case <-p.lost:
	case <-p.broken:
		if !within(p.child.Done(), brokenLimit) {
			r.o.Logger.Warn("child has closed a pipe and lives on", "gen", p.gen, "child_pid", p.child.PID())
			r.end(p, r.limits().QuickGrace)
		}
	}
	select {
	case <-p.child.Done():
		return p.child.Exit()
	case <-p.lost:
		return supervise.Exit{Code: -1, Ending: supervise.EndedUnreapable}
	}
}

// end ends the process, after what is queued for it has gone out. One that
// cannot be ended is given up.
func (r *runner) end(p *process, g supervise.Grace) {
	start := time.Now()
	p.in.Close(g.EOF)
	g.EOF = max(0, g.EOF-time.Since(start))
	if e := p.child.End(g); e.Ending == supervise.EndedUnreapable {
		r.o.Logger.Error("child cannot be ended", "gen", p.gen, "child_pid", p.child.PID())
		p.lose()
	}
}

func (r *runner) readChild(p *process) {
	lines := rpcline.NewReader(p.child.Stdout(), maxChildLine)
	for {
		line, err := lines.Next()
		if err != nil {
			if isTooLong(err) { // an answer is lost; only a new child can give it
				r.o.Logger.Error("child wrote a line that is too long", "gen", p.gen, "err", err)
				p.child.End(r.limits().QuickGrace)
			}
			return
		}
		r.client.WaitBelow(clientBacklog)
		r.post(message{ev: core.ChildLine{Gen: p.gen, Line: line}})
	}
}

func (r *runner) toChild(e core.SendChild) {
	p := r.proc
	if p == nil || p.gen != e.Gen {
		return
	}
	if p.in.Queued() > childBacklog {
		p.breakOff()
		return
	}
	_ = p.in.Send(e.Line) // a broken child is noticed by its follower
}

func (r *runner) limits() core.Limits {
	if r.o.Core.Limits == (core.Limits{}) {
		return core.DefaultLimits()
	}
	return r.o.Core.Limits
}

// within waits for c up to limit and returns whether it came.
func within(c <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

func isTooLong(err error) bool { return errors.Is(err, rpcline.ErrTooLong) }
