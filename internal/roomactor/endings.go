package roomactor

import (
	"encoding/json"
	"fmt"
	"strings"

	"runt/internal/kernel"
	"runt/internal/room"
)

// deathReason says in a sentence how the kernel ended, and what to do.
func deathReason(ev kernel.Event) (reason, hint string) {
	hint = "Variables are lost. Restart the kernel, or just run cells again: that starts a new one."
	x := ev.Exit
	switch {
	case x == nil || ev.Kind == kernel.EventLost:
		reason = "The process that held the kernel is gone."
	case ev.Kind == kernel.EventFailed:
		reason = "The kernel could not be started."
		if x.Reason != "" {
			reason = "The kernel could not be started: " + x.Reason
		}
		hint = "Check the environment with runt doctor, then restart the kernel."
	case x.Forced:
		reason = strings.ToUpper(x.Reason[:1]) + x.Reason[1:] + "."
	case x.Signal == "SIGKILL":
		reason = "The kernel was killed (SIGKILL), possibly because it was out of memory."
	case x.Signal != "":
		reason = "The kernel was ended by " + x.Signal + "."
	case x.Code == 0:
		reason = "The kernel ended by itself (exit code 0), as it does after exit()."
	default:
		reason = fmt.Sprintf("The kernel ended with exit code %d.", x.Code)
	}
	if x != nil && ev.Kind != kernel.EventLost {
		if said := lastWords(x.Stderr); said != "" {
			reason += "\n" + said
		}
	}
	return reason, hint
}

// lastWordLines is how much of what a kernel said at its end is worth reading.
const lastWordLines = 12

// lastWords returns the part of a kernel's own stderr that tells why it ended:
// from the report of a crash on, else its last lines.
func lastWords(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "Fatal Python error") {
			return strings.Join(lines[i:min(i+lastWordLines, len(lines))], "\n")
		}
	}
	return strings.Join(lines[max(0, len(lines)-lastWordLines):], "\n")
}

// pages returns what code showed in a pager, such as help with "len?", as
// outputs: notebooks have no pager.
func pages(payload json.RawMessage) []room.Message {
	var list []struct {
		Source string         `json:"source"`
		Data   map[string]any `json:"data"`
	}
	if len(payload) == 0 || json.Unmarshal(payload, &list) != nil {
		return nil
	}
	var out []room.Message
	for _, p := range list {
		if p.Source == "page" && len(p.Data) > 0 {
			out = append(out, room.Message{Type: "display_data", Content: map[string]any{"data": p.Data}})
		}
	}
	return out
}
