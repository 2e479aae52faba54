package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runt/internal/domain"
)

func TestS11_HeartbeatsAreNotReconnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		for range 100 {
			time.Sleep(10 * time.Second)
			if got := c.Apply(Event{Kind: Connected}); got.Kind != NoOp {
				t.Fatalf("a heartbeat led to %s", got)
			}
		}
		synctest.Wait()
		if n := d.dialCount(); n != 1 {
			t.Errorf("%d dials after 100 heartbeats, want the first only", n)
		}
	})
}

func TestS12_RestartAndLostSocketBothHeal(t *testing.T) {
	for name, events := range map[string][]EventKind{
		"same version restarts": {Disconnected, Upgraded},
		"restart seen at once":  {Upgraded},
		"lost and found again":  {Disconnected, Connected},
		"nothing seen":          {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d := fixture(t)
				mustConnect(t, c, file("/a"))
				d.kill()
				synctest.Wait()
				d.start()
				for _, k := range events {
					c.Apply(Event{Kind: k})
				}
				s := mustUse(t, c, "")
				if s.Handle.Path() != "/a" || isDone(s.Handle) {
					t.Errorf("got a session of %s, done %v", s.Handle.Path(), isDone(s.Handle))
				}
				if n := d.peerCount(d.idOf("/a")); n != 1 {
					t.Errorf("%d peers in the room, want 1", n)
				}
			})
		})
	}
}

func TestS13_ConnectDuringRejoinWins(t *testing.T) {
	for _, initial := range []bool{false, true} {
		t.Run(fmt.Sprintf("initial=%v", initial), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var in []Initial
				if initial {
					in = []Initial{{Target: file("/a"), Default: true}}
				}
				c, d := fixture(t, in...)
				if !initial {
					mustConnect(t, c, file("/a"))
					d.cut()
				}
				gate := make(chan struct{})
				d.mu.Lock()
				d.hold["/a"] = gate
				d.mu.Unlock()
				c.Apply(Event{Kind: Connected})
				synctest.Wait() // the rejoin of /a is connecting
				j := mustConnect(t, c, file("/b"))
				if j.SwitchedFrom == nil || j.SwitchedFrom.Path != "/a" {
					t.Errorf("switched from %+v, want /a", j.SwitchedFrom)
				}
				close(gate)
				synctest.Wait()
				if got := defaultOf(c); got != "/b" {
					t.Errorf("the default is %q, want /b", got)
				}
				if n := d.peerCount(d.idOf("/a")); n != 0 {
					t.Errorf("%d peers left in /a, want 0", n)
				}
				_, err := use(t.Context(), c, "/a")
				wantCode(t, err, domain.CodeSessionSwitched)
			})
		})
	}
}

func TestS15_DisconnectCancelsRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		d.mu.Lock()
		d.delays["/a"] = time.Second
		d.mu.Unlock()
		d.cut()
		synctest.Wait()
		if _, err := c.Disconnect(""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if held := c.Held(); len(held) != 0 {
			t.Errorf("still holds %v", held)
		}
		if n := d.peerCount(d.idOf("/a")); n != 0 {
			t.Errorf("%d peers left", n)
		}
		_, err := use(t.Context(), c, "")
		wantCode(t, err, domain.CodeSessionDisconnected)
	})
}

func TestS15_DisconnectCancelsConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		d.delays["/a"] = time.Second
		result := make(chan error, 1)
		go func() {
			_, err := c.Connect(t.Context(), file("/a"))
			result <- err
		}()
		synctest.Wait()
		if _, err := c.Disconnect(""); err != nil {
			t.Fatal(err)
		}
		wantCode(t, <-result, domain.CodeSessionDisconnected)
		time.Sleep(time.Minute)
		if held := c.Held(); len(held) != 0 || d.peerCount(d.idOf("/a")) != 0 {
			t.Errorf("holds %v", held)
		}
	})
}

func TestS16_LaterConnectOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		d.delays["/a"], d.delays["/b"] = time.Second, 100*time.Millisecond
		errs := make(chan error, 3)
		connect := func(path string) {
			_, err := c.Connect(t.Context(), file(path))
			errs <- err
		}
		go connect("/a")
		synctest.Wait()
		waiting := make(chan error, 1)
		r, err := c.Resolve("") // a call that means /a
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := r.Await(t.Context())
			r.Release()
			waiting <- err
		}()
		go connect("/b")
		wantCode(t, <-errs, domain.CodeSessionSuperseded)
		wantCode(t, <-waiting, domain.CodeSessionSuperseded)
		wantCode(t, <-errs, "")
		if got := defaultOf(c); got != "/b" {
			t.Errorf("the default is %q, want /b", got)
		}
		// A, B, A again: the last one is made.
		c.Disconnect("")
		go connect("/a")
		synctest.Wait()
		go connect("/b")
		synctest.Wait()
		wantCode(t, <-errs, domain.CodeSessionSuperseded)
		go connect("/a")
		wantCode(t, <-errs, domain.CodeSessionSuperseded)
		wantCode(t, <-errs, "")
		if got := defaultOf(c); got != "/a" {
			t.Errorf("the default is %q, want /a", got)
		}
		// A connect that fails leaves the default as it was.
		_, err = c.Connect(t.Context(), Target{ID: fakeID(999)})
		wantCode(t, err, domain.CodeNotebookUnavailable)
		if got := mustUse(t, c, "").Handle.Path(); got != "/a" {
			t.Errorf("the default is %q, want /a", got)
		}
	})
}

func TestS17_ParallelConnectsMakeOnePeer(t *testing.T) {
	for _, open := range []bool{true, false} {
		t.Run(fmt.Sprintf("open=%v", open), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d := fixture(t)
				c.o.Canonical = func(s string) string { return "/" + strings.Trim(s, "./") }
				names := []string{"a", "./a", "/a"}
				if open {
					d.mu.Lock()
					id := d.addLocked("/a")
					d.mu.Unlock()
					names = append(names, string(id))
				}
				d.delays["/a"] = 50 * time.Millisecond
				var wg sync.WaitGroup
				for i := range 40 {
					wg.Go(func() {
						time.Sleep(time.Duration(i) * time.Millisecond)
						j, err := c.Connect(t.Context(), ParseTarget(names[i%len(names)], c.o.Canonical))
						if err != nil || j.Handle.Path() != "/a" {
							t.Errorf("connect %q: %v", names[i%len(names)], err)
						}
					})
				}
				wg.Wait()
				if n := d.dialCount(); n != 1 {
					t.Errorf("%d dials, want 1: %v", n, d.dials)
				}
				if n := d.peerCount(d.idOf("/a")); n != 1 {
					t.Errorf("%d peers, want 1", n)
				}
			})
		})
	}
}

func TestS17_IDFirstThenPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		d.mu.Lock()
		id := d.addLocked("/a")
		d.mu.Unlock()
		d.delays["/a"] = time.Second
		var wg sync.WaitGroup
		for _, target := range []Target{{ID: id}, file("/a"), {ID: id}} {
			wg.Go(func() {
				if _, err := c.Connect(t.Context(), target); err != nil {
					t.Errorf("connect %v: %v", target, err)
				}
			})
		}
		wg.Wait()
		if n := d.dialCount(); n != 1 {
			t.Errorf("%d dials, want 1: %v", n, d.dials)
		}
	})
}

func TestS18_RejoinByPathOrID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		untitled := d.untitled()
		mustConnect(t, c, Target{ID: untitled})
		mustConnect(t, c, file("/a"))
		s := mustUse(t, c, string(untitled))
		saved, _ := c.Resolve(string(d.untitled()))
		s2, err := saved.Await(t.Context())
		saved.Release()
		if err != nil {
			t.Fatal(err)
		}
		d.mu.Lock()
		d.rooms["/saved"], d.ids[s2.Handle.ID()] = s2.Handle.ID(), "/saved"
		d.mu.Unlock()
		c.SavedAs(s2, "/saved")
		d.mu.Lock()
		d.dials = nil
		d.mu.Unlock()
		d.cut()
		time.Sleep(time.Second)
		d.mu.Lock()
		got := strings.Join(d.dials, " ")
		d.mu.Unlock()
		for _, want := range []string{string(s.Handle.ID()), "/a", "/saved"} {
			if strings.Count(got, want) != 1 {
				t.Errorf("dialed %q, want %s once", got, want)
			}
		}
		for _, in := range c.Held() {
			if !in.Live {
				t.Errorf("%s is not joined", in.Target)
			}
		}
	})
}

func TestS19_GoneNotebookIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		id := d.untitled()
		mustConnect(t, c, Target{ID: id})
		d.mu.Lock()
		delete(d.ids, id)
		d.mu.Unlock()
		d.cut()
		time.Sleep(time.Minute)
		if n := d.dialCount(); n != 2 {
			t.Errorf("%d dials, want the connect and one rejoin", n)
		}
		_, err := use(t.Context(), c, "")
		wantCode(t, err, domain.CodeSessionEvicted)
		_, err = use(t.Context(), c, string(id))
		wantCode(t, err, domain.CodeSessionEvicted)
		if n := d.dialCount(); n != 2 {
			t.Errorf("asking for it dialed again")
		}
	})
}

func TestS20_RejoinWaitsForTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		d.kill()
		time.Sleep(time.Hour)
		if n := d.dialCount(); n > 2000 {
			t.Errorf("%d dials in an hour without a daemon", n)
		}
		d.start()
		c.Apply(Event{Kind: Disconnected})
		start := time.Now()
		c.Apply(Event{Kind: Upgraded}) // the watched folder has changed
		mustUse(t, c, "")
		if took := time.Since(start); took > 250*time.Millisecond {
			t.Errorf("rejoined after %v, want at most 250ms", took)
		}
	})
}

func TestS21_CallsWaitForTheRejoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		d.noWake = errors.New("no such program")
		d.kill()
		go func() {
			time.Sleep(5 * time.Second)
			d.start()
		}()
		start := time.Now()
		mustUse(t, c, "")
		if took := time.Since(start); took < 4*time.Second || took > 7*time.Second {
			t.Errorf("waited %v for a daemon that came back after 5s", took)
		}
		d.kill()
		start = time.Now()
		_, err := use(t.Context(), c, "/a")
		wantCode(t, err, domain.CodeSessionDisconnected)
		if took := time.Since(start); took != DefaultWait {
			t.Errorf("gave up after %v, want %v", took, DefaultWait)
		}
		for _, word := range []string{"/a", "no such program", "reconnect"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("the error does not mention %q: %v", word, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = use(ctx, c, "/a")
		wantCode(t, err, domain.CodeSessionDisconnected)
	})
}

func TestS21_CallStartsTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t, Initial{Target: file("/a"), Default: true})
		d.kill()
		if got := mustUse(t, c, "").Handle.Path(); got != "/a" {
			t.Errorf("got %s", got)
		}
		if d.wakes != 1 {
			t.Errorf("started the daemon %d times, want once", d.wakes)
		}
		d.kill()
		if _, err := c.Connect(t.Context(), file("/b")); err != nil {
			t.Errorf("connect without a daemon: %v", err)
		}
	})
}

func TestS22_DropReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		gone := d.untitled()
		mustConnect(t, c, Target{ID: gone})
		mustConnect(t, c, file("/left"))
		mustConnect(t, c, file("/kept"))
		c.Disconnect("/left")
		d.mu.Lock()
		delete(d.ids, gone)
		d.mu.Unlock()
		d.cut()
		time.Sleep(time.Second)
		for name, code := range map[string]domain.Code{"/left": domain.CodeSessionDisconnected, string(gone): domain.CodeSessionEvicted, "/kept": ""} {
			_, err := use(t.Context(), c, name)
			wantCode(t, err, code)
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name %s: %v", name, err)
			}
		}
		if _, err := use(t.Context(), c, "/left"); !strings.Contains(err.Error(), "You disconnected") {
			t.Errorf("a user's disconnect reads as %v", err)
		}
		mustConnect(t, c, file("/left"))
		mustUse(t, c, "/left")
	})
}

func TestS22_LimitLetsGoOfTheLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := fixture(t)
		for i := range DefaultLimit {
			mustConnect(t, c, file(fmt.Sprintf("/%d", i)))
		}
		mustUse(t, c, "/0")
		j := mustConnect(t, c, file("/one-more"))
		if len(j.LetGo) != 1 || j.LetGo[0].Path != "/1" {
			t.Errorf("let go of %v, want /1", j.LetGo)
		}
		_, err := use(t.Context(), c, "/1")
		wantCode(t, err, domain.CodeSessionSwitched)
		if n := len(c.Held()); n != DefaultLimit {
			t.Errorf("holds %d notebooks, want %d", n, DefaultLimit)
		}
	})
}

func TestS23_NothingIsHeldAcrossACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := fixture(t)
		mustConnect(t, c, file("/a"))
		r, err := c.Resolve("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Await(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Release() // and now it executes for a minute
		start := time.Now()
		mustUse(t, c, "")
		mustConnect(t, c, file("/b"))
		if took := time.Since(start); took > 5*time.Millisecond {
			t.Errorf("a read and a switch took %v beside a long call", took)
		}
	})
}

func TestCallsOnANotebookKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		d.delays["/a"] = time.Second
		go c.Connect(t.Context(), file("/a"))
		synctest.Wait()
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			r, err := c.Resolve("")
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				defer r.Release()
				time.Sleep(time.Duration(20-i) * time.Millisecond)
				if i == 7 {
					return // gives up before its turn
				}
				if _, err := r.Await(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			})
		}
		wg.Wait()
		if got := fmt.Sprint(order); got != "[0 1 2 3 4 5 6 8 9 10 11 12 13 14 15 16 17 18 19]" {
			t.Errorf("order %s", got)
		}
	})
}

func TestS25_NameBeatsTheDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := fixture(t)
		mustConnect(t, c, file("/a"))
		mustConnect(t, c, file("/b"))
		if got := mustUse(t, c, "/a").Handle.Path(); got != "/a" {
			t.Errorf("asked for /a, got %s", got)
		}
		if got := mustUse(t, c, "/never-connected").Handle.Path(); got != "/never-connected" {
			t.Errorf("got %s", got)
		}
		if got := mustUse(t, c, "").Handle.Path(); got != "/b" {
			t.Errorf("the default is now %s", got)
		}
	})
}

func TestS26_AllNotebooksAreRejoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t, Initial{Target: file("/a")}, Initial{Target: file("/b"), Default: true}, Initial{Target: file("/c")})
		c.Apply(Event{Kind: Connected})
		synctest.Wait()
		check := func(when string) {
			t.Helper()
			live := 0
			for _, in := range c.Held() {
				if in.Live {
					live++
				}
			}
			if live != 3 || defaultOf(c) != "/b" {
				t.Errorf("%s: %d of 3 joined, default %q", when, live, defaultOf(c))
			}
		}
		check("at the start")
		d.kill()
		c.Apply(Event{Kind: Disconnected})
		time.Sleep(time.Minute)
		d.start()
		c.Apply(Event{Kind: Upgraded})
		synctest.Wait()
		check("after a restart")
	})
}

func TestS28_LostSocketIsRejoinedWithoutACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		old := mustConnect(t, c, file("/a"))
		d.cut()
		synctest.Wait()
		if n := d.peerCount(d.idOf("/a")); n != 1 {
			t.Fatalf("%d peers at once after the cut, want 1", n)
		}
		s, err := old.Again(t.Context())
		if err != nil || s.Handle == old.Handle {
			t.Errorf("Again gave the old handle, or failed: %v", err)
		}
	})
}

func TestRejoinOnRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		a := mustConnect(t, c, file("/a"))
		c.Rejoin()
		s := mustUse(t, c, "")
		if s.Handle == a.Handle || d.peerCount(d.idOf("/a")) != 1 {
			t.Errorf("rejoin kept the old connection, or left %d peers", d.peerCount(d.idOf("/a")))
		}
	})
}

func TestS10_WatchEndsWithItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		run := func(events ...Event) int {
			ch := make(chan Event, len(events))
			for _, e := range events {
				ch <- e
			}
			close(ch)
			return Watch(t.Context(), ch, func() []*Client { return []*Client{c} })
		}
		if code := run(Event{Kind: Connected}, Event{Kind: Disconnected}); code != 0 {
			t.Errorf("exit code %d at the end of the stream, want 0", code)
		}
		d.kill()
		d.start()
		if code := run(Event{Kind: Upgraded}, Event{Kind: Upgraded, VersionDiffers: true}); code != ExitUpgraded {
			t.Errorf("exit code %d for another version, want %d", code, ExitUpgraded)
		}
		mustUse(t, c, "")
	})
}

func TestS07_LostBeforeItWasEverJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t, Initial{Target: file("/a"), Default: true})
		d.kill()
		c.Apply(Event{Kind: Connected}) // consumed, but the daemon is gone again
		time.Sleep(time.Second)
		c.Apply(Event{Kind: Disconnected})
		d.start()
		if got := c.Apply(Event{Kind: Connected}).String(); got != "RejoinInitial(/a)" {
			t.Errorf("got %s", got)
		}
		synctest.Wait()
		if got := c.Held(); len(got) != 1 || !got[0].Live {
			t.Errorf("holds %+v", got)
		}
	})
}

func TestCloseLeavesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		mustConnect(t, c, file("/b"))
		d.delays["/c"] = time.Hour
		go c.Connect(context.Background(), file("/c"))
		synctest.Wait()
		c.Close()
		c.Close()
		if len(d.open) != 0 {
			t.Errorf("%d connections are left", len(d.open))
		}
		if _, err := c.Connect(t.Context(), file("/d")); err == nil {
			t.Error("connect after Close succeeded")
		}
	})
}
