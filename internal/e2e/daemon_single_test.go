package e2e

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"runt/internal/testenv"
)

// inode names the socket file: a second daemon would put another one in its place.
func (b *bed) inode(t testing.TB) uint64 {
	t.Helper()
	info, err := os.Stat(b.socket())
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestC025_OneDaemon: of many that start at once one stays, and it stays the
// only one, also while it cannot answer.
func TestC025_OneDaemon(t *testing.T) {
	const starts = 20
	b := newBed(t, testenv.Binaries(t))
	type end struct {
		err   error
		after time.Duration
	}
	ends := make(chan end, starts)
	var all []*exec.Cmd
	for range starts {
		cmd := b.command(t.Context(), "runtimed")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	started := time.Now()
	for _, cmd := range all {
		go func() { ends <- end{cmd.Wait(), time.Since(started)} }()
	}
	var longest time.Duration
	for range starts - 1 {
		select {
		case e := <-ends:
			if e.err == nil {
				t.Error("a daemon that found another one ended well")
			}
			longest = max(longest, e.after)
		case <-time.After(patience):
			t.Fatal("more than one daemon stays")
		}
	}
	t.Logf("%d starts at once: all but one had ended after %v", starts, longest.Round(time.Millisecond))
	await(t, patience, "the daemon to answer", func() bool { return b.daemon(t.Context()) != 0 })
	first, socket := b.daemon(t.Context()), b.inode(t)

	kill(t, first, syscall.SIGSTOP)
	began := time.Now()
	err := b.command(t.Context(), "runtimed").Run()
	took := since(began)
	kill(t, first, syscall.SIGCONT)
	if err == nil {
		t.Error("a second daemon ended well")
	}
	t.Logf("beside a daemon that is stopped, a second one ends after %v", took)
	if now := b.inode(t); now != socket {
		t.Errorf("the socket was %d and is %d", socket, now)
	}
	if now := b.daemon(t.Context()); now != first {
		t.Errorf("the daemon was %d and is %d", first, now)
	}
	b.runt(t, "daemon", "stop")
	<-ends
}
