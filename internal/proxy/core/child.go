package core

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"runt/internal/proxy/rpcline"
	"runt/internal/supervise"
)

// State is what the child is doing. The package comment has the diagram.
type State int

// The states of the child.
const (
	Absent    State = iota // no client has introduced itself yet
	Starting               // a process is being made
	Handshake              // it has been sent initialize
	Ready                  // it has answered
	Ending                 // it has been asked to end
	Pausing                // it crashed; the next one is started soon
	Broken                 // it crashed too often; nothing is started for a while
	Finished               // the proxy is over
)

// String returns the state in words.
func (s State) String() string {
	return [...]string{"absent", "starting", "handshake", "ready", "ending", "pausing", "broken", "finished"}[s]
}

// next is what follows when a child that was told to end has done so.
type next int

const (
	startNext  next = iota // another one
	crashNext              // another one, but it counts as a crash
	finishNext             // the end of the proxy
)

// child is the one child there is or was last.
type child struct {
	gen     int
	state   State
	until   time.Time // when the state is over by itself: pause, cooldown, handshake
	after   next      // in state Ending
	pid     int
	version string    // "" until it has told
	before  string    // the version of the last child that told one
	since   time.Time // ready since
	open    bool      // it takes calls: it is ready and has been told the client is
	logging bool      // it offers log messages
	fault   string    // how the last one ended, for messages

	announced bool // the client has been told that it is an upgrade
}

func (c *Core) enter(s State) {
	c.child.state, c.child.until = s, time.Time{}
	c.child.open = c.child.open && s == Ready
	c.changed()
}

// startChild starts the next child, if the breaker allows.
func (c *Core) startChild() {
	if !c.breaker.Start(c.now) {
		c.breakOff()
		return
	}
	before := c.child.version
	if before == "" {
		before = c.child.before
	}
	c.child = child{gen: c.child.gen + 1, fault: c.child.fault, before: before}
	c.enter(Starting)
	c.counts.Starts++
	c.emit(StartChild{Gen: c.child.gen, Env: c.books.env()})
}

// breakOff enters Broken and refuses every call that waits.
func (c *Core) breakOff() {
	c.enter(Broken)
	c.child.until = c.now.Add(c.breaker.Left(c.now))
	for _, call := range c.calls.all() {
		if call.key == "" {
			c.calls.remove(call)
		} else {
			c.refuseBroken(call)
		}
	}
}

func (c *Core) childStarted(ev ChildStarted) {
	if ev.Gen != c.child.gen || c.child.state != Starting {
		return
	}
	c.child.pid = ev.PID
	c.program.path = ev.Path
	if c.program.running != "" {
		c.program.before, c.program.running = c.program.running, ""
	}
	c.runs(ev.Sum)
	c.log(slog.LevelInfo, "child started", slog.Int("gen", ev.Gen), slog.Int("child_pid", ev.PID),
		slog.String("program", ev.Path), slog.String("sha256", ev.Sum))
	if c.finishing {
		c.endChild(c.cfg.Limits.Grace, finishNext)
		return
	}
	c.enter(Handshake)
	c.child.until = c.now.Add(c.cfg.Limits.Handshake)
	c.toChild(ownRequest(c.ownID("initialize"), "initialize", c.handshakeParams()))
}

func (c *Core) childFailed(ev ChildFailed) {
	if ev.Gen != c.child.gen || c.child.state != Starting {
		return
	}
	c.child.fault = ev.Err.Error()
	c.log(slog.LevelError, "child cannot be started", slog.String("err", ev.Err.Error()))
	if c.finishing {
		c.exit()
		return
	}
	c.crashed()
}

// endChild asks for the child's end; what comes after it is decided now.
func (c *Core) endChild(g supervise.Grace, after next) {
	c.enter(Ending)
	c.child.after = after
	c.emit(EndChild{Gen: c.child.gen, Grace: g})
}

func (c *Core) childExited(ev ChildExited) {
	s := c.child.state
	if ev.Gen != c.child.gen || s != Handshake && s != Ready && s != Ending {
		return
	}
	asked := s == Ending
	class := ev.Exit.Class()
	crash := asked && c.child.after == crashNext || !asked && class != supervise.ExitUpgrade
	level := slog.LevelInfo
	if crash {
		level = slog.LevelWarn
		c.child.fault = faultText(ev.Exit)
	}
	c.log(level, "child ended", slog.Int("gen", ev.Gen), slog.Int("child_pid", c.child.pid), slog.String("exit", ev.Exit.String()),
		slog.String("how", ev.Exit.Ending.String()), slog.Bool("asked", asked))
	c.enter(Pausing)
	c.dropAsks()
	c.returnCalls(crash)
	switch {
	case c.finishing:
		c.exit()
	case crash:
		c.crashed()
	case asked:
		c.breaker.Replace()
		c.startChild()
	default:
		c.upgrade()
	}
}

// faultText tells an exit with the last line the child wrote.
func faultText(e supervise.Exit) string {
	lines := strings.Split(e.Stderr, "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return fmt.Sprintf("%v: %.200s", e, last)
	}
	return e.String()
}

// crashed pauses before the next start, or breaks off.
func (c *Core) crashed() {
	c.counts.Crashes++
	if !c.child.since.IsZero() && c.now.Sub(c.child.since) >= c.cfg.Limits.CrashWindow {
		c.backoff.Reset()
	}
	if c.breaker.Crash(c.now) {
		c.breakOff()
		c.log(slog.LevelError, "breaker opened", slog.Time("until", c.child.until), slog.String("fault", c.child.fault))
		c.say("error", c.brokenText())
		return
	}
	c.pause()
}

func (c *Core) pause() {
	c.enter(Pausing)
	c.child.until = c.now.Add(c.backoff.Next())
}

// upgrade starts the next child at once, uncounted: the last one made room for a
// newer version. If it does so again and again without serving a call, pauses come in between.
func (c *Core) upgrade() {
	c.counts.Upgrades++
	c.breaker.Replace()
	if c.streak++; c.streak > 1 {
		c.pause()
		return
	}
	c.banner = true
	c.startChild()
}

// runs notes the sum of the running program, if it is known.
func (c *Core) runs(sum string) {
	if sum == "" {
		return
	}
	c.program.running = sum
	c.changed()
	if c.program.before != "" && sum != c.program.before {
		c.upgraded()
	}
}

// upgraded notes that the client is to be told of another version, once it is there.
func (c *Core) upgraded() {
	c.banner = !c.child.announced
	c.showBanner()
}

// showBanner sends the one message that tells of an upgrade.
func (c *Core) showBanner() {
	if !c.banner || !c.child.open {
		return
	}
	c.banner, c.child.announced = false, true
	text := "The notebook server was restarted for an upgrade. Notebooks, kernels and variables are kept."
	if from, to := c.child.before, c.child.version; from != "" && to != from {
		text = fmt.Sprintf("The notebook server was upgraded from %s to %s. Notebooks, kernels and variables are kept.", from, to)
	}
	c.say("notice", text)
}

// healthy notes that the child has served a call.
func (c *Core) healthy() {
	c.breaker.Success()
	c.backoff.Reset()
	c.streak = 0
}

// programFound compares the program on disk with the running one. A new one deserves a new chance at once.
func (c *Core) programFound(sum string) {
	if c.program.onDisk == sum {
		return
	}
	first := c.program.onDisk == ""
	c.program.onDisk = sum
	c.changed()
	waits := c.child.state == Broken || c.child.state == Pausing
	if first && (sum == c.program.running || !waits) {
		return
	}
	c.log(slog.LevelInfo, "program changed on disk", slog.String("sha256", sum))
	if waits {
		c.breaker.Success()
		c.backoff.Reset()
		c.startChild()
	}
}

// takeUp replaces a child whose program has been replaced, when nothing is in flight.
func (c *Core) takeUp() {
	if c.child.state == Ready && c.child.open && !c.finishing && c.program.stale() && c.calls.len() == 0 && !c.asks.live() {
		c.endChild(c.cfg.Limits.Grace, startNext)
	}
}

// expireChild ends states that last only so long.
func (c *Core) expireChild() {
	if c.child.until.IsZero() || c.now.Before(c.child.until) {
		return
	}
	switch c.child.state {
	case Pausing, Broken:
		if !c.finishing {
			c.startChild()
		}
	case Handshake:
		c.log(slog.LevelWarn, "child does not answer initialize", slog.Int("gen", c.child.gen))
		c.child.fault = "no answer to initialize"
		c.endChild(c.cfg.Limits.QuickGrace, crashNext)
	}
}

// childLine takes what the child says. What is no message is only logged.
func (c *Core) childLine(ev ChildLine) {
	if ev.Gen != c.child.gen || c.child.state == Finished {
		return
	}
	m, err := rpcline.Parse(ev.Line)
	switch {
	case err != nil:
		c.childNoise(ev.Line, err)
	case m.IsResponse():
		c.childAnswer(m)
	case m.IsRequest():
		c.childAsks(m)
	case m.Method == "notifications/cancelled":
		c.childCancels(m)
	case m.Method == "notifications/progress":
		c.childProgress(m)
	default:
		c.toClient(m.Line)
	}
}

// childNoise logs a line that must not reach the client.
func (c *Core) childNoise(line []byte, err error) {
	var e *rpcline.Error
	if errors.As(err, &e) {
		c.log(slog.LevelWarn, "child wrote a line that is no message", slog.String("fault", e.Message), slog.String("line", fmt.Sprintf("%.200s", line)))
	}
}

func (c *Core) childAnswer(m rpcline.Message) {
	if m.ID == nil {
		c.log(slog.LevelWarn, "child reports a fault", slog.String("fault", fmt.Sprintf("%.200s", m.Fault)))
		return
	}
	if id, ok := rpcline.String(m.ID); ok && strings.HasPrefix(id, c.ownPrefix()) {
		if c.child.state == Handshake && id == c.ownPrefix()+"initialize" {
			c.childInitialized(m)
		}
		return
	}
	if call := c.calls.byKey[rpcline.IDKey(m.ID)]; call != nil && call.gen == c.child.gen {
		c.answered(call, m)
	}
}

func (c *Core) childInitialized(m rpcline.Message) {
	if m.Result == nil {
		c.child.fault = fmt.Sprintf("initialize was refused: %.200s", m.Fault)
		c.endChild(c.cfg.Limits.QuickGrace, crashNext)
		return
	}
	c.child.version, _ = rpcline.GetString(m.Result, "serverInfo", "version")
	_, c.child.logging = rpcline.Get(m.Result, "capabilities", "logging")
	c.enter(Ready)
	c.child.since = c.now
	c.openChild()
}

// openChild lets the child take calls, once it and the client are ready.
func (c *Core) openChild() {
	if c.child.state != Ready || c.child.open || !c.client.ready {
		return
	}
	c.child.open, c.served = true, true
	c.toChild(c.client.initialized)
	c.passLevel()
	c.passSubscriptions()
	c.showBanner()
	for _, call := range c.calls.all() {
		if call.own {
			c.answerOwn(call, c.reconnectedText())
		}
	}
	c.flush()
}

// childProgress passes progress on. Of a call that runs again under a second
// child, what the client has seen before is left out: progress must grow.
func (c *Core) childProgress(m rpcline.Message) {
	token, ok := rpcline.Get(m.Params, "progressToken")
	if !ok {
		return
	}
	raw, _ := rpcline.Get(m.Params, "progress")
	progress, err := strconv.ParseFloat(string(raw), 64)
	for _, call := range c.calls.list {
		if call.token == nil || call.gen != c.child.gen || rpcline.IDKey(call.token) != rpcline.IDKey(token) || err != nil {
			continue
		}
		if call.tries > 1 && progress <= call.progress {
			return
		}
		call.progress = progress
	}
	c.toClient(m.Line)
}
