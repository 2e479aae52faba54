package rpcline

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Codes of JSON-RPC errors that a forwarder gives itself.
const (
	CodeParse          = -32700 // the line is not JSON
	CodeInvalidRequest = -32600 // JSON, but no message
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Error is a fault of a line, in the words of JSON-RPC.
type Error struct {
	Code    int
	Message string
	ID      []byte // the id to answer under; nil means null
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Message is what a forwarder sees of a line. The slices are parts of that line.
type Message struct {
	Line   []byte
	ID     []byte // raw; nil for a notification
	Method string // "" for a response
	Params []byte // raw, nil when absent
	Result []byte // raw, nil when absent
	Fault  []byte // the error member, raw, nil when absent
}

// IsRequest says whether m wants an answer.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification says whether m is a message without an answer.
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse says whether m is an answer.
func (m Message) IsResponse() bool { return m.Method == "" }

// Parse checks a line and finds its parts. Every error is an *Error.
func Parse(line []byte) (Message, error) {
	m := Message{Line: line}
	s := scanner{b: line}
	if s.peek() != '{' {
		return m, notObject(&s)
	}
	var version, method []byte
	err := s.object(func(key, value []byte) {
		switch name(key) {
		case "jsonrpc":
			version = value
		case "id":
			m.ID = value
		case "method":
			method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Fault = value
		}
	})
	if err == nil && !s.end() {
		err = s.bad("after the end of the message")
	}
	if err != nil {
		return Message{Line: line}, &Error{Code: CodeParse, Message: "Parse error: " + err.Error() + "."}
	}
	return m.check(version, method)
}

func notObject(s *scanner) *Error {
	_, err := s.value()
	if err == nil && !s.end() {
		err = s.bad("after the end of a value")
	}
	if err != nil {
		return &Error{Code: CodeParse, Message: "Parse error: " + err.Error() + "."}
	}
	return &Error{Code: CodeInvalidRequest, Message: "Invalid request: a line must be one JSON object."}
}

// check holds the rules of JSON-RPC 2.0 that a peer would refuse a message for.
func (m Message) check(version, method []byte) (Message, error) {
	if isNull(m.Fault) {
		m.Fault = nil
	}
	if isNull(m.ID) && method == nil && m.Fault != nil {
		m.ID = nil // an error about something that had no id
		return m, nil
	}
	if !ValidID(m.ID) {
		m.ID = nil
		return m, &Error{Code: CodeInvalidRequest, Message: "Invalid request: an id must be a string or a number."}
	}
	bad := func(text string) (Message, error) {
		return m, &Error{Code: CodeInvalidRequest, Message: "Invalid request: " + text + ".", ID: m.ID}
	}
	if v, ok := String(version); !ok || v != "2.0" {
		return bad(`"jsonrpc" must be "2.0"`)
	}
	if method == nil {
		if m.ID == nil || m.Result == nil && m.Fault == nil {
			return bad(`there is neither a "method", nor an "id" with one of "result" and "error"`)
		}
		return m, nil
	}
	var ok bool
	if m.Method, ok = String(method); !ok || m.Method == "" {
		return bad(`"method" must be a string that is not empty`)
	}
	if p := m.Params; p != nil && p[0] != '{' && p[0] != '[' && p[0] != 'n' {
		return bad(`"params" must be an object`)
	}
	return m, nil
}

func isNull(raw []byte) bool { return len(raw) > 0 && raw[0] == 'n' }

// ValidID says whether raw may be an id: a string or a number, or nothing at all.
func ValidID(raw []byte) bool {
	if raw == nil {
		return true
	}
	c := raw[0]
	return c == '"' || c == '-' || c >= '0' && c <= '9'
}

// Batch returns the elements of a line that is a JSON array, and whether it is
// one with at least one element, all of them objects.
func Batch(line []byte) ([][]byte, bool) {
	s := scanner{b: line}
	if s.peek() != '[' {
		return nil, false
	}
	var parts [][]byte
	objects := true
	err := s.array(func(value []byte) {
		parts = append(parts, value)
		objects = objects && value[0] == '{'
	})
	if err != nil || !s.end() {
		return nil, false
	}
	return parts, objects && len(parts) > 0
}

// Get returns the raw value found under keys, one object inside the other, in
// raw, which must be part of a line that Parse accepted.
func Get(raw []byte, keys ...string) ([]byte, bool) {
	for _, k := range keys {
		s := scanner{b: raw}
		if s.peek() != '{' {
			return nil, false
		}
		var found []byte
		if err := s.object(func(key, value []byte) {
			if name(key) == k {
				found = value
			}
		}); err != nil || found == nil {
			return nil, false
		}
		raw = found
	}
	return raw, raw != nil
}

// GetString returns the string found under keys in raw, and whether there is one.
func GetString(raw []byte, keys ...string) (string, bool) {
	v, ok := Get(raw, keys...)
	if !ok {
		return "", false
	}
	return String(v)
}

// String returns the text of a raw JSON string, and whether raw is one.
func String(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// name returns the text of a member's name.
func name(key []byte) string {
	s, _ := String(key)
	return s
}

// Splice returns line with part, a slice of it, replaced by with. The line itself is not changed.
func Splice(line, part, with []byte) []byte {
	at := cap(line) - cap(part)
	if at < 0 || at+len(part) > len(line) {
		panic(fmt.Sprintf("rpcline: a part of %d bytes is not in a line of %d", len(part), len(line)))
	}
	out := make([]byte, 0, len(line)-len(part)+len(with))
	out = append(out, line[:at]...)
	out = append(out, with...)
	return append(out, line[at+len(part):]...)
}
