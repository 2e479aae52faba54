package host

import (
	"encoding/json"
	"testing"
	"time"

	"runt/internal/kernel/link"
)

func TestAKernelThatIsLeavingGetsNothingMore(t *testing.T) {
	w := ready(t)
	w.execute("a", "b")
	w.begin("a")
	w.reply("a", `{"status":"ok","payload":[{"source":"ask_exit","keepkernel":false}]}`)
	w.status("a", "idle")
	w.core.channelLost(chShell)
	w.pass(leaveLimit / 2)
	if id := w.lastSent("execute_request").Header.ID; id != "a" || len(w.signals) != 0 {
		t.Errorf("sent %s and the signals %v to a kernel that is leaving", id, w.signals)
	}
	w.core.exited(link.Exit{})
	if e := w.events[len(w.events)-1]; e.Kind != link.EventDied || e.Exit.Forced {
		t.Errorf("ended with %s, %+v", e.Kind, e.Exit)
	}

	w = ready(t)
	w.execute("a", "b")
	w.begin("a")
	w.reply("a", `{"status":"ok","payload":[{"source":"ask_exit"}]}`)
	w.status("a", "idle")
	w.pass(exitLimit + time.Second)
	if id := w.lastSent("execute_request").Header.ID; id != "b" {
		t.Error("a kernel that stays gets nothing any more")
	}
}

func TestAKernelThatClosesAChannelIsEndedAndThatIsSaid(t *testing.T) {
	w := ready(t)
	w.core.channelLost(chIOPub)
	w.pass(lostLimit + time.Second)
	w.core.exited(link.Exit{Code: -1, Signal: "SIGKILL"})
	if e := w.events[len(w.events)-1]; len(w.signals) != 1 || !e.Exit.Forced || e.Exit.Reason == "" {
		t.Errorf("signals %v, %+v", w.signals, e.Exit)
	}
}

func TestPayloadsThatAskToExit(t *testing.T) {
	for payload, want := range map[string]bool{
		"": false, "null": false, "7": false, `[{"source":"page"}]`: false, `[{"source":"ask_exit","keepkernel":true}]`: false,
		`[{"source":"page"},{"source":"ask_exit"}]`: true,
	} {
		if got := asksToExit(json.RawMessage(payload)); got != want {
			t.Errorf("%s: %v", payload, got)
		}
	}
}
