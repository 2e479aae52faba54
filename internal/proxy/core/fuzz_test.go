package core

import (
	"encoding/json"
	"testing"
)

// FuzzHandle: whatever a client and a child write, nothing panics, and every line
// that goes out is one JSON value without a newline in it.
func FuzzHandle(f *testing.F) {
	lines := []string{
		hello, ready, toolCall(1, "x", `{}`), toolCall(`"a"`, "reconnect", `{}`), answerTo(1, ""), `[]`, `{}`, `null`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":7,"_meta":[]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`,
		`{"jsonrpc":"2.0","id":"runt-proxy:session-1:initialize","result":{"serverInfo":3}}`,
		answerTo(1, `,"_meta":{"runt/notebook":[{"event":"connected","id":"x"},3]}`),
		answerTo(1, `,"_meta":{"runt/notebook":{"event":"saved","path":"/p"}}`),
	}
	for _, a := range lines {
		for _, b := range lines {
			f.Add([]byte(a), []byte(b))
		}
	}
	f.Fuzz(func(t *testing.T, fromClient, fromChild []byte) {
		r := newRig(t).up()
		r.client(toolCall(1, "x", `{"_meta":{}}`))
		r.child(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
		check := func(line []byte) {
			if !json.Valid(line) {
				t.Errorf("not JSON: %q", line)
			}
		}
		for _, ev := range []Event{
			ClientLine{fromClient}, ChildLine{r.c.child.gen, fromChild}, ClientLine{fromClient}, ChildExited{r.c.child.gen, exit75},
			ChildStarted{Gen: r.c.child.gen + 1, PID: 1}, ChildLine{r.c.child.gen, fromChild}, ClientEOF{},
		} {
			for _, e := range r.handle(ev) {
				switch e := e.(type) {
				case SendClient:
					check(e.Line)
				case SendChild:
					check(e.Line)
				}
			}
		}
	})
}
