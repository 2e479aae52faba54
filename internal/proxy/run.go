package proxy

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"runt/internal/proxy/core"
	"runt/internal/proxy/rpcline"
	"runt/internal/supervise"
)

const (
	// clientBacklog is how many bytes may wait for a slow client before reading stops.
	clientBacklog = 64 << 20
	// childBacklog is how many bytes may wait for a child before it is taken for dead.
	childBacklog = 512 << 20
	// maxChildLine is the longest line a child may write.
	maxChildLine = 256 << 20
	// flushLimit is how long the last lines may take to reach the client.
	flushLimit = 2 * time.Second
	// readerLimit is how long the end of a reader is waited for.
	readerLimit = 200 * time.Millisecond
)

// Options says what to run and for whom.
type Options struct {
	Core core.Config // Rand and NewSession are required

	In  io.Reader // from the client; closed at the end if it can be
	Out io.Writer // to the client; closed, if it can be, when the client does not take the last lines

	// Command returns the program of the next child and its arguments. It is asked
	// at every start. With an error it may still return the path where the program should be.
	Command  func() (path string, args []string, err error)
	Environ  []string  // of the child; the rejoin variables are replaced
	Dir      string    // of the child, "" means ours
	ChildLog io.Writer // gets the child's stderr
	Status   *StatusFile
	Logger   *slog.Logger
}

// Run serves one client until its input ends, ctx ends, or it can no longer be
// written to. It returns the exit code.
func Run(ctx context.Context, o Options) int {
	r := &runner{o: o, core: core.New(o.Core), events: make(chan message, 64), quit: make(chan struct{})}
	r.client = rpcline.NewWriter(o.Out, func(err error) { r.post(message{ev: core.ClientGone{}, err: err}) })
	r.timer = time.NewTimer(time.Hour)
	defer r.timer.Stop()
	reader := make(chan struct{})
	go func() {
		defer close(reader)
		r.readClient()
	}()
	r.loop(ctx)
	r.close(reader)
	return r.code
}

// message is an event, with what the loop itself must know about it.
type message struct {
	ev   core.Event
	proc *process // with ChildStarted
	err  error    // for the log
}

type runner struct {
	o      Options
	events chan message
	quit   chan struct{} // closed when the loop has ended
	client *rpcline.Writer
	work   sync.WaitGroup // starters, enders, child readers
	sums   supervise.Fingerprints
	watch  *supervise.Watch // used by the one starter there is at a time, and after the loop

	// The loop's own.
	core     *core.Core
	proc     *process
	timer    *time.Timer
	counts   core.Counts // with revision and told: of the status last written
	revision int
	told     time.Time
	done     bool
	code     int
}

// post hands an event to the loop. After the loop's end it goes nowhere.
func (r *runner) post(m message) {
	select {
	case r.events <- m:
	case <-r.quit:
	}
}

func (r *runner) loop(ctx context.Context) {
	defer close(r.quit)
	stop := ctx.Done()
	for !r.done {
		select {
		case m := <-r.events:
			if m.err != nil {
				r.o.Logger.Warn("client or child went away", "err", m.err)
			}
			if m.proc != nil {
				r.proc = m.proc
			}
			r.handle(m.ev)
		case <-r.timer.C:
			r.handle(core.Tick{})
		case <-stop:
			stop = nil
			r.client.Unbound()
			r.handle(core.Stop{})
		}
	}
}

// handle gives the core an event and does what it says. A panic in it is logged
// and survived: the next event finds the state as the panic left it, which is
// better for the client than no proxy.
func (r *runner) handle(ev core.Event) {
	defer func() {
		if p := recover(); p != nil {
			r.o.Logger.Error("panic", "value", p, "stack", string(debug.Stack()))
		}
	}()
	now := time.Now()
	if _, eof := ev.(core.ClientEOF); eof {
		r.client.Unbound()
	}
	for _, e := range r.core.Handle(now, ev) {
		r.perform(e)
	}
	r.alarm(now, r.report(now))
}

// alarm sets the timer to what is due first: the core's deadline, or a report.
func (r *runner) alarm(now, report time.Time) {
	due := r.core.Deadline()
	if due.IsZero() || !report.IsZero() && report.Before(due) {
		due = report
	}
	if due.IsZero() {
		r.timer.Stop()
	} else {
		r.timer.Reset(due.Sub(now))
	}
}

func (r *runner) perform(e core.Effect) {
	switch e := e.(type) {
	case core.SendClient:
		_ = r.client.Send(e.Line) // a broken client has been told of already
	case core.SendChild:
		r.toChild(e)
	case core.StartChild:
		r.work.Go(func() { r.start(e) })
	case core.EndChild:
		if p := r.proc; p != nil && p.gen == e.Gen {
			r.work.Go(func() { r.end(p, e.Grace) })
		}
	case core.Log:
		r.o.Logger.LogAttrs(context.Background(), e.Level, e.Msg, e.Attrs...)
	case core.Exit:
		r.done, r.code = true, e.Code
	}
}

// report keeps the status file: at once when something worth it changed, else
// once a second. It returns when it is due again, the zero time if nothing is new.
func (r *runner) report(now time.Time) time.Time {
	if r.o.Status == nil || r.core.Counts() == r.counts && r.core.Revision() == r.revision {
		return time.Time{}
	}
	if next := r.told.Add(time.Second); r.core.Revision() == r.revision && now.Before(next) {
		return next
	}
	r.counts, r.revision, r.told = r.core.Counts(), r.core.Revision(), now
	r.o.Status.Put(r.core.Status(now))
	return time.Time{}
}

func (r *runner) readClient() {
	lines := rpcline.NewReader(r.o.In, rpcline.MaxLine)
	for {
		line, err := lines.Next()
		r.client.WaitBelow(clientBacklog)
		switch {
		case err == nil:
			r.post(message{ev: core.ClientLine{Line: line}})
		case isTooLong(err):
			r.post(message{ev: core.ClientFault{Err: err}})
		default:
			m := message{ev: core.ClientEOF{}}
			if err != io.EOF {
				m.err = err
			}
			r.post(m)
			return
		}
	}
}

// close ends what Run has started, in the order that lets the last lines out.
func (r *runner) close(reader <-chan struct{}) {
	if !r.client.Close(flushLimit) {
		r.o.Logger.Warn("the client did not take the last lines")
		if c, ok := r.o.Out.(io.Closer); ok {
			_ = c.Close()
		}
	}
	if c, ok := r.o.In.(io.Closer); ok {
		_ = c.Close()
	}
	r.work.Wait() // each is bounded: the child has ended, or has been given up
	if r.watch != nil {
		r.watch.Close()
	}
	t := time.NewTimer(readerLimit)
	defer t.Stop()
	select {
	case <-reader:
	case <-t.C:
	}
}

// childEnviron returns the environment of a child: ours, with the rejoin variables replaced.
func childEnviron(environ, rejoin []string) []string {
	names := core.RejoinVars()
	kept := slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
	return append(kept, rejoin...)
}
