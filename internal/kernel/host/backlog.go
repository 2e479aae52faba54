package host

import (
	"encoding/json"
	"fmt"

	"runt/internal/kernel/link"
)

// maxBacklog is how much may lie on disk for a daemon that does not take it.
// Beyond that outputs are dropped, and counted; everything else is kept.
const maxBacklog = 1 << 30

// dropping counts the outputs of one execution that were dropped.
type dropping struct {
	execution string
	outputs   int
}

// drop says whether an event is to be dropped because the disk holds too much, and counts it.
func (d *dropping) drop(e link.Event, backlog int64) bool {
	if backlog < maxBacklog || e.Kind != link.EventMessage {
		return false
	}
	switch e.Message.Type {
	case "stream", "display_data", "update_display_data":
		d.execution = e.ExecutionID
		d.outputs++
		return true
	}
	return false
}

// note returns an event that tells what was dropped, for before the next event that is kept.
func (d *dropping) note(e link.Event) (link.Event, bool) {
	if d.outputs == 0 {
		return link.Event{}, false
	}
	text := fmt.Sprintf("[runt: %d outputs were dropped because nobody took them in time]\n", d.outputs)
	content, err := json.Marshal(map[string]string{"name": "stderr", "text": text})
	if err != nil {
		return link.Event{}, false // a map of strings can always be encoded
	}
	n := link.Event{Kind: link.EventMessage, ExecutionID: d.execution, At: e.At,
		Message: &link.Message{Type: "stream", ParentID: d.execution, Content: content}}
	*d = dropping{}
	return n, true
}
