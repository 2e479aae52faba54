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

// TestS21_ADaemonThatIsAboutToEndIsSeenThrough: it takes the connection that asks
// whether it is there, and is gone a moment later. The call must not wait for somebody else to start the next one.
func TestS21_ADaemonThatIsAboutToEndIsSeenThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		mustConnect(t, c, file("/a"))
		d.dying = 2
		d.kill()
		start := time.Now()
		mustUse(t, c, "")
		if took := time.Since(start); took > time.Second {
			t.Errorf("waited %v", took)
		}
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
		mustConnect(t, c, file("/b"))
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
		lost := old.Handle
		if err := old.Again(t.Context()); err != nil || old.Handle == lost {
			t.Errorf("Again gave the old handle, or failed: %v", err)
		}
		old.Release()
	})
}

func TestLostHandleStaysReadableUntilItsCallsAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		j, err := c.Connect(t.Context(), file("/a"))
		if err != nil {
			t.Fatal(err)
		}
		d.cut()
		mustUse(t, c, "")
		if n := d.unclosed(); n != 2 {
			t.Errorf("%d handles, want the lost one, which is being read, and its successor", n)
		}
		j.Release()
		j.Release()
		if n := d.unclosed(); n != 1 {
			t.Errorf("%d handles once the call is over, want 1", n)
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
