package core

import (
	"fmt"
	"log/slog"
	"time"

	"runt/internal/domain"
)

// reconnectTool is the tool that the proxy answers itself.
const reconnectTool = "reconnect"

// reconnect replaces the child because the client asks for it. The call is
// answered when the next child is open, or when that takes too long.
func (c *Core) reconnect(call *call) {
	c.log(slog.LevelInfo, "reconnect", slog.String("request", string(call.id)), slog.String("state", c.child.state.String()))
	switch c.child.state {
	case Ready:
		c.endChild(c.cfg.Limits.QuickGrace, startNext)
	case Pausing:
		c.startChild()
	case Broken:
		c.refuseBroken(call)
	}
}

// answerOwn answers a call of the reconnect tool.
func (c *Core) answerOwn(call *call, text string) {
	c.calls.remove(call)
	c.counts.Answered++
	c.toClient(rpcResult(call.id, textResult(text, false)))
}

func (c *Core) reconnectedText() string {
	text := fmt.Sprintf("Reconnected: a new notebook server (version %s, pid %d) is running.", c.child.version, c.child.pid)
	if n := len(c.books.books); n > 0 {
		text += fmt.Sprintf(" It rejoins the %d notebook(s) you hold; kernels and variables are kept.", n)
	}
	return text
}

// refuseBroken answers a call while the breaker is open.
func (c *Core) refuseBroken(call *call) {
	left := c.leftText()
	hint := fmt.Sprintf("Wait %s and call again.", left)
	if call.tries > 0 {
		if id := c.execution(call); id != "" {
			hint = fmt.Sprintf("It may have run: wait %s and call get_results with execution_id %q.", left, id)
		}
	}
	if c.cfg.LogPath != "" {
		hint += " The log is at " + c.cfg.LogPath + "."
	}
	e := &domain.Error{Code: domain.CodeRestarting, Message: c.brokenText()}
	c.refuse(call, e.WithHint("%s", hint))
}

func (c *Core) brokenText() string {
	return fmt.Sprintf("The notebook server keeps crashing (%d times within %v, last: %s) and is not started again for another %s.",
		c.cfg.Limits.CrashLimit, c.cfg.Limits.CrashWindow, c.child.fault, c.leftText())
}

// leftText returns how long the breaker stays open, rounded up to seconds.
func (c *Core) leftText() string {
	left := c.breaker.Left(c.now) + time.Second - 1
	return fmt.Sprintf("%d s", int(left/time.Second))
}
