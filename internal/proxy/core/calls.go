package core

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"runt/internal/domain"
	"runt/internal/proxy/rpcline"
)

// call is one request of the client, or one notification of it that no child could take yet.
type call struct {
	key    string // of id; "" for a notification
	id     []byte // as the client wrote it
	line   []byte
	method string
	tool   string // of tools/call
	own    bool   // the reconnect tool: answered by the proxy

	gen       int       // the child that has it, 0 while it waits
	tries     int       // children that had it
	since     time.Time // waiting since, or sent at
	cancelled time.Time
	quick     int // crashes right after it was sent

	token    []byte  // its progress token, raw
	progress float64 // the last one passed on
}

// name says in messages what was called.
func (c *call) name() string {
	if c.tool != "" {
		return c.tool
	}
	return c.method
}

// calls is the table of what the client waits for, in the order it asked.
type calls struct {
	list  []*call
	byKey map[string]*call
	held  int // bytes of the lines
}

func (t *calls) len() int { return len(t.byKey) }

// all returns a copy of the list, for loops that remove from it.
func (t *calls) all() []*call { return slices.Clone(t.list) }

func (t *calls) add(call *call) {
	t.list = append(t.list, call)
	if call.key != "" {
		t.byKey[call.key] = call
	}
	t.held += len(call.line)
}

func (t *calls) remove(call *call) {
	i := slices.Index(t.list, call)
	if i < 0 {
		return
	}
	t.list = slices.Delete(t.list, i, i+1)
	delete(t.byKey, call.key)
	t.held -= len(call.line)
}

// resent returns the ids of the calls that a child has had already.
func (t *calls) resent() []json.RawMessage {
	var ids []json.RawMessage
	for _, call := range t.list {
		if call.tries > 0 {
			ids = append(ids, call.id)
		}
	}
	return ids
}

// call takes up a request that the child, or for reconnect the proxy, is to answer.
func (c *Core) call(m rpcline.Message) {
	key := rpcline.IDKey(m.ID)
	refuse := func(id []byte, text string) {
		c.toClient(rpcFailure(id, rpcline.CodeInvalidRequest, "Invalid request: "+text+".", nil))
	}
	switch {
	case c.client.session == "":
		refuse(m.ID, "send initialize first")
		return
	case c.calls.byKey[key] != nil:
		refuse(nil, "id "+string(m.ID)+" is in use by a request that is not answered yet")
		return
	case c.calls.held+len(m.Line) > c.cfg.Limits.MaxHeld:
		refuse(m.ID, fmt.Sprintf("the requests in flight are larger than %d MB together; wait for answers", c.cfg.Limits.MaxHeld>>20))
		return
	}
	call := &call{key: key, id: m.ID, line: m.Line, method: m.Method, since: c.now}
	if m.Method == "tools/call" {
		call.tool, _ = rpcline.GetString(m.Params, "name")
		call.own = call.tool == reconnectTool
	}
	if token, ok := rpcline.Get(m.Params, "_meta", "progressToken"); ok {
		call.token = token
	}
	c.calls.add(call)
	c.counts.Calls++
	c.clientReady()
	c.route(call)
}

// route lets a new call go where the child's state says.
func (c *Core) route(call *call) {
	switch {
	case c.finishing:
		c.giveUp(call, "the proxy is ending", "Connect again")
	case call.own:
		c.reconnect(call)
	case c.child.state == Broken:
		c.refuseBroken(call)
	default:
		c.flush()
	}
}

// note passes a notification of the client on, or keeps it for the child that is coming.
func (c *Core) note(line []byte) {
	if c.client.session == "" || c.finishing || c.child.state == Broken || c.calls.held+len(line) > c.cfg.Limits.MaxHeld {
		return
	}
	c.calls.add(&call{line: line, since: c.now})
	c.flush()
}

// flush sends what waits, in order, if the child takes it.
func (c *Core) flush() {
	if !c.child.open {
		return
	}
	for _, call := range c.calls.all() {
		if call.gen != 0 || call.own {
			continue
		}
		c.toChild(call.line)
		if call.key == "" {
			c.calls.remove(call)
			continue
		}
		call.gen, call.since = c.child.gen, c.now
		if call.tries++; call.tries > 1 {
			c.counts.Resent++
			c.log(slog.LevelInfo, "call sent again", slog.String("request", string(call.id)), slog.String("call", call.name()))
		}
	}
}

// answered forwards the child's answer to a call and forgets the call.
func (c *Core) answered(call *call, m rpcline.Message) {
	c.toClient(m.Line)
	c.calls.remove(call)
	c.counts.Answered++
	c.healthy()
	c.learnSubscription(call, m)
	if call.method == "tools/call" && m.Result != nil && c.books.learn(m.Result) {
		c.log(slog.LevelInfo, "notebooks held", slog.Any("notebooks", slices.Clone(c.books.books)))
		c.changed()
	}
}

// expiry returns when a call stops waiting, the zero time when it does not.
func (c *Core) expiry(call *call) time.Time {
	l := c.cfg.Limits
	switch {
	case call.own:
		return call.since.Add(l.Reconnect)
	case !call.cancelled.IsZero():
		return call.cancelled.Add(l.CancelWait)
	case call.gen != 0:
		return time.Time{}
	case !c.served:
		return call.since.Add(l.FirstWait)
	}
	return call.since.Add(l.Wait)
}

func (c *Core) expireCalls() {
	for _, call := range c.calls.all() {
		if call.quick >= c.cfg.Limits.QuickDeaths {
			c.giveUp(call, fmt.Sprintf("the notebook server crashed %d times right after it got this call", call.quick), "Try it another way")
			continue
		}
		due := c.expiry(call)
		if due.IsZero() || c.now.Before(due) {
			continue
		}
		switch {
		case call.key == "":
			c.calls.remove(call)
		case call.own:
			c.answerOwn(call, "The notebook server is starting. Calls wait for it; go on.")
		case !call.cancelled.IsZero():
			c.giveUp(call, "it was cancelled", "Nothing needs to be done")
		default:
			c.giveUp(call, fmt.Sprintf("the notebook server has been restarted and was not back after %v", c.now.Sub(call.since).Round(time.Second)), "Call it again")
		}
	}
}

// returnCalls makes the calls of a child that is gone wait for the next one.
func (c *Core) returnCalls(crashed bool) {
	for _, call := range c.calls.all() {
		if call.gen == 0 || call.own {
			continue
		}
		quick := crashed && c.now.Sub(call.since) < c.cfg.Limits.QuickDeath
		call.gen, call.since = 0, c.now
		if quick {
			call.quick++
		}
		if !call.cancelled.IsZero() {
			c.giveUp(call, "it was cancelled", "Nothing needs to be done")
		}
	}
}

// giveUp answers a call that no child will answer: why, what to do, and how to
// find the execution it may have started.
func (c *Core) giveUp(call *call, why, what string) {
	e := domain.Errorf(domain.CodeRestarting, "%s was not answered: %s.", call.name(), why)
	what += "."
	if call.tries > 0 {
		if id := c.execution(call); id != "" {
			what = fmt.Sprintf("It may have run: call get_results with execution_id %q.", id)
		} else if call.method == "tools/call" {
			what = "It may have been done: read the notebook before you call it again."
		}
	}
	c.refuse(call, e.WithHint("%s", what))
}

// refuse answers a call with an error of the proxy's.
func (c *Core) refuse(call *call, e *domain.Error) {
	c.calls.remove(call)
	if call.key == "" {
		return
	}
	c.counts.Refused++
	c.toClient(failure(call, e))
	c.log(slog.LevelWarn, "call refused", slog.String("request", string(call.id)), slog.String("call", call.name()), slog.String("fault", e.Message))
}

// execution returns the id of the execution that a call starts, "" when it
// starts none or the id cannot be told from here.
func (c *Core) execution(call *call) string {
	args, ok := callArguments(call.line)
	if !ok {
		return ""
	}
	id := domain.DerivedUUID("call", c.client.session, string(call.id))
	switch cell, _ := rpcline.GetString(args, "cell_id"); {
	case call.tool == "create_cell" && isTrue(args, "and_run"):
		return string(domain.DerivedExecutionID(id, domain.DerivedCellID(id, 0)))
	case cell == "":
		return ""
	case call.tool == "execute_cell", isTrue(args, "and_run"):
		return string(domain.DerivedExecutionID(id, domain.CellID(cell)))
	}
	return ""
}

func callArguments(line []byte) ([]byte, bool) {
	m, err := rpcline.Parse(line)
	if err != nil {
		return nil, false
	}
	return rpcline.Get(m.Params, "arguments")
}

// isTrue says whether a boolean argument is given as true, or as the string "true".
func isTrue(args []byte, name string) bool {
	v, _ := rpcline.Get(args, name)
	return string(v) == "true" || string(v) == strconv.Quote("true")
}
