package core

import (
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"runt/internal/proxy/rpcline"
)

// client is what the client has said about itself.
type client struct {
	session     string // "" before initialize
	version     string // the MCP version agreed on
	info        clientInfo
	params      json.RawMessage // of its initialize
	ready       bool            // it has said, or shown, that it is initialized
	initialized []byte          // the line by which it said so
	level       string          // of logging, "" when it never set one
	subscribed  []string        // addresses of resources
	eof         time.Time       // when its input ended
}

type clientInfo struct{ Name, Version string }

// initializedLine is sent to a child for a client that goes on without saying it.
var initializedLine = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

func (c *Core) clientFault(err error) {
	c.toClient(rpcFailure(nil, rpcline.CodeInvalidRequest, "Invalid request: "+err.Error()+".", nil))
}

func (c *Core) clientLine(line []byte) {
	if parts, ok := rpcline.Batch(line); ok && c.client.version == batchVersion {
		for _, p := range parts {
			c.clientMessage(p)
		}
		return
	}
	c.clientMessage(line)
}

func (c *Core) clientMessage(line []byte) {
	m, err := rpcline.Parse(line)
	switch {
	case err != nil:
		c.refuseLine(err)
	case m.IsResponse():
		c.clientAnswer(m)
	case m.IsNotification():
		c.clientNotification(m)
	default:
		c.clientRequest(m)
	}
}

func (c *Core) refuseLine(err error) {
	e, ok := err.(*rpcline.Error)
	if !ok {
		e = &rpcline.Error{Code: rpcline.CodeInternal, Message: err.Error()}
	}
	c.log(slog.LevelWarn, "the client sent a bad line", slog.String("fault", e.Message))
	c.toClient(rpcFailure(e.ID, e.Code, e.Message, nil))
}

// clientRequest answers what the proxy knows itself and makes a call of the rest.
func (c *Core) clientRequest(m rpcline.Message) {
	switch m.Method {
	case "initialize":
		c.initialize(m)
	case "ping":
		c.toClient(rpcResult(m.ID, []byte(`{}`)))
	case "tools/list":
		c.toClient(rpcResult(m.ID, slices.Concat([]byte(`{"tools":`), c.cfg.Tools, []byte(`}`))))
	case "logging/setLevel":
		c.setLevel(m)
	case "server/discover":
		// The handshake-less protocol of 2026-07-28 has no session to derive call
		// ids from; its clients fall back to initialize when they hear this.
		c.toClient(rpcFailure(m.ID, rpcline.CodeMethodNotFound, "Method not found: server/discover. Use initialize.", nil))
	default:
		c.call(m)
	}
}

func (c *Core) initialize(m rpcline.Message) {
	wanted, _ := rpcline.GetString(m.Params, "protocolVersion")
	version := ProtocolVersions[0]
	if slices.Contains(ProtocolVersions, wanted) {
		version = wanted
	}
	name, _ := rpcline.GetString(m.Params, "clientInfo", "name")
	clientVersion, _ := rpcline.GetString(m.Params, "clientInfo", "version")
	again := c.client.session != ""
	if again {
		for _, call := range c.calls.all() {
			c.giveUp(call, "the client began a new session", "Call it again")
		}
	}
	c.client = client{
		session: c.cfg.NewSession(), version: version, info: clientInfo{name, clientVersion},
		params: json.RawMessage(m.Params), eof: c.client.eof,
	}
	c.toClient(rpcResult(m.ID, c.initializeResult(version)))
	c.log(slog.LevelInfo, "client initialized", slog.String("client", name), slog.String("client_version", clientVersion),
		slog.String("session", c.client.session), slog.String("protocol", version))
	c.changed()
	switch {
	case again && (c.child.state == Handshake || c.child.state == Ready):
		// Ids of requests may come again from here on; this child knows the earlier session's.
		c.endChild(c.cfg.Limits.QuickGrace, startNext)
	case c.child.state == Absent && !c.finishing:
		c.startChild()
	}
}

func (c *Core) clientNotification(m rpcline.Message) {
	switch m.Method {
	case "notifications/initialized":
		c.client.initialized = m.Line
		c.clientReady()
	case "notifications/cancelled":
		c.clientCancelled(m)
	default:
		c.note(m.Line)
	}
}

// clientReady notes that the client may be sent requests and notifications.
func (c *Core) clientReady() {
	if c.client.session == "" || c.client.ready {
		return
	}
	c.client.ready = true
	if c.client.initialized == nil {
		c.client.initialized = initializedLine
	}
	c.openChild()
}

// clientCancelled passes a cancellation on to the child that has the call. A call
// that no child has is answered here.
func (c *Core) clientCancelled(m rpcline.Message) {
	id, ok := rpcline.Get(m.Params, "requestId")
	if !ok || !rpcline.ValidID(id) {
		return
	}
	call := c.calls.byKey[rpcline.IDKey(id)]
	switch {
	case call == nil || call.own:
	case call.gen == 0:
		c.giveUp(call, "it was cancelled", "Nothing needs to be done")
	default:
		call.cancelled = c.now
		c.toChild(m.Line)
	}
}

// levels are MCP's log levels, least serious first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// setLevel answers for the proxy's own messages and passes the level on to this
// and every later child that has any.
func (c *Core) setLevel(m rpcline.Message) {
	level, _ := rpcline.GetString(m.Params, "level")
	if !slices.Contains(levels, level) {
		c.toClient(rpcFailure(m.ID, rpcline.CodeInvalidParams, "Invalid params: \"level\" must be one of debug, info, notice, warning, error, critical, alert, emergency.", nil))
		return
	}
	c.client.level = level
	c.toClient(rpcResult(m.ID, []byte(`{}`)))
	c.passLevel()
}

func (c *Core) passLevel() {
	if c.child.open && c.child.logging && c.client.level != "" {
		c.toChild(ownRequest(c.ownID("level"), "logging/setLevel", mustMarshal(map[string]string{"level": c.client.level})))
	}
}

// say sends the client a log message of the proxy's own, if it wants such.
func (c *Core) say(level, text string) {
	wanted := max(slices.Index(levels, c.client.level), 0)
	if !c.client.ready || slices.Index(levels, level) < wanted {
		return
	}
	c.toClient(ownRequest(nil, "notifications/message",
		mustMarshal(map[string]string{"level": level, "logger": c.cfg.Name, "data": text})))
}
