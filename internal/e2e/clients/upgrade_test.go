package clients

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"runt/internal/domain"
	"runt/internal/session"
	"runt/internal/testenv"
)

// TestS01_SessionsOverHTTPOutliveAnUpgrade: when the daemon is another version
// than before, the server exits with the code that asks for a new one, and the
// sessions go on there, with notebooks and variables.
func TestS01_SessionsOverHTTPOutliveAnUpgrade(t *testing.T) {
	b := newBed(t)
	addr := freeAddress(t)
	first := b.startServer("127.0.0.1:" + addr)
	a := b.web(first.url, "upgraded")
	id := firstID(t, must(t)(a.try("create_notebook", nil)))
	must(t)(a.try("create_cell", map[string]any{"source": "v = 41", "and_run": true, "timeout_secs": 60}))
	b.upgrade(testenv.BinariesOf(t, "next"))
	if code := first.exitCode(t); code != session.ExitUpgraded {
		t.Fatalf("exit code %d, want %d", code, session.ExitUpgraded)
	}
	second := b.startServer("127.0.0.1:" + addr)
	t.Cleanup(func() { second.stop(t) })
	if text := must(t)(a.try("create_cell", map[string]any{"source": "v + 1", "and_run": true, "timeout_secs": 60})); !strings.Contains(text, "42") {
		t.Errorf("after the upgrade: %s", text)
	}
	if text := must(t)(a.try("list_notebooks", nil)); !strings.Contains(text, id) || !strings.Contains(text, "your default") {
		t.Errorf("the session holds: %s", text)
	}
	_, err := a.try("get_cell", map[string]any{"cell_id": "none"})
	if err == nil || !strings.Contains(err.Error(), string(domain.CodeCellNotFound)) {
		t.Errorf("an error after the upgrade: %v", err)
	}
}

// freeAddress is a port that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// upgrade replaces the daemon, and what is started from here on, by other programs.
func (b *bed) upgrade(next testenv.Programs) {
	b.t.Helper()
	before := b.daemon()
	for _, args := range [][]string{{"daemon", "stop"}, {"daemon", "start"}} {
		if args[1] == "start" {
			b.bin = next
		}
		if out, err := b.command(limited(b.t), "runt", args...).CombinedOutput(); err != nil {
			b.t.Fatalf("runt %v: %v: %s", args, err, out)
		}
	}
	if after := b.daemon(); after == 0 || after == before {
		b.t.Fatal(fmt.Sprint("the daemon was ", before, " and is ", after))
	}
}
