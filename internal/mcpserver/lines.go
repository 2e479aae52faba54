package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"runt/internal/domain"
)

// Keys of ours in the _meta of requests.
const (
	metaSession = "runt/session" // of initialize: names the client's session for call ids
	metaResent  = "runt/resent"  // of initialize: ids of the requests that an earlier process had and did not answer
	metaAgain   = "runt/again"   // of tools/call, set by the transport: the request is one of those
	metaCallID  = "runt/call_id" // of tools/call, set by the transport: the same when the call is sent again
	metaTurn    = "runt/turn"    // of tools/call, set by the transport: its number in the order of arrival
)

// initialize is what the transport reads of that request.
type initialize struct {
	ClientInfo struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	} `json:"clientInfo"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// readLines turns the input into messages until it ends.
func (c *lineConn) readLines() {
	defer close(c.incoming)
	r := bufio.NewReaderSize(c.t.in, 64<<10)
	for {
		line, err := nextLine(r, maxLine)
		if errors.Is(err, errLineTooLong) {
			c.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is longer than %d bytes", maxLine), nil)
			continue
		}
		if m := c.accept(line); m != nil {
			select {
			case c.incoming <- m:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// nextLine reads up to a newline or the end of input. The last line comes with the error that ended the input.
func nextLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			return nil, errLineTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// envelope is a JSON-RPC message as it is on the wire.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// accept returns the message in a line, or nil when there is none for the
// library: the line is empty, is a response, or was refused.
func (c *lineConn) accept(line []byte) jsonrpc.Message {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	if len(line) == 0 {
		return nil
	}
	if !json.Valid(line) {
		c.refuse(jsonrpc.CodeParseError, "the line is not JSON", nil)
		return nil
	}
	var e envelope
	if line[0] != '{' || json.Unmarshal(line, &e) != nil {
		c.refuse(jsonrpc.CodeInvalidRequest, "the line is not one JSON-RPC object; batches are not supported", nil)
		return nil
	}
	id, isCall, ok := clientID(e.ID)
	var method string
	switch {
	case !ok:
		c.refuse(jsonrpc.CodeInvalidRequest, "id must be a string or a number", nil)
	case e.JSONRPC != "2.0":
		c.refuse(jsonrpc.CodeInvalidRequest, `jsonrpc must be "2.0"`, id)
	case e.Method == nil && isCall && (e.Result != nil || e.Error != nil):
		c.t.logger.Debug("response to no request", "id", string(id))
	case e.Method == nil || json.Unmarshal(e.Method, &method) != nil || string(e.Method) == "null":
		c.refuse(jsonrpc.CodeInvalidRequest, "the message has no method", id)
	case isCall:
		return c.acceptCall(id, method, e.Params)
	case method == "notifications/cancelled":
		return &jsonrpc.Request{Method: method, Params: c.innerCancelled(e.Params)}
	default:
		return &jsonrpc.Request{Method: method, Params: e.Params}
	}
	return nil
}

// clientID returns the id as written, nil when there is none. Not ok is an id of a wrong type.
func clientID(raw json.RawMessage) (id json.RawMessage, present, ok bool) {
	if raw == nil {
		return nil, false, true
	}
	switch c := raw[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return raw, true, true
	}
	return nil, false, false
}

// acceptCall gives the request an id of ours, under which the library handles
// it, and adds to a tools/call what its handler must know.
func (c *lineConn) acceptCall(id json.RawMessage, method string, params json.RawMessage) jsonrpc.Message {
	if method == "initialize" {
		c.initialize(params)
	}
	c.mu.Lock()
	if c.byClientID[string(id)] != nil {
		c.mu.Unlock()
		c.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the id %s is in use by a request that is not answered yet", id), nil)
		return nil
	}
	c.last++
	r := &request{inner: "r" + strconv.FormatUint(c.last, 10), id: id, again: c.resent[string(id)]}
	delete(c.resent, string(id))
	c.open[r.inner], c.byClientID[string(id)] = r, r
	session := c.session
	c.mu.Unlock()
	if method == "tools/call" {
		r.turn = c.t.order.next()
		params = r.annotate(params, session)
	}
	inner, err := jsonrpc.MakeID(r.inner)
	if err != nil {
		c.t.logger.Error("request id", "err", err)
	}
	return &jsonrpc.Request{ID: inner, Method: method, Params: params}
}

func (c *lineConn) initialize(params json.RawMessage) {
	var init initialize
	if json.Unmarshal(params, &init) != nil {
		return // the library will refuse it
	}
	var session string
	var resent []json.RawMessage
	if json.Unmarshal(init.Meta[metaSession], &session) == nil && session != "" {
		c.mu.Lock()
		c.session = session
		if json.Unmarshal(init.Meta[metaResent], &resent) == nil {
			for _, id := range resent {
				c.resent[string(id)] = true
			}
		}
		c.mu.Unlock()
	}
	if c.t.onInitialize != nil {
		c.t.onInitialize(init)
	}
}

// annotate adds the call id and the turn to the _meta of params, and puts our
// own progress token in place of the client's. Params that are no object stay as they are.
func (r *request) annotate(params json.RawMessage, session string) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if params != nil && json.Unmarshal(params, &fields) != nil {
		return params
	}
	meta := map[string]json.RawMessage{}
	if raw, has := fields["_meta"]; has && json.Unmarshal(raw, &meta) != nil {
		return params
	}
	meta[metaCallID] = quote(callID(session, r.id))
	meta[metaTurn] = json.RawMessage(strconv.FormatUint(r.turn, 10))
	delete(meta, metaAgain)
	if r.again {
		meta[metaAgain] = json.RawMessage("true")
	}
	if token, has := meta["progressToken"]; has {
		r.progress = token
		meta["progressToken"] = quote(r.inner)
	}
	rawMeta, err := json.Marshal(meta)
	if err != nil {
		return params
	}
	fields["_meta"] = rawMeta
	annotated, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return annotated
}

// callID names a call for good: the same session and request id give the same call id.
func callID(session string, id json.RawMessage) string {
	return domain.DerivedUUID("call", session, string(id))
}

func quote(s string) json.RawMessage { return json.RawMessage(strconv.Quote(s)) }

// innerCancelled replaces the request id in a cancellation by the one that the library knows.
func (c *lineConn) innerCancelled(params json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(params, &fields) != nil {
		return params
	}
	c.mu.Lock()
	r := c.byClientID[string(fields["requestId"])]
	c.mu.Unlock()
	if r == nil {
		return json.RawMessage(`{"requestId":"none"}`)
	}
	fields["requestId"] = quote(r.inner)
	inner, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return inner
}

// encode is the reverse of accept: it writes ids and progress tokens as the client wrote them.
func (c *lineConn) encode(m jsonrpc.Message) ([]byte, error) {
	switch m := m.(type) {
	case *jsonrpc.Response:
		inner, _ := m.ID.Raw().(string)
		c.mu.Lock()
		r := c.open[inner]
		c.mu.Unlock()
		if r == nil {
			return jsonrpc.EncodeMessage(m)
		}
		return encodeResponse(r.id, m)
	case *jsonrpc.Request:
		if m.Method == "notifications/progress" {
			m = &jsonrpc.Request{Method: m.Method, Params: c.outerProgress(m.Params)}
		}
		return jsonrpc.EncodeMessage(m)
	}
	return jsonrpc.EncodeMessage(m)
}

func encodeResponse(id json.RawMessage, m *jsonrpc.Response) ([]byte, error) {
	plain, err := jsonrpc.EncodeMessage(&jsonrpc.Response{Result: m.Result, Error: m.Error})
	if err != nil {
		return nil, err
	}
	// The library leaves out an id that is not set, and writes "jsonrpc" first.
	const head = `{"jsonrpc":"2.0",`
	rest, ok := bytes.CutPrefix(plain, []byte(head))
	if !ok {
		return nil, fmt.Errorf("unexpected form of a response: %.40q", plain)
	}
	line := make([]byte, 0, len(plain)+len(id)+8)
	line = append(line, head+`"id":`...)
	line = append(line, id...)
	line = append(line, ',')
	return append(line, rest...), nil
}

func (c *lineConn) outerProgress(params json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	var inner string
	if json.Unmarshal(params, &fields) != nil || json.Unmarshal(fields["progressToken"], &inner) != nil {
		return params
	}
	c.mu.Lock()
	r := c.open[inner]
	c.mu.Unlock()
	if r == nil || r.progress == nil {
		return params
	}
	fields["progressToken"] = r.progress
	outer, err := json.Marshal(fields)
	if err != nil {
		return params
	}
	return outer
}
