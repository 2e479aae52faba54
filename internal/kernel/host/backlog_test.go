package host

import (
	"strings"
	"testing"

	"runt/internal/kernel/link"
)

func TestOutputsThatNobodyTakesAreDroppedWithANote(t *testing.T) {
	output := link.Event{Kind: link.EventMessage, ExecutionID: "a", Message: &link.Message{Type: "stream"}}
	status := link.Event{Kind: link.EventMessage, ExecutionID: "a", Message: &link.Message{Type: "status"}}
	var d dropping
	if d.drop(output, maxBacklog-1) || d.drop(status, maxBacklog) || d.drop(link.Event{Kind: link.EventDone}, maxBacklog) {
		t.Error("dropped what is to be kept")
	}
	if _, ok := d.note(status); ok {
		t.Error("a note about nothing")
	}
	for range 2 {
		if !d.drop(output, maxBacklog) {
			t.Error("kept what is too much")
		}
	}
	n, ok := d.note(status)
	if !ok || n.ExecutionID != "a" || !strings.Contains(string(n.Message.Content), "2 outputs") {
		t.Errorf("note %+v, %v", n, ok)
	}
	if _, ok := d.note(status); ok {
		t.Error("told twice")
	}
}

func TestOldExecutionsAreForgotten(t *testing.T) {
	w := ready(t)
	for range maxKnown + 10 {
		w.core.remember(w.newID())
	}
	if len(w.core.known) != maxKnown || len(w.core.order) != maxKnown {
		t.Errorf("%d known", len(w.core.known))
	}
}
