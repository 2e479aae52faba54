package core

import (
	"log/slog"
	"time"

	"runt/internal/supervise"
)

// Core is the proxy's whole state. Make one with New.
type Core struct {
	cfg Config
	now time.Time // of the event being handled
	out []Effect  // of the event being handled

	client    client
	calls     calls
	asks      asks
	child     child
	books     registry
	program   program
	breaker   supervise.Breaker
	backoff   supervise.Backoff
	counts    Counts
	banner    bool // an upgrade is to be told
	streak    int  // exits with code 75 since a call was answered
	served    bool // some child has been open for calls
	finishing bool // the client is gone: end the child, then exit
	finished  bool // Exit has been returned
	revision  int
}

// program is what is known of the child's binary.
type program struct {
	running, onDisk string // SHA-256, "" while unknown
	before          string // what ran before
	path            string
}

// stale says whether the running child's program has been replaced on disk.
func (p program) stale() bool {
	return p.running != "" && p.onDisk != "" && p.running != p.onDisk
}

// New returns a Core that has seen nothing yet.
func New(cfg Config) *Core {
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits()
	}
	if cfg.Capabilities == nil {
		cfg.Capabilities = defaultCapabilities
	}
	l := cfg.Limits
	return &Core{
		cfg:     cfg,
		calls:   calls{byKey: map[string]*call{}},
		asks:    asks{},
		books:   registry{books: cfg.Held},
		breaker: supervise.Breaker{Limit: l.CrashLimit, Window: l.CrashWindow, Cooldown: l.Cooldown},
		backoff: supervise.Backoff{Min: l.BackoffMin, Max: l.BackoffMax, Jitter: 0.2, Rand: cfg.Rand},
	}
}

// Handle takes one event at a time that never runs backwards and returns what is
// to be done about it, in order.
func (c *Core) Handle(now time.Time, ev Event) []Effect {
	if c.finished {
		return nil
	}
	c.now, c.out = now, nil
	switch ev := ev.(type) {
	case ClientLine:
		c.clientLine(ev.Line)
	case ClientFault:
		c.clientFault(ev.Err)
	case ClientEOF:
		c.client.eof = now
	case ClientGone, Stop:
		if c.calls.len() > 0 { // the child would wait for calls that nobody waits for any more
			c.finish(c.cfg.Limits.QuickGrace)
		} else {
			c.finish(c.cfg.Limits.Grace)
		}
	case ChildStarted:
		c.childStarted(ev)
	case ChildProgram:
		if ev.Gen == c.child.gen {
			c.runs(ev.Sum)
		}
	case ChildFailed:
		c.childFailed(ev)
	case ChildLine:
		c.childLine(ev)
	case ChildExited:
		c.childExited(ev)
	case ProgramFound:
		c.programFound(ev.Sum)
	case Tick:
	}
	c.settle()
	return c.out
}

// settle does what time and the new state call for.
func (c *Core) settle() {
	c.expireCalls()
	c.expireChild()
	c.takeUp()
	if !c.client.eof.IsZero() && !c.finishing {
		c.drain()
	}
}

// drain ends the proxy after the client's last line. A child that has all calls
// answers them before it heeds the end of its own input; where there is none
// yet, calls wait for it a while.
func (c *Core) drain() {
	l := c.cfg.Limits
	switch {
	case c.calls.len() == 0:
		c.finish(l.Grace)
	case c.child.open:
		c.finishing = true
		c.endChild(supervise.Grace{EOF: c.client.eof.Add(l.LastWord).Sub(c.now), Term: l.QuickGrace.Term, Kill: l.QuickGrace.Kill}, finishNext)
	case !c.now.Before(c.client.eof.Add(l.Drain)):
		c.finish(l.QuickGrace)
	}
}

// Deadline returns when Tick is due, the zero time when nothing waits for time to pass.
func (c *Core) Deadline() time.Time {
	if c.finished {
		return time.Time{}
	}
	next := c.child.until
	add := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, call := range c.calls.list {
		add(c.expiry(call))
	}
	if !c.client.eof.IsZero() && !c.finishing {
		add(c.client.eof.Add(c.cfg.Limits.Drain))
	}
	return next
}

// finish answers what is open, ends the child within g, and exits when it is gone.
func (c *Core) finish(g supervise.Grace) {
	if c.finishing {
		return
	}
	c.finishing = true
	c.giveUpAll()
	switch c.child.state {
	case Starting, Ending: // the end comes with ChildStarted, ChildFailed or ChildExited
	case Handshake, Ready:
		c.endChild(g, finishNext)
	default:
		c.exit()
	}
}

func (c *Core) giveUpAll() {
	for _, call := range c.calls.all() {
		c.giveUp(call, "the client closed the connection first", "Connect again and look")
	}
}

func (c *Core) exit() {
	c.giveUpAll()
	c.enter(Finished)
	c.finished = true
	c.emit(Exit{})
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

func (c *Core) log(level slog.Level, msg string, attrs ...slog.Attr) {
	c.emit(Log{Level: level, Msg: msg, Attrs: attrs})
}

func (c *Core) toClient(line []byte) { c.emit(SendClient{Line: line}) }

func (c *Core) toChild(line []byte) { c.emit(SendChild{Gen: c.child.gen, Line: line}) }
