package core

import (
	"bytes"
	"encoding/json"
	"fmt"

	"runt/internal/domain"
	"runt/internal/proxy/rpcline"
)

// mustMarshal encodes maps and structs of strings, numbers and checked JSON,
// which always encode, without changing <, > and &.
func mustMarshal(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("core: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// rpcResult returns an answer; id and result go in as they are.
func rpcResult(id, result []byte) []byte {
	line := make([]byte, 0, len(id)+len(result)+40)
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), id...)
	line = append(append(line, `,"result":`...), result...)
	return append(line, '}')
}

// rpcFailure returns an error answer; a nil id becomes null.
func rpcFailure(id []byte, code int, message string, data any) []byte {
	if id == nil {
		id = []byte("null")
	}
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = append(append(line, `,"error":`...), mustMarshal(rpcError{code, message, data})...)
	return append(line, '}')
}

// ownRequest returns a request of the proxy's own; without an id a notification.
func ownRequest(id []byte, method string, params json.RawMessage) []byte {
	return mustMarshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{"2.0", id, method, params})
}

// textResult returns a tool's result of one block of text.
func textResult(text string, isError bool) json.RawMessage {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return mustMarshal(struct {
		Content []block `json:"content"`
		IsError bool    `json:"isError,omitempty"`
	}{[]block{{"text", text}}, isError})
}

// failure returns the answer to a call that cannot be served: a tool's error
// result, which the model reads, or a JSON-RPC error for every other method.
func failure(call *call, e *domain.Error) []byte {
	if call.method != "tools/call" {
		return rpcFailure(call.id, rpcline.CodeInternal, e.Message+" "+e.Hint, map[string]string{"code": string(e.Code)})
	}
	return rpcResult(call.id, textResult(fmt.Sprintf("%s\n%s [%s]", e.Message, e.Hint, e.Code), true))
}

func (c *Core) initializeResult(version string) json.RawMessage {
	type serverInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	return mustMarshal(struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		Server       serverInfo      `json:"serverInfo"`
		Instructions string          `json:"instructions,omitempty"`
	}{version, c.cfg.Capabilities, serverInfo{c.cfg.Name, c.cfg.Version}, c.cfg.Instructions})
}

// handshakeParams returns what the child's initialize says: the client's own
// words, the version agreed on, the session, and which calls an earlier child had.
func (c *Core) handshakeParams() json.RawMessage {
	params := map[string]json.RawMessage{}
	if json.Unmarshal(c.client.params, &params) != nil || params == nil {
		params = map[string]json.RawMessage{}
	}
	meta := map[string]json.RawMessage{}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta["runt/session"] = rpcline.Quote(c.client.session)
	if again := c.calls.resent(); len(again) > 0 {
		meta["runt/resent"] = mustMarshal(again)
	}
	params["_meta"] = mustMarshal(meta)
	params["protocolVersion"] = rpcline.Quote(c.client.version)
	if c.client.info.Name == "" { // who says no name is still somebody
		params["clientInfo"] = json.RawMessage(`{"name":"agent","version":"0"}`)
	}
	if _, ok := params["capabilities"]; !ok {
		params["capabilities"] = json.RawMessage(`{}`)
	}
	return mustMarshal(params)
}

// ownID returns the id of a request that the proxy itself sends to the child.
func (c *Core) ownID(what string) []byte {
	return rpcline.Quote(c.ownPrefix() + what)
}

// ownPrefix begins the ids of the proxy's own requests. The session's UUID keeps them apart from the client's.
func (c *Core) ownPrefix() string { return "runt-proxy:" + c.client.session + ":" }
