package roomactor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"runt/internal/kernel"
)

func TestK04_DeathIsToldInASentence(t *testing.T) {
	crash := "loaded\nFatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File \"x.py\", line 1 in f\n" + strings.Repeat("noise\n", 100)
	for _, c := range []struct {
		name string
		kind kernel.EventKind
		exit *kernel.Exit
		want []string
		not  string
	}{
		{"code", kernel.EventDied, &kernel.Exit{Code: 42, Stderr: "bye\n\n"}, []string{"exit code 42.\nbye"}, "\n\n"},
		{"quiet", kernel.EventDied, &kernel.Exit{Code: 42}, []string{"exit code 42."}, "\n"},
		{"exit()", kernel.EventDied, &kernel.Exit{}, []string{"by itself", "exit()"}, "died"},
		{"killed", kernel.EventDied, &kernel.Exit{Code: -1, Signal: "SIGKILL"}, []string{"SIGKILL", "out of memory"}, "\n"},
		{"ended by its host", kernel.EventDied, &kernel.Exit{Code: -1, Signal: "SIGKILL", Forced: true, Reason: "the kernel closed its shell channel and was ended"}, []string{"The kernel closed its shell channel and was ended."}, "memory"},
		{"crash", kernel.EventDied, &kernel.Exit{Code: -1, Signal: "SIGSEGV", Stderr: crash}, []string{"SIGSEGV.\nFatal Python error", "line 1 in f"}, "loaded"},
		{"long", kernel.EventDied, &kernel.Exit{Code: 1, Stderr: strings.Repeat("a\n", 50) + "last"}, []string{"last"}, strings.Repeat("a\n", 20)},
		{"not started", kernel.EventFailed, &kernel.Exit{Code: 1, Reason: "it exited with code 1", Stderr: "No module named ipykernel"}, []string{"not be started: it exited", "No module"}, ""},
		{"host", kernel.EventLost, nil, []string{"process that held the kernel"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reason, hint := deathReason(kernel.Event{Kind: c.kind, Exit: c.exit})
			for _, w := range c.want {
				if !strings.Contains(reason, w) {
					t.Errorf("no %q in %q", w, reason)
				}
			}
			if c.not != "" && strings.Contains(reason, c.not) || hint == "" || strings.Count(reason, "\n") > lastWordLines {
				t.Errorf("got %q, %q", reason, hint)
			}
		})
	}
}

func TestPagesAreOutputs(t *testing.T) {
	payload := `[{"source":"set_next_input","text":"x"},{"source":"page","start":0,"data":{"text/plain":"Signature: len"}},{"source":"page","data":{}}]`
	got := pages(json.RawMessage(payload))
	if len(got) != 1 || got[0].Type != "display_data" || fmt.Sprint(got[0].Content) != "map[data:map[text/plain:Signature: len]]" {
		t.Errorf("got %v", got)
	}
	for _, odd := range []string{"", "null", "7", `[7]`, `[]`} {
		if got := pages(json.RawMessage(odd)); got != nil {
			t.Errorf("%s: %v", odd, got)
		}
	}
}
