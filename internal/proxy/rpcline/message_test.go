package rpcline

import (
	"errors"
	"testing"
)

func TestParseFindsTheParts(t *testing.T) {
	line := []byte(` {"x":{"id":9},"method":"tools/call","\u0069d" : 12345678901234567890 , "jsonrpc":"2.0","params":{"name":"a","_meta":{"progressToken":1e3}}}`)
	m, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if !m.IsRequest() || m.Method != "tools/call" || string(m.ID) != "12345678901234567890" {
		t.Errorf("got %+v", m)
	}
	if v, ok := Get(m.Params, "_meta", "progressToken"); !ok || string(v) != "1e3" {
		t.Errorf("token %q %v", v, ok)
	}
	if s, ok := GetString(m.Params, "name"); !ok || s != "a" {
		t.Errorf("name %q %v", s, ok)
	}
	if _, ok := Get(m.Params, "name", "deeper"); ok {
		t.Error("found something inside a string")
	}
}

func TestP08_FaultsOfALine(t *testing.T) {
	tests := []struct {
		name, line string
		code       int // 0: no fault
		id         string
	}{
		{"words", `hello, not json`, CodeParse, ""},
		{"cut off", `{"jsonrpc":"2.0","id":2,`, CodeParse, ""},
		{"two messages", `{"jsonrpc":"2.0","method":"m"} {}`, CodeParse, ""},
		{"a zero byte after it", "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\x00", CodeParse, ""},
		{"an array", `[1,2]`, CodeInvalidRequest, ""},
		{"a number", `5`, CodeInvalidRequest, ""},
		{"no message", `{"a":1}`, CodeInvalidRequest, ""},
		{"old version", `{"jsonrpc":"1.0","id":4,"method":"m"}`, CodeInvalidRequest, "4"},
		{"method is a number", `{"jsonrpc":"2.0","id":4,"method":4}`, CodeInvalidRequest, "4"},
		{"method is empty", `{"jsonrpc":"2.0","id":4,"method":""}`, CodeInvalidRequest, "4"},
		{"params is text", `{"jsonrpc":"2.0","id":4,"method":"m","params":"x"}`, CodeInvalidRequest, "4"},
		{"id is null", `{"jsonrpc":"2.0","id":null,"method":"m"}`, CodeInvalidRequest, ""},
		{"id is an object", `{"jsonrpc":"2.0","id":{},"method":"m"}`, CodeInvalidRequest, ""},
		{"only an id", `{"jsonrpc":"2.0","id":"q"}`, CodeInvalidRequest, `"q"`},
		{"a request", `{"jsonrpc":"2.0","id":"q","method":"m","params":null}`, 0, `"q"`},
		{"a notification", `{"jsonrpc":"2.0","method":"m"}`, 0, ""},
		{"an answer", `{"jsonrpc":"2.0","id":-1,"result":null}`, 0, "-1"},
		{"an answer with a null error", `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, 0, "1"},
		{"an error without id", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Parse([]byte(tt.line))
			code, id := 0, string(m.ID)
			var e *Error
			if errors.As(err, &e) {
				code, id = e.Code, string(e.ID)
			}
			if code != tt.code || id != tt.id {
				t.Errorf("code %d id %q (%v), want %d %q", code, id, err, tt.code, tt.id)
			}
		})
	}
}

func TestBatch(t *testing.T) {
	for line, want := range map[string]int{`[]`: 0, `[1,2]`: 0, `[{"a":1}, {"b":[{}]}]`: 2, `[{},1]`: 0, `{}`: 0, `[{}`: 0} {
		parts, ok := Batch([]byte(line))
		if ok != (want > 0) || ok && len(parts) != want {
			t.Errorf("%s: %d %v", line, len(parts), ok)
		}
	}
}

func TestIDs(t *testing.T) {
	same := [][2]string{{"1", "1.0"}, {`"a"`, `"\u0061"`}, {"0", "-0"}, {"-7", "-7.00"}}
	for _, p := range same {
		if IDKey([]byte(p[0])) != IDKey([]byte(p[1])) {
			t.Errorf("%s and %s are two ids", p[0], p[1])
		}
	}
	for _, p := range [][2]string{{"1", `"1"`}, {"9007199254740993", "9007199254740992"}, {"1.5", "1"}, {"1e2", "1"}} {
		if IDKey([]byte(p[0])) == IDKey([]byte(p[1])) {
			t.Errorf("%s and %s are one id", p[0], p[1])
		}
	}
}

func TestSpliceKeepsEveryOtherByte(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0", "id" : 10 ,"method":"notifications/cancelled","params":{"requestId":10}}`)
	m, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := Get(m.Params, "requestId")
	want := `{"jsonrpc":"2.0", "id" : 10 ,"method":"notifications/cancelled","params":{"requestId":"new"}}`
	if got := string(Splice(line, id, []byte(`"new"`))); got != want {
		t.Errorf("got %s", got)
	}
	if got := string(Splice(line, m.ID, []byte(`1`))); got != `{"jsonrpc":"2.0", "id" : 1 ,"method":"notifications/cancelled","params":{"requestId":10}}` {
		t.Errorf("got %s", got)
	}
}
