package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestP07_EverythingElsePassesInTheSameBytes(t *testing.T) {
	r := newRig(t).up()
	request := ` {"x-extra":[1e400, 12345678901234567890],"method":"future/thing" , "id":"\u00e9","jsonrpc":"2.0","params":{"_meta":{"progressToken":9007199254740993}}}`
	notes := []string{
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/future","params":[1]}`,
	}
	r.client(append([]string{request}, notes...)...)
	r.wantChild("1 "+request, "1 "+notes[0], "1 "+notes[1])
	fromChild := []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"n":12345678901234567890}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","method":"notifications/future"}`,
		`{"jsonrpc":"2.0","id":77,"method":"sampling/createMessage","params":{"max":1.50}}`,
		`{"id":"\u00e9","jsonrpc":"2.0","error":{"code":-32601,"message":"no","data":12345678901234567890}}`,
	}
	r.child(fromChild...)
	r.wantClient(fromChild...)
	reply := `{"jsonrpc":"2.0", "id":77, "result":{"n":1.0}}`
	r.client(reply)
	r.wantChild("1 " + reply)
	r.client(reply) // a second answer goes nowhere
	r.wantChild()
}

func TestP07_IdsPassAsTheyAre(t *testing.T) {
	for _, id := range []string{"9007199254740993", "1.5", "1.0", "1e2", "-12345678901234567890", `"\u0061"`} {
		r := newRig(t).up()
		cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
		r.client(toolCall(id, "x", `{}`), cancel)
		r.wantChild("1 "+toolCall(id, "x", `{}`), "1 "+cancel)
		r.child(answerTo(id, ""))
		r.wantClient(answerTo(id, ""))
	}
	r := newRig(t).up()
	r.client(toolCall("1.0", "x", `{}`))
	r.child(answerTo("1", "")) // another spelling of the same id
	r.wantClient(answerTo("1", ""))
}

func TestP07_ProgressGrowsAlsoAcrossChildren(t *testing.T) {
	r := newRig(t).up()
	progress := func(p string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":` + p + `}}`
	}
	r.client(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"t"}}}`)
	r.child(progress("1"), progress("2.5"), progress("2")) // an odd child is not corrected
	r.wantClient(progress("1"), progress("2.5"), progress("2"))
	r.child(progress("3"))
	r.dies(exit75)
	r.started("1.0")
	r.forget()
	r.child(progress("1"), progress("3"), progress("3.5"))
	r.wantClient(progress("3.5"))
}

func TestP07_RequestsOfTheChild(t *testing.T) {
	r := newRig(t).up()
	ask := `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`
	r.child(ask, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	r.client(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	r.forget()
	r.dies(exit75)
	r.wantClient(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"the notebook server was restarted","requestId":1}}`)
	r.started("1.0")
	r.forget()
	r.child(ask, `{"jsonrpc":"2.0","id":2,"method":"ping"}`) // the same ids from the next child
	r.wantClient(`{"jsonrpc":"2.0","id":"runt-ask:2:1","method":"roots/list"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	r.client(`{"jsonrpc":"2.0","id":1,"result":{"late":1}}`, `{"jsonrpc":"2.0","id":"runt-ask:2:1","result":{"roots":[]}}`)
	r.wantChild(`2 {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`)

	r.child(`{"jsonrpc":"2.0","id":9,"method":"roots/list"}`)
	r.forget()
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`
	r.child(cancel)
	r.wantClient(cancel)
	r.client(`{"jsonrpc":"2.0","id":9,"result":{}}`)
	r.wantChild()
}

func TestRequestsOfChildrenAreNotRememberedForEver(t *testing.T) {
	r := newRig(t).up()
	for i := range 3 * maxAsks {
		r.child(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i),
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	if n := len(r.c.asks); n > maxAsks {
		t.Errorf("%d requests are remembered", n)
	}
}

func TestP07_CancelledCalls(t *testing.T) {
	cancel := func(id any) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%v,"reason":"user"}}`, id)
	}
	r := newRig(t).up()
	r.client(toolCall(1, "x", `{}`), toolCall(2, "y", `{}`), toolCall(3, "z", `{}`), cancel(1), cancel(2), cancel(99), cancel(`{}`), cancel("null"))
	if got := r.toChild[3:]; !slices.Equal(got, []string{"1 " + cancel(1), "1 " + cancel(2)}) {
		t.Errorf("the child got %q", got)
	}
	r.child(answerTo(1, "")) // the child answers all the same: one answer
	r.wantClient(answerTo(1, ""))
	r.pass(10 * time.Second)
	r.wantClient(`…y was not answered: it was cancelled.…`)
	r.child(answerTo(2, ""))
	r.client(cancel(3))
	r.dies(killed)
	r.wantClient(`…z was not answered: it was cancelled.…`)
	r.client(toolCall(4, "w", `{}`), cancel(4)) // while no child has it
	r.wantClient(`…w was not answered: it was cancelled.…`)
	r.pass(time.Second)
	r.forget()
	r.started("1.0")
	r.wantChild("2 …", "2 "+ready)
}

func TestP08_BadLinesAreAnsweredAndTheNextIsServed(t *testing.T) {
	r := newRig(t)
	r.client(hello, ready, `hello, not json`, `{"jsonrpc":"2.0","id":2,`, `[1,2]`, `{"a":1}`)
	r.handle(ClientFault{errors.New("a line of 70000000 bytes, the limit is 67108864")})
	r.client(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	null := `{"jsonrpc":"2.0","id":null,"error":{"code":`
	r.wantClient("{…", null+"-32700…", null+"-32700…", null+"-32600…", null+"-32600…", null+"-32600…", `{"jsonrpc":"2.0","id":3,"result"…`)
}

func TestBatchesBelongToOneVersion(t *testing.T) {
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`
	r := newRig(t)
	r.client(strings.Replace(hello, "2025-06-18", "2025-03-26", 1), batch)
	r.wantClient("{…", `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	r = newRig(t).up()
	r.client(batch)
	r.wantClient(`…-32600…`)
}

func TestRequestsThatCannotBeTakenUp(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits = DefaultLimits(); c.Limits.MaxHeld = 200 })
	r.client(toolCall(1, "x", `{}`))
	r.wantClient(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: send initialize first."}}`)
	r.up()
	r.client(toolCall(1, "x", `{}`), toolCall(1, "x", `{}`), toolCall(2, "y", `{"big":"`+strings.Repeat("x", 200)+`"}`))
	r.wantClient(`{"jsonrpc":"2.0","id":null,…`, `{"jsonrpc":"2.0","id":2,"error":…`)
	r.child(answerTo(1, ""))
	r.client(toolCall(1, "x", `{}`)) // answered ids may come again
	r.child(answerTo(1, ""))
	r.wantClient(answerTo(1, ""), answerTo(1, ""))
}

func TestP10_WhatTheChildWritesBesidesMessagesGoesToTheLog(t *testing.T) {
	r := newRig(t).up()
	r.child("noise", `{"a":1}`, "{", `[1]`, `{"jsonrpc":"2.0","id":404,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`)
	r.wantClient()
}

func TestP12_TheNextChildGetsEveryNotebookHeld(t *testing.T) {
	r := newRig(t).up()
	meta := func(event, id, path string, byDefault bool) string {
		return fmt.Sprintf(`,"_meta":{"runt/notebook":{"event":%q,"id":%q,"path":%q,"default":%v}}`, event, id, path, byDefault)
	}
	n := 0
	result := func(extra string) {
		n++
		r.client(toolCall(n, "x", `{}`))
		r.child(answerTo(n, extra))
	}
	respawn := func(want ...string) {
		t.Helper()
		r.dies(exit75)
		if got := r.starts[len(r.starts)-1].Env; !slices.Equal(got, want) {
			t.Errorf("env %q, want %q", got, want)
		}
		r.started("1.0")
	}
	respawn()
	result(meta("connected", "a", "/a.ipynb", true))
	result(meta("connected", "b", "", true)) // created, untitled
	respawn(`RUNT_MCP_REJOIN=[{"id":"a","path":"/a.ipynb","default":false},{"id":"b","default":true}]`, `NTERACT_MCP_REJOIN_NOTEBOOK=b`)
	result(meta("saved", "b", "/b.ipynb", false))
	result(meta("connected", "a", "/a.ipynb", false)) // again, not as default
	result(meta("saved", "never-seen", "/c.ipynb", false))
	respawn(`RUNT_MCP_REJOIN=[{"id":"a","path":"/a.ipynb","default":false},{"id":"b","path":"/b.ipynb","default":true}]`, `NTERACT_MCP_REJOIN_NOTEBOOK=/b.ipynb`)
	result(meta("disconnected", "b", "/b.ipynb", true))
	respawn(`RUNT_MCP_REJOIN=[{"id":"a","path":"/a.ipynb","default":false}]`)
	result(`,"_meta":{"runt/notebook":[{"event":"disconnected","id":"a"},{"event":"connected","id":"c","default":true}]}`)
	respawn(`RUNT_MCP_REJOIN=[{"id":"c","default":true}]`, `NTERACT_MCP_REJOIN_NOTEBOOK=c`)
	result(meta("saved", "c", "/a.ipynb", true))
	result(`,"_meta":{"runt/notebook":"nonsense"}`)
	result(meta("connected", "d", "/a.ipynb", true)) // the path is another notebook's now
	respawn(`RUNT_MCP_REJOIN=[{"id":"d","path":"/a.ipynb","default":true}]`, `NTERACT_MCP_REJOIN_NOTEBOOK=/a.ipynb`)
}

func TestP12_NotebooksFromTheProxysOwnEnvironment(t *testing.T) {
	const id = "30f03946-0b45-4509-a9d7-fb1f85ca70ad"
	for _, tt := range []struct {
		one, all string
		want     []Notebook
	}{
		{"", "", nil},
		{"/a.ipynb", "", []Notebook{{Path: "/a.ipynb", Default: true}}},
		{id, "junk", []Notebook{{ID: id, Default: true}}},
		{id, `[{"id":"` + id + `","path":"/x"},{"id":"q","default":true}]`, []Notebook{{ID: id, Path: "/x", Default: true}, {ID: "q"}}},
	} {
		if got := HeldFrom(tt.one, tt.all); !slices.Equal(got, tt.want) {
			t.Errorf("%q %q: %v, want %v", tt.one, tt.all, got, tt.want)
		}
	}
	r := newRig(t, func(c *Config) { c.Held = HeldFrom("/a.ipynb", "") })
	r.up()
	r.client(toolCall(1, "x", `{}`))
	r.child(answerTo(1, `,"_meta":{"runt/notebook":{"event":"disconnected","id":"n","path":"/a.ipynb"}}`))
	r.dies(exit75)
	if env := r.starts[0].Env; env != nil {
		t.Errorf("a disconnected notebook is handed on: %q", env)
	}
}

func TestP09_EndOfInput(t *testing.T) {
	t.Run("before initialize", func(t *testing.T) {
		r := newRig(t)
		r.handle(ClientEOF{})
		if !r.exited {
			t.Error("not exited")
		}
	})
	t.Run("what was read is answered first", func(t *testing.T) {
		r := newRig(t)
		r.client(hello, ready, toolCall(1, "x", `{}`), toolCall(2, "reconnect", `{}`))
		r.handle(ClientEOF{})
		r.started("1.0")
		r.child(answerTo(1, ""))
		r.wantState(Ending)
		r.dies(onEOF)
		if !r.exited || len(r.toClient) != 3 {
			t.Errorf("exited %v after %q", r.exited, r.toClient)
		}
	})
	t.Run("by the child, within its last word", func(t *testing.T) {
		r := newRig(t).up()
		r.client(toolCall(1, "execute_cell", `{"cell_id":"c"}`), toolCall(2, "x", `{}`))
		r.pass(time.Second)
		r.handle(ClientEOF{})
		r.wantState(Ending)
		if g := r.ends[0].Grace; g.EOF != 4200*time.Millisecond || g.EOF+g.Term+g.Kill > 6*time.Second {
			t.Errorf("grace %+v", g)
		}
		r.child(answerTo(2, ""))
		r.wantClient(answerTo(2, ""))
		r.dies(shooted)
		r.wantClient(`…execute_cell was not answered: the client closed the connection first.…`)
		if !r.exited {
			t.Error("not exited")
		}
	})
	t.Run("but a child is not waited for for ever", func(t *testing.T) {
		r := newRig(t)
		r.client(hello, ready, toolCall(1, "x", `{}`))
		r.handle(ClientEOF{})
		r.pass(time.Second)
		r.handle(ChildStarted{Gen: 1, PID: 5})
		r.forget()
		r.pass(2*time.Second - 1)
		r.wantState(Handshake)
		r.pass(1)
		r.wantState(Ending)
		r.wantClient(`…the client closed the connection first.…`)
	})
	for name, during := range map[string]func(*rig){
		"starting": func(r *rig) { r.dies(exit75); r.handle(Stop{}); r.started("1.0"); r.dies(onEOF) },
		"failing":  func(r *rig) { r.dies(exit75); r.handle(Stop{}); r.handle(ChildFailed{2, errors.New("x")}) },
		"pausing":  func(r *rig) { r.dies(crash); r.handle(Stop{}) },
		"ending":   func(r *rig) { r.client(toolCall(1, "reconnect", `{}`)); r.handle(ClientGone{}); r.dies(onEOF) },
		"ready":    func(r *rig) { r.handle(Stop{}); r.dies(onEOF) },
	} {
		t.Run("SIGTERM while "+name, func(t *testing.T) {
			r := newRig(t).up()
			during(r)
			if !r.exited {
				t.Errorf("not exited, %v", r.c.child.state)
			}
			if out := r.handle(ClientLine{[]byte(hello)}); out != nil || !r.c.Deadline().IsZero() {
				t.Error("something happens after the end")
			}
		})
	}
}

func TestLoggingLevel(t *testing.T) {
	r := newRig(t).up()
	set := func(level string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"` + level + `"}}`
	}
	r.client(set("loud"), set("warning"))
	r.wantClient(`…-32602…`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	pass := `{"jsonrpc":"2.0","id":"runt-proxy:session-1:level","method":"logging/setLevel","params":{"level":"warning"}}`
	r.wantChild("1 " + pass)
	r.child(`{"jsonrpc":"2.0","id":"runt-proxy:session-1:level","result":{}}`)
	r.dies(exit75)
	r.started("2.0")
	r.wantChild("2 …", "2 "+ready, "2 "+pass)
	r.wantClient() // the banner is below the level
}

func TestASecondInitializeBeginsANewSession(t *testing.T) {
	r := newRig(t).up()
	r.client(toolCall(1, "x", `{}`), hello, toolCall(1, "y", `{}`))
	r.wantClient(`…the client began a new session…`, `{"jsonrpc":"2.0","id":0,"result":…`)
	r.forget()
	r.dies(onEOF)
	r.started("1.0")
	r.wantChild(`…"runt/session":"session-2"…`, `2 {"jsonrpc":"2.0","method":"notifications/initialized"}`, "2 "+toolCall(1, "y", `{}`))
}

func TestAClientThatNeverSaysInitialized(t *testing.T) {
	r := newRig(t)
	r.client(hello)
	r.started("1.0")
	r.child(`{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
	r.forget()
	r.client(toolCall(1, "x", `{}`))
	r.wantChild(`1 {"jsonrpc":"2.0","method":"notifications/initialized"}`, "1 "+toolCall(1, "x", `{}`))
}

func TestNotificationsWaitForTheFirstChildInOrder(t *testing.T) {
	r := newRig(t)
	r.client(`{"jsonrpc":"2.0","method":"notifications/early"}`, hello, ready, toolCall(1, "x", `{}`), `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, toolCall(2, "x", `{}`))
	r.started("1.0")
	r.wantChild("1 …", "1 "+ready, "1 "+toolCall(1, "x", `{}`), `1 {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, "1 "+toolCall(2, "x", `{}`))
}
