package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runt/internal/testenv"
	"runt/internal/wire"
)

// FakeLine connects a watcher with a daemon, in memory.
type FakeLine struct {
	*FakeDaemon
	down    atomic.Bool
	deaf    atomic.Bool // takes connections and never answers
	dials   atomic.Int32
	changes chan struct{} // of the socket's folder
	folders atomic.Int32  // watches that are open
}

func newLine(t *testing.T) *FakeLine {
	l := &FakeLine{FakeDaemon: &FakeDaemon{t: t, rooms: map[string]*FakeRoom{}, open: map[net.Conn]bool{}}, changes: make(chan struct{})}
	l.info = wire.DaemonInfo{DaemonVersion: "1", PID: 1, Runt: &wire.Implementation{Name: "runt", Version: "0.1", Incarnation: "a"}}
	return l
}

func (l *FakeLine) options() Options {
	return Options{
		Socket: "/run/x/s",
		Dial: func(context.Context, string) (net.Conn, error) {
			l.dials.Add(1)
			if l.down.Load() {
				return nil, errors.New("refused")
			}
			ours, theirs := net.Pipe()
			l.mu.Lock()
			l.open[theirs] = true
			l.mu.Unlock()
			if l.deaf.Load() {
				l.conns.Go(func() { swallow(theirs) })
			} else {
				l.conns.Go(func() { l.serve(theirs) })
			}
			return ours, nil
		},
		Notify: func(folder string) (<-chan struct{}, func() error, error) {
			if folder != "/run/x" {
				return nil, nil, fmt.Errorf("folder %q", folder)
			}
			l.folders.Add(1)
			return l.changes, func() error { l.folders.Add(-1); return nil }, nil
		},
	}
}

func swallow(c net.Conn) {
	b := make([]byte, 1024)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}

// watch runs a watcher for the test and returns its events.
func (l *FakeLine) watch(t *testing.T) (<-chan Event, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	events := Watch(ctx, l.options())
	return events, func() {
		cancel()
		for range events {
		}
		l.DropAll()
		l.conns.Wait()
		if n := l.folders.Load(); n != 0 {
			t.Errorf("%d folder watches are left", n)
		}
	}
}

// next wants the next event to be of a kind, within d.
func next(t *testing.T, events <-chan Event, kind EventKind, within time.Duration) Event {
	t.Helper()
	began := time.Now()
	select {
	case e := <-events:
		if e.Kind != kind {
			t.Fatalf("event %v after %v, want %v", e.Kind, time.Since(began), kind)
		}
		return e
	case <-time.After(within + time.Nanosecond): // after all that happens at that time
		t.Fatalf("no event within %v, want %v", within, kind)
	}
	panic("not reached")
}

func TestS11_HeartbeatsMakeNoPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		events, stop := l.watch(t)
		defer stop()
		first := next(t, events, Connected, 0)
		if first.Incarnation != (Incarnation{PID: 1, Version: "0.1", Impl: "runt", Token: "a"}) || first.Info.PID != 1 {
			t.Errorf("incarnation %+v", first.Incarnation)
		}
		began := time.Now()
		for range 100 {
			if e := next(t, events, Connected, heartbeat); e.Incarnation != first.Incarnation {
				t.Fatalf("incarnation %+v", e.Incarnation)
			}
		}
		if took := time.Since(began); took != 100*heartbeat {
			t.Errorf("100 heartbeats took %v", took)
		}
		if n := l.dials.Load(); n != 1 || len(l.Hellos(wire.ChannelPool)) != 1 || len(l.hellos) != 1 {
			t.Errorf("%d connections, handshakes %+v", n, l.hellos)
		}
	})
}

func TestS12_LossAndRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		events, stop := l.watch(t)
		defer stop()
		first := next(t, events, Connected, 0)

		l.DropAll() // the socket is lost, the daemon is the same
		if e := next(t, events, Disconnected, 0); e.Incarnation != first.Incarnation {
			t.Errorf("lost %+v", e.Incarnation)
		}
		next(t, events, Connected, 0)

		l.Rebirth() // a new process of the same version
		l.DropAll()
		next(t, events, Disconnected, 0)
		second := next(t, events, Upgraded, 0)
		if second.Incarnation == first.Incarnation || second.Incarnation.Version != first.Incarnation.Version {
			t.Errorf("upgraded to %+v", second.Incarnation)
		}
		if e := next(t, events, Connected, heartbeat); e.Incarnation != second.Incarnation {
			t.Errorf("then %+v", e.Incarnation)
		}
	})
}

func TestS20_ComesBackWhenTheDaemonDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.down.Store(true)
		events, stop := l.watch(t)
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := l.dials.Load(); n < 1400 || n > 2500 {
			t.Errorf("%d attempts in an hour", n)
		}
		select {
		case e := <-events:
			t.Fatalf("event %v without a daemon", e.Kind)
		default:
		}
		l.down.Store(false)
		l.changes <- struct{}{} // the socket appears
		next(t, events, Connected, 0)

		l.down.Store(true)
		l.DropAll()
		next(t, events, Disconnected, 0)
		time.Sleep(time.Hour)
		l.down.Store(false) // nothing is seen in the folder
		next(t, events, Connected, 5*lastBackoff/4)
	})
}

// TestFolderEventBeforeTheDaemonListens has the socket appear a moment before it answers.
func TestFolderEventBeforeTheDaemonListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		l.down.Store(true)
		events, stop := l.watch(t)
		defer stop()
		time.Sleep(time.Hour)
		l.changes <- struct{}{}
		time.Sleep(10 * time.Millisecond)
		l.down.Store(false)
		next(t, events, Connected, 250*time.Millisecond)
	})
}

func TestDaemonThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		events, stop := l.watch(t)
		defer stop()
		next(t, events, Connected, 0)
		l.mute.Store(true) // no request is answered
		next(t, events, Disconnected, heartbeat+answerLimit)
		l.mute.Store(false)
		next(t, events, Connected, answerLimit+lastBackoff)

		l.deaf.Store(true)
		l.DropAll()
		next(t, events, Disconnected, 0)
		time.Sleep(time.Minute)
		l.deaf.Store(false)
		next(t, events, Connected, answerLimit+5*lastBackoff/4)
	})
}

func TestWatchEnds(t *testing.T) {
	for name, prepare := range map[string]func(l *FakeLine){
		"while connected":          func(*FakeLine) {},
		"while the daemon is away": func(l *FakeLine) { l.down.Store(true) },
		"while it hangs":           func(l *FakeLine) { l.deaf.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(t)
				prepare(l)
				_, stop := l.watch(t)
				time.Sleep(time.Second)
				began := time.Now()
				stop()
				if took := time.Since(began); took != 0 {
					t.Errorf("ending took %v", took)
				}
			})
		})
	}
}

func TestSlowReaderMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(t)
		events, stop := l.watch(t)
		defer stop()
		time.Sleep(time.Hour)
		next(t, events, Connected, 0)
		l.Rebirth()
		l.DropAll()
		time.Sleep(time.Hour)
		next(t, events, Disconnected, 0)
		next(t, events, Upgraded, 0)
	})
}

// TestWatchRealSocket starts a daemon in a folder that is made after the watch began.
func TestWatchRealSocket(t *testing.T) {
	d := newFake(t)
	d.Stop()
	folder := filepath.Join(filepath.Dir(d.Socket), "later")
	d.Socket = filepath.Join(folder, "s")
	ctx, cancel := context.WithCancel(t.Context())
	events := Watch(ctx, Options{Socket: d.Socket})
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	d.Listen()
	if e := testenv.Receive(t, t.Context(), "the daemon", events); e.Kind != Connected {
		t.Errorf("event %v", e.Kind)
	}
	d.Stop()
	if e := testenv.Receive(t, t.Context(), "the loss", events); e.Kind != Disconnected {
		t.Errorf("event %v", e.Kind)
	}
	d.Rebirth()
	d.Listen()
	if e := testenv.Receive(t, t.Context(), "the new daemon", events); e.Kind != Upgraded {
		t.Errorf("event %v", e.Kind)
	}
	cancel()
	for range events {
	}
}

func TestFolderWatch(t *testing.T) {
	dir := t.TempDir()
	changes, stop, err := watchFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Receive(t, t.Context(), "the change", changes)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := watchFolder(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is watched")
	}
}

func TestEventKindNames(t *testing.T) {
	for kind, want := range map[EventKind]string{Connected: "connected", Disconnected: "disconnected", Upgraded: "upgraded", EventKind(9): "unknown"} {
		if got := kind.String(); got != want {
			t.Errorf("%d is %q, want %q", kind, got, want)
		}
	}
}
