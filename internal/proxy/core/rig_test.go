package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"runt/internal/supervise"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rig drives a Core by hand, with time that moves only when told.
type rig struct {
	t        *testing.T
	c        *Core
	now      time.Time
	sessions int
	out      []Effect // of the last event
	toClient []string // all lines
	toChild  []string // "gen line", all lines
	starts   []StartChild
	ends     []EndChild
	exited   bool
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	r := &rig{t: t, now: epoch}
	cfg := Config{
		Name: "runt", Version: "1.0", Instructions: "Be kind.", Tools: json.RawMessage(`[{"name":"x"}]`), LogPath: "/log",
		NewSession: func() string { r.sessions++; return fmt.Sprintf("session-%d", r.sessions) },
	}
	for _, f := range change {
		f(&cfg)
	}
	r.c = New(cfg)
	return r
}

func (r *rig) handle(ev Event) []Effect {
	r.out = r.c.Handle(r.now, ev)
	for _, e := range r.out {
		switch e := e.(type) {
		case SendClient:
			r.toClient = append(r.toClient, string(e.Line))
		case SendChild:
			r.toChild = append(r.toChild, fmt.Sprintf("%d %s", e.Gen, e.Line))
		case StartChild:
			r.starts = append(r.starts, e)
		case EndChild:
			r.ends = append(r.ends, e)
		case Exit:
			r.exited = true
		}
	}
	return r.out
}

func (r *rig) client(lines ...string) {
	for _, l := range lines {
		r.handle(ClientLine{[]byte(l)})
	}
}

func (r *rig) child(lines ...string) {
	for _, l := range lines {
		r.handle(ChildLine{r.c.child.gen, []byte(l)})
	}
}

// pass lets time pass, with a Tick whenever one is due.
func (r *rig) pass(d time.Duration) {
	end := r.now.Add(d)
	for {
		due := r.c.Deadline()
		if due.IsZero() || due.After(end) {
			break
		}
		r.now = later(r.now, due)
		r.handle(Tick{})
	}
	r.now = end
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"tester","version":"7"}}}`

const ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// started lets the process of the current generation run and answer the handshake.
func (r *rig) started(version string) {
	gen := r.c.child.gen
	r.handle(ChildStarted{Gen: gen, PID: 100 + gen, Path: "/bin/runt", Sum: "sum-" + version})
	r.child(fmt.Sprintf(`{"jsonrpc":"2.0","id":"runt-proxy:%s:initialize","result":{"serverInfo":{"name":"runt","version":%q},"capabilities":{"logging":{}}}}`,
		r.c.client.session, version))
}

// up brings client and first child to the point where calls flow.
func (r *rig) up() *rig {
	r.client(hello, ready)
	r.started("1.0")
	r.forget()
	return r
}

func (r *rig) forget() { r.toClient, r.toChild, r.starts, r.ends = nil, nil, nil, nil }

func (r *rig) dies(e supervise.Exit) { r.handle(ChildExited{r.c.child.gen, e}) }

func toolCall(id any, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func answerTo(id any, extra string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"content":[]%s}}`, id, extra)
}

func (r *rig) wantClient(want ...string) {
	r.t.Helper()
	r.want("to the client", r.toClient, want)
	r.toClient = nil
}

func (r *rig) wantChild(want ...string) {
	r.t.Helper()
	r.want("to the child", r.toChild, want)
	r.toChild = nil
}

// want compares lines; a wanted one that ends in … is a beginning, one in … on both ends a part.
func (r *rig) want(what string, got, want []string) {
	r.t.Helper()
	if len(got) != len(want) {
		r.t.Fatalf("%s went %d lines, want %d:\n%s", what, len(got), len(want), strings.Join(got, "\n"))
	}
	for i, w := range want {
		part, inner := strings.CutPrefix(w, "…")
		part, open := strings.CutSuffix(part, "…")
		ok := got[i] == w
		if inner {
			ok = strings.Contains(got[i], part)
		} else if open {
			ok = strings.HasPrefix(got[i], part)
		}
		if !ok {
			r.t.Errorf("%s went\n%s\nwant\n%s", what, got[i], w)
		}
	}
}

func (r *rig) wantState(want State) {
	r.t.Helper()
	if r.c.child.state != want {
		r.t.Errorf("state %v, want %v", r.c.child.state, want)
	}
}

var (
	crash   = supervise.Exit{Code: 1, Stderr: "trace\npanic: boom"}
	killed  = supervise.Exit{Code: -1, Signal: 9}
	exit75  = supervise.Exit{Code: 75}
	onEOF   = supervise.Exit{Code: 0, Ending: supervise.EndedOnEOF}
	shooted = supervise.Exit{Code: -1, Signal: 9, Ending: supervise.EndedByKill}
)
