package host

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/kernel/link"
	"runt/internal/kernel/zmtp"
)

func TestReadyNeedsShellAndIOPub(t *testing.T) {
	w := newWorld(t, link.LaunchSpec{})
	w.execute("a")
	w.pass(time.Second)
	if len(w.sent) != 0 {
		t.Fatalf("sent %d messages without channels", len(w.sent))
	}
	w.core.connected()
	w.pass(time.Second)
	if n := w.count("kernel_info_request"); n != 1 {
		t.Errorf("%d requests to a kernel that has not answered", n)
	}
	w.answer(w.lastSent("kernel_info_request"), "kernel_info_reply", `{"implementation":"ipython"}`)
	w.check("accepted(a)")
	w.pass(200 * time.Millisecond) // iopub is silent: the subscription came late
	if n := w.count("kernel_info_request"); n < 3 {
		t.Errorf("%d requests while iopub is silent", n)
	}
	w.status(w.lastSent("kernel_info_request").Header.ID, "busy")
	w.check("ready")
	if n := w.count("execute_request"); n != 2 {
		t.Errorf("%d executions sent, want the tuning and a", n)
	}
	n := w.count("kernel_info_request")
	w.pass(time.Minute)
	if w.count("kernel_info_request") != n {
		t.Error("a ready kernel is still probed")
	}
}

func TestExecutionsGoOneAtATimeInOrder(t *testing.T) {
	w := ready(t)
	w.execute("a", "b", "a")
	w.check("accepted(a) accepted(b)")
	if w.count("execute_request") != 1 {
		t.Error("b was sent before a was over")
	}
	w.begin("a")
	w.publish("a", "stream", `{"name":"stdout","text":"x"}`)
	w.finish("a")
	w.check("status(a) execute_input(a) stdout=x(a) status(a) done:ok(a)")
	if w.lastSent("execute_request").Header.ID != "b" {
		t.Error("b was not sent")
	}
	w.begin("b")
	w.status("b", "idle") // idle may come before the reply
	w.reply("b", `{"status":"ok"}`)
	w.check("status(b) execute_input(b) status(b) done:ok(b)")
	w.publish("a", "stream", `{"name":"stdout","text":"late"}`)
	w.pass(time.Second)
	w.check("stdout=late(a)")
	if w.core.busy() {
		t.Error("still busy")
	}
}

func TestCancelEndsOnlyWhatWaits(t *testing.T) {
	w := ready(t)
	w.execute("a", "b", "c")
	w.story()
	var refused string
	w.core.cancel("a", func(r link.Reply) { refused = r.Error })
	w.core.cancel("b", nil)
	w.check("done:aborted(b)")
	if refused == "" {
		t.Error("the running execution was cancelled")
	}
	w.finish("a")
	w.story()
	if w.lastSent("execute_request").Header.ID != "c" {
		t.Error("c was not sent after a")
	}
}

func TestLostIdle(t *testing.T) {
	w := ready(t)
	w.execute("a")
	w.begin("a")
	w.reply("a", `{"status":"ok"}`)
	w.pass(900 * time.Millisecond)
	w.publish("a", "stream", `{"name":"stdout","text":"x"}`) // the kernel still talks
	w.pass(900 * time.Millisecond)
	w.check("accepted(a) status(a) execute_input(a) stdout=x(a)")
	w.reading = true // a large message is on its way
	w.pass(3 * time.Second)
	w.check("")
	w.reading = false
	w.publish("a", "display_data", `{}`)
	w.pass(2 * time.Second)
	w.check("display_data(a) done:ok(a)")
}

func TestLostIdleOfALoudKernelIsBounded(t *testing.T) {
	w := ready(t)
	w.execute("a")
	w.begin("a")
	w.reply("a", `{"status":"ok"}`)
	for range 80 {
		w.publish("a", "clear_output", `{}`)
		w.pass(500 * time.Millisecond)
	}
	if !strings.Contains(w.story(), "done:ok(a)") {
		t.Error("never done")
	}
}

func TestLostReply(t *testing.T) {
	w := ready(t)
	w.execute("a")
	w.begin("a")
	w.status("a", "idle")
	w.pass(2 * time.Second)
	w.check("accepted(a) status(a) execute_input(a) status(a) done:error(a)")

	w.execute("b")
	w.begin("b")
	w.core.interrupt("b", nil)
	w.pass(100 * time.Millisecond)
	w.status("b", "idle")
	w.pass(300 * time.Millisecond)
	w.check("accepted(b) status(b) execute_input(b) interrupt(b) status(b) error(b) done:error(b)")
}

func TestErrorsOnlyInTheReplyAreTold(t *testing.T) {
	w := ready(t)
	w.execute("a", "b")
	w.begin("a")
	w.reply("a", `{"status":"error","ename":"Oops","evalue":"bad","traceback":["line"]}`)
	w.status("a", "idle")
	if e := w.events[len(w.events)-2]; e.Message == nil || string(e.Message.Content) != `{"ename":"Oops","evalue":"bad","traceback":["line"]}` {
		t.Errorf("told %+v", e.Message)
	}
	w.story()
	w.begin("b")
	w.publish("b", "error", `{"ename":"Oops"}`)
	w.reply("b", `{"status":"error","ename":"Oops"}`)
	w.status("b", "idle")
	w.check("status(b) execute_input(b) error(b) status(b) done:error(b)")
}

func TestAbortedByMistakeIsSentAgain(t *testing.T) {
	w := ready(t)
	w.execute("a")
	for range 2 {
		w.status("a", "busy")
		w.reply("a", `{"status":"aborted"}`)
		w.status("a", "idle")
		w.pass(abortRetry)
	}
	if n := w.count("execute_request"); n != 3 {
		t.Errorf("sent %d times", n)
	}
	w.begin("a")
	w.finish("a")
	if !strings.HasSuffix(w.story(), "done:ok(a)") {
		t.Error("not done")
	}
	w.execute("b")
	for range maxAborts + 1 {
		w.reply("b", `{"status":"abort"}`)
		w.pass(abortRetry)
	}
	w.status("b", "idle")
	w.check("accepted(b) status(b) done:aborted(b)")
}

func TestStopOnErrorAbortsWhatWaits(t *testing.T) {
	w := ready(t)
	w.core.execute(&link.Execute{ID: "a", StopOnError: true}, nil)
	w.execute("b", "c")
	w.begin("a")
	w.reply("a", `{"status":"error"}`)
	w.status("a", "idle")
	w.check("accepted(a) accepted(b) accepted(c) status(a) execute_input(a) status(a) done:error(a) done:aborted(b) done:aborted(c)")
}

func TestInterruptBeforeTheKernelBeganIsRemembered(t *testing.T) {
	w := ready(t)
	w.execute("a", "b")
	w.core.interrupt("a", nil)
	w.core.interrupt("b", nil) // waits in the host
	w.pass(5 * time.Second)
	w.check("accepted(a) accepted(b) done:aborted(b)")
	if len(w.signals) != 0 {
		t.Fatal("a kernel that has not begun was interrupted")
	}
	w.begin("a")
	w.pass(settle)
	w.check("status(a) execute_input(a) interrupt(a)")
	w.pass(20 * time.Second)
	w.check("interrupt(a) interrupt(a) interrupt(a) interrupt(a) interrupt(a) gave-up(a)")
	if len(w.signals) != 6 || w.signals[0] != syscall.SIGINT {
		t.Errorf("signals %v", w.signals)
	}
	w.finish("a")
	w.story()
	w.core.interrupt("a", nil) // over
	w.core.interrupt("", nil)
	w.pass(time.Minute)
	w.check("")
	if len(w.signals) != 6 {
		t.Error("an idle kernel was interrupted")
	}
}

func TestInterruptStopsWithTheExecution(t *testing.T) {
	w := ready(t)
	w.execute("a", "b")
	w.begin("a")
	w.pass(time.Second)
	w.core.interrupt("", nil)
	w.core.interrupt("a", nil) // once more, at once
	w.finish("a")
	w.begin("b")
	w.pass(time.Minute)
	if len(w.signals) != 2 {
		t.Errorf("%d signals, want 2: none for b", len(w.signals))
	}
}

func TestAnInterruptedIpykernelIsGivenSomethingToRead(t *testing.T) {
	w := newWorld(t, link.LaunchSpec{})
	w.core.connected()
	w.answer(w.lastSent("kernel_info_request"), "kernel_info_reply", `{"implementation":"ipython"}`)
	w.status("", "idle")
	w.execute("a")
	w.begin("a")
	w.pass(time.Second)
	n := w.count("kernel_info_request")
	w.core.interrupt("a", nil)
	w.pass(wakeAfter)
	if w.count("kernel_info_request") != n+1 {
		t.Error("its event loop was not woken")
	}
	w.story()
	m := w.lastSent("kernel_info_request").Header.ID
	w.status(m, "busy") // the host's own business
	w.core.shellMessage(from(m, "kernel_info_reply", `{}`))
	w.check("")
}

func TestInterruptWithoutExecuteInput(t *testing.T) {
	w := newWorld(t, link.LaunchSpec{InterruptMode: "message"})
	w.core.connected()
	w.answer(w.lastSent("kernel_info_request"), "kernel_info_reply", `{}`)
	w.status("", "idle")
	w.execute("a")
	w.core.interrupt("a", nil)
	w.status("a", "busy") // all that a silent kernel says
	w.pass(startedGuess + settle)
	if w.count("interrupt_request") != 1 || len(w.signals) != 0 {
		t.Errorf("%d requests, %d signals", w.count("interrupt_request"), len(w.signals))
	}
}

func TestInterruptThatCannotBeDeliveredIsReported(t *testing.T) {
	w := ready(t)
	w.refuse = errNo
	w.execute("a")
	w.begin("a")
	w.core.interrupt("a", nil)
	w.pass(settle)
	if e := w.events[len(w.events)-1]; e.Interrupt == nil || e.Interrupt.Error != "no" {
		t.Errorf("got %+v", e.Interrupt)
	}
}

func TestStreamsAreMergedAndNothingIsLost(t *testing.T) {
	w := ready(t)
	w.execute("a")
	w.story()
	for _, s := range []string{`{"name":"stdout","text":"1\n"}`, `{"text":"\ud83d","name":"stdout"}`, `{"name":"stdout","text":"\ude00\""}`,
		`{"name":"stderr","text":"e"}`, `{"name":"stdout","text":""}`, `{"name":"stdout","text":"2"}`} {
		w.publish("a", "stream", s)
	}
	w.publish("", "stream", `{"name":"stdout","text":"nobody's"}`)
	w.check(`stdout=1\n\ud83d\ude00\"(a) stderr=e(a) stdout=2(a)`)
	w.pass(mergeTime)
	w.check("stdout=nobody's")
	w.publish("a", "stream", `{"name":"stdout","text":"3"}`)
	w.publish("a", "display_data", `{}`)
	w.check("stdout=3(a) display_data(a)")
	w.publish("a", "stream", `{"odd":1}`)
	w.check("stream(a)")
	w.pass(time.Second)
	w.check("")
}

func TestMergedTextIsBounded(t *testing.T) {
	w := ready(t)
	w.execute("a")
	w.story()
	line := strings.Repeat("x", 10<<10)
	for range 100 {
		w.publish("a", "stream", `{"name":"stdout","text":"`+line+`"}`)
	}
	w.publish("a", "stream", `{"name":"stdout","text":"`+strings.Repeat(line, 30)+`"}`)
	total := 0
	for _, e := range w.events {
		var s struct{ Text string }
		if err := json.Unmarshal(e.Message.Content, &s); err != nil {
			t.Fatal(err)
		}
		if total += len(s.Text); len(s.Text) > mergeSize+len(line) && len(s.Text) != 30*len(line) {
			t.Errorf("event with %d bytes", len(s.Text))
		}
	}
	if total != 130*len(line) || len(w.events) > 8 {
		t.Errorf("%d bytes in %d events", total, len(w.events))
	}
}

func TestInputGoesToWhoAsked(t *testing.T) {
	w := ready(t)
	var refused string
	say := func(r link.Reply) { refused = r.Error }
	w.core.input("x", say)
	if refused == "" {
		t.Error("input without a request was taken")
	}
	w.execute("a")
	w.begin("a")
	w.story()
	w.core.stdinMessage(from("a", "input_request", `{"prompt":"?"}`))
	w.check("input_request(a)")
	w.core.input("me", say)
	if m := w.lastSent("input_reply"); refused != "" || string(m.RawParent) != `{"msg_id":"k"}` || !strings.Contains(string(m.Content), `"me"`) {
		t.Errorf("refused %q, sent %s to %s", refused, m.Content, m.RawParent)
	}
	w.core.stdinMessage(from("a", "input_request", `{}`))
	w.finish("a")
	w.core.input("late", say)
	if refused == "" || w.count("input_reply") != 1 {
		t.Error("input after the end was sent")
	}
}

func TestRequestsAndComms(t *testing.T) {
	w := ready(t)
	var got link.Reply
	reply := func(r link.Reply) { got = r }
	w.core.command(link.Command{Op: link.OpRequest, Channel: chShell, Message: &link.Message{Type: "inspect_request"}}, reply)
	w.answer(w.lastSent("inspect_request"), "inspect_reply", `{"found":true}`)
	if got.Message == nil || got.Message.Type != "inspect_reply" || len(w.core.requests) != 0 {
		t.Errorf("got %+v", got)
	}
	for _, c := range []link.Command{{Op: "dance"}, {Op: link.OpRequest, Channel: "iopub", Message: &link.Message{}}, {Op: link.OpRequest}, {Op: link.OpComm}, {Op: link.OpExecute}} {
		if got = (link.Reply{}); true {
			w.core.command(c, reply)
		}
		if got.Error == "" {
			t.Errorf("%+v was accepted", c)
		}
	}
	w.core.command(link.Command{Op: link.OpComm, Message: &link.Message{Type: "comm_msg", ID: "mine", Buffers: [][]byte{{1}}}}, nil)
	if m := w.lastSent("comm_msg"); m.Header.ID != "mine" || len(m.Buffers) != 1 {
		t.Errorf("sent %+v", m)
	}
}

func TestShutdownAsksThenTellsThenKills(t *testing.T) {
	for _, busy := range []bool{false, true} {
		w := ready(t)
		if busy {
			w.execute("a")
		}
		ended := false
		w.core.shutdown(func(link.Reply) { ended = true })
		w.core.shutdown(nil)
		if w.count("shutdown_request") != 1 || len(w.signals) != 0 {
			t.Fatalf("%d requests, signals %v", w.count("shutdown_request"), w.signals)
		}
		w.pass(askBusy)
		if (len(w.signals) == 1) != busy {
			t.Errorf("busy %v: signals %v after %s", busy, w.signals, askBusy)
		}
		w.pass(time.Minute)
		if len(w.signals) != 2 || w.signals[0] != syscall.SIGTERM || w.signals[1] != syscall.SIGKILL || ended {
			t.Errorf("signals %v, ended %v", w.signals, ended)
		}
		w.story()
		w.core.exited(link.Exit{Signal: "SIGKILL"})
		if e := w.events[0]; e.Kind != link.EventDied || !e.Exit.Requested || !ended {
			t.Errorf("got %+v, ended %v", e, ended)
		}
		var again bool
		w.core.shutdown(func(link.Reply) { again = true })
		if !again {
			t.Error("shutdown of what has ended hangs")
		}
	}
}

func TestDeathEndsEverything(t *testing.T) {
	w := ready(t)
	w.execute("a", "b")
	w.begin("a")
	w.publish("a", "stream", `{"name":"stdout","text":"last"}`)
	var refused string
	w.core.request(chShell, &link.Message{Type: "x"}, func(r link.Reply) { refused = r.Error })
	w.story()
	w.core.exited(link.Exit{Code: 42, Reason: "r"})
	w.check("stdout=last(a) died(a)")
	if refused == "" || w.core.busy() {
		t.Errorf("request %q, busy %v", refused, w.core.busy())
	}
	w.core.execute(&link.Execute{ID: "c"}, func(r link.Reply) { refused = r.Error })
	if !strings.Contains(refused, "gone") {
		t.Errorf("execute after the end: %q", refused)
	}
	w.core.exited(link.Exit{})
	w.core.interrupt("a", nil)
	w.pass(time.Hour)
	w.check("")
}

func TestFailureToStart(t *testing.T) {
	w := newWorld(t, link.LaunchSpec{})
	w.execute("a")
	w.core.exited(link.Exit{Code: 1, Stderr: "no module"})
	w.check("accepted(a) failed")
}

func TestClosedChannelOfALivingKernel(t *testing.T) {
	w := ready(t)
	w.core.channelLost(chShell)
	w.pass(time.Minute)
	if len(w.signals) != 1 || w.signals[0] != syscall.SIGKILL {
		t.Errorf("signals %v", w.signals)
	}
	w.core.exited(link.Exit{Signal: "SIGKILL", Reason: "r"})
	if e := w.events[0]; !strings.Contains(e.Exit.Reason, "shell") {
		t.Errorf("reason %q", e.Exit.Reason)
	}
}

func TestHeartbeatAndTooLargeOutputsAreReported(t *testing.T) {
	w := ready(t)
	w.core.heartbeat(true)
	w.core.heartbeat(false)
	w.core.heartbeat(false)
	w.check("unresponsive")
	w.core.lostOutput(tooLarge{chIOPub, &zmtp.TooLargeError{Bytes: 7}})
	w.execute("a")
	w.core.lostOutput(tooLarge{chIOPub, &zmtp.TooLargeError{Bytes: 7}})
	if got := w.story(); !strings.Contains(got, "7 bytes was dropped") {
		t.Errorf("got %s", got)
	}
}

func TestWelcomeTellsWhatRunsAndWaits(t *testing.T) {
	w := ready(t)
	w.execute("a", "b", "c")
	if got := w.core.welcome(); got.Running != "a" || strings.Join(got.Queued, " ") != "b c" || got.Phase != "ready" {
		t.Errorf("got %+v", got)
	}
}
