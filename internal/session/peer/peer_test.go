package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/session"
	"runt/internal/testenv/leak"
	"runt/internal/wire"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestS01_VersionIsComparedWithTheFirstDaemon(t *testing.T) {
	from := make(chan client.Event)
	to := translateEvents(t.Context(), "own", from)
	at := func(kind client.EventKind, version string) session.Event {
		from <- client.Event{Kind: kind, Incarnation: client.Incarnation{Version: version}}
		return <-to
	}
	for i, step := range []struct {
		kind    client.EventKind
		version string
		want    string
	}{
		{client.Connected, "1", "Connected false"},
		{client.Disconnected, "1", "Disconnected false"},
		{client.Upgraded, "1", "Upgraded false"},
		{client.Upgraded, "own", "Upgraded false"},
		{client.Upgraded, "2", "Upgraded true"},
	} {
		e := at(step.kind, step.version)
		if got := fmt.Sprint(e.Kind, " ", e.VersionDiffers); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	close(from)
	if _, open := <-to; open {
		t.Error("the events go on after the watch has ended")
	}
}

func TestNobodyListens(t *testing.T) {
	started := 0
	d := New(Options{Socket: filepath.Join(t.TempDir(), "none"), StartDaemon: func(context.Context) error {
		started++
		return nil
	}})
	_, err := d.Dial(t.Context(), session.Target{ID: "x"}, nil)
	if !errors.Is(err, session.ErrNoDaemon) {
		t.Errorf("dial: %v", err)
	}
	if err := d.Wake(t.Context()); err != nil || started != 1 {
		t.Errorf("wake: %v, started %d times", err, started)
	}
	if got := d.Locate(t.Context(), session.Target{ID: "x"}); got.ID != "x" || got.Path != "" {
		t.Errorf("located %v", got)
	}
	if errors.Is(translate(&net.OpError{Op: "read", Err: errors.New("x")}), session.ErrNoDaemon) {
		t.Error("a broken connection was taken for no daemon")
	}
}

func TestSaveBlockedIsExplained(t *testing.T) {
	for _, tc := range []struct {
		reason wire.SaveBlockedReason
		code   domain.Code
	}{
		{wire.SaveBlockedReason{Type: wire.BlockedPathOpen, UUID: "u", Path: "/a"}, domain.CodeSaveConflict},
		{wire.SaveBlockedReason{Type: wire.BlockedSourceConflict, Message: "it changed"}, domain.CodeSaveConflict},
		{wire.SaveBlockedReason{Type: wire.BlockedIO, Message: "disk full"}, domain.CodeSaveFailed},
		{wire.SaveBlockedReason{Type: "novel"}, domain.CodeSaveFailed},
	} {
		e := blocked(wire.SaveBlocked{Reason: tc.reason}, "/b")
		if e.Code != tc.code || e.Message == "" || e.Hint == "" {
			t.Errorf("%+v gives %+v, want the code %s and both sentences", tc.reason, e, tc.code)
		}
	}
}
