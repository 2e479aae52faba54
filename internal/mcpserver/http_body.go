package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"sync"
)

// message is the body of a request over HTTP, as the library gets it.
type message struct {
	body  []byte
	turns []uint64 // of the tool calls in it
}

// annotateBody adds to the tool calls in a body what their handlers must know,
// and to the client what it calls itself. A body that is no message stays as it
// is, for the library to refuse.
func (c *Client) annotateBody(body []byte) message {
	body = bytes.TrimSpace(body)
	var batch []json.RawMessage
	if len(body) == 0 || body[0] != '[' || json.Unmarshal(body, &batch) != nil {
		one, turn := c.annotateMessage(body)
		if turn == 0 {
			return message{body: body}
		}
		return message{one, []uint64{turn}}
	}
	m := message{body: body}
	for i, raw := range batch {
		one, turn := c.annotateMessage(raw)
		if turn > 0 {
			m.turns = append(m.turns, turn)
		}
		batch[i] = one
	}
	if joined, err := json.Marshal(batch); err == nil {
		m.body = joined
	}
	return m
}

// annotateMessage returns one message, and the turn that was given to it, if it is a tool call.
func (c *Client) annotateMessage(raw json.RawMessage) (json.RawMessage, uint64) {
	var e envelope
	var method string
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e.Method, &method) != nil {
		return raw, 0
	}
	id, isCall, ok := clientID(e.ID)
	switch {
	case !ok || !isCall:
		return raw, 0
	case method == "initialize":
		var init initialize
		if json.Unmarshal(e.Params, &init) == nil {
			c.SetName(init.ClientInfo.Name, init.ClientInfo.Title)
			c.introduced.CompareAndSwap(nil, &e.Params)
		}
		return raw, 0
	case method != "tools/call":
		return raw, 0
	}
	turn := c.order.next()
	call := callID(c.httpID, sameCall(id, e.Params))
	params, err := withMeta(e.Params, map[string]json.RawMessage{
		metaCallID: quote(call),
		metaTurn:   json.RawMessage(strconv.FormatUint(turn, 10)),
		metaAgain:  json.RawMessage(strconv.FormatBool(c.recent.saw(call))),
	})
	fields := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err == nil {
		fields["params"] = params
		raw, err = json.Marshal(fields)
	}
	if err != nil {
		c.order.leave(turn)
		return raw, 0
	}
	return raw, turn
}

// sameCall names a call within a session: what is sent again is the same, what
// merely has an id that was used before is not. The standard forbids that, but
// requests written by hand often do it.
func sameCall(id, params json.RawMessage) json.RawMessage {
	sum := sha256.Sum256(params)
	return json.RawMessage(string(id) + " " + hex.EncodeToString(sum[:]))
}

// withMeta returns params with entries of _meta set. Params that are no object are an error.
func withMeta(params json.RawMessage, entries map[string]json.RawMessage) (json.RawMessage, error) {
	fields, meta := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if params != nil {
		if err := json.Unmarshal(params, &fields); err != nil {
			return nil, err
		}
	}
	if raw, has := fields["_meta"]; has {
		if err := json.Unmarshal(raw, &meta); err != nil {
			return nil, err
		}
	}
	for k, v := range entries {
		meta[k] = v
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	fields["_meta"] = raw
	return json.Marshal(fields)
}

// maxRecent is how many of a client's latest calls are known again.
const maxRecent = 512

// recent knows the latest calls of a client.
type recent struct {
	mu    sync.Mutex // guards the fields that follow
	known map[string]bool
	order []string // oldest first
}

// saw says whether it has been asked about the call before.
func (r *recent) saw(call string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[call] {
		return true
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[call] = true
	if r.order = append(r.order, call); len(r.order) > maxRecent {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	return false
}
