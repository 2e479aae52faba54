package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/link"
)

type sent struct {
	channel string
	msg     jmsg.Message
}

type alarm struct {
	at time.Time
	f  func()
}

// world is what a core acts on in tests: a clock that is moved by hand, and lists of what it did.
type world struct {
	t       *testing.T
	core    *core
	clock   time.Time
	alarms  []alarm
	events  []link.Event
	sent    []sent
	signals []syscall.Signal
	refuse  error // of signals
	ids     int
	reading bool
}

func newWorld(t *testing.T, spec link.LaunchSpec) *world {
	w := &world{t: t, clock: time.Unix(1000, 0)}
	w.core = newCore(w, slog.New(slog.DiscardHandler), spec)
	return w
}

// ready is a world whose kernel answers.
func ready(t *testing.T) *world {
	w := newWorld(t, link.LaunchSpec{})
	w.core.connected()
	w.answer(w.lastSent("kernel_info_request"), "kernel_info_reply", `{"implementation":"toy"}`)
	w.publish("", "status", `{"execution_state":"idle"}`)
	w.events = nil
	return w
}

func (w *world) now() time.Time { return w.clock }
func (w *world) after(d time.Duration, f func()) {
	w.alarms = append(w.alarms, alarm{w.clock.Add(d), f})
}
func (w *world) emit(e link.Event)                   { w.events = append(w.events, e) }
func (w *world) send(channel string, m jmsg.Message) { w.sent = append(w.sent, sent{channel, m}) }
func (w *world) hearing() bool                       { return w.reading }
func (w *world) newID() string                       { w.ids++; return fmt.Sprintf("id%d", w.ids) }
func (w *world) signal(s syscall.Signal) error {
	w.signals = append(w.signals, s)
	return w.refuse
}

// pass lets time go by and runs what becomes due, in order.
func (w *world) pass(d time.Duration) {
	end := w.clock.Add(d)
	for {
		i := -1
		for j, a := range w.alarms {
			if !a.at.After(end) && (i < 0 || a.at.Before(w.alarms[i].at)) {
				i = j
			}
		}
		if i < 0 {
			w.clock = end
			return
		}
		a := w.alarms[i]
		w.alarms = slices.Delete(w.alarms, i, i+1)
		if a.at.After(w.clock) {
			w.clock = a.at
		}
		a.f()
	}
}

func (w *world) lastSent(typ string) jmsg.Message {
	w.t.Helper()
	for _, s := range slices.Backward(w.sent) {
		if s.msg.Header.Type == typ {
			return s.msg
		}
	}
	w.t.Fatalf("no %s was sent", typ)
	return jmsg.Message{}
}

func (w *world) count(typ string) int {
	n := 0
	for _, s := range w.sent {
		if s.msg.Header.Type == typ {
			n++
		}
	}
	return n
}

func from(parent, typ, content string) jmsg.Message {
	return jmsg.Message{Header: jmsg.Header{ID: "k", Type: typ}, Parent: jmsg.Header{ID: parent}, RawHeader: json.RawMessage(`{"msg_id":"k"}`), Content: json.RawMessage(content)}
}

func (w *world) answer(to jmsg.Message, typ, content string) {
	w.core.shellMessage(from(to.Header.ID, typ, content))
}
func (w *world) publish(parent, typ, content string) { w.core.iopubMessage(from(parent, typ, content)) }
func (w *world) status(parent, state string) {
	w.publish(parent, "status", `{"execution_state":"`+state+`"}`)
}

func (w *world) execute(ids ...string) {
	for _, id := range ids {
		w.core.execute(&link.Execute{ID: id, Code: "code " + id}, nil)
	}
}

// begin makes the kernel start an execution, finish makes it end.
func (w *world) begin(id string) {
	w.status(id, "busy")
	w.publish(id, "execute_input", `{}`)
}

func (w *world) reply(id, content string) {
	w.core.shellMessage(from(id, "execute_reply", content))
}

func (w *world) finish(id string) {
	w.reply(id, `{"status":"ok","execution_count":3,"payload":[]}`)
	w.status(id, "idle")
}

// story names the events so far and forgets them.
func (w *world) story() string {
	var s []string
	for _, e := range w.events {
		text := string(e.Kind)
		switch {
		case e.Message != nil && e.Kind == link.EventMessage:
			text = e.Message.Type
			if name, inside, ok := streamText(e.Message.Content); ok {
				text = name + "=" + string(inside)
			}
		case e.Done != nil:
			text = "done:" + e.Done.Status
		case e.Interrupt != nil && e.Interrupt.GaveUp:
			text = "gave-up"
		}
		if e.ExecutionID != "" {
			text += "(" + e.ExecutionID + ")"
		}
		s = append(s, text)
	}
	w.events = nil
	return strings.Join(s, " ")
}

func (w *world) check(want string) {
	w.t.Helper()
	if got := w.story(); got != want {
		w.t.Errorf("events\n got %s\nwant %s", got, want)
	}
}

var errNo = errors.New("no")
