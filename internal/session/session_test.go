package session

import (
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
			j, err := c.Connect(t.Context(), file("/a"))
			j.Release()
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
			j, err := c.Connect(t.Context(), file(path))
			j.Release()
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

func TestS16_CreatesAreEachTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := fixture(t)
		d.delays["create"] = time.Second
		first, second := c.BeginCreate(CreateSpec{}), c.BeginCreate(CreateSpec{})
		r, err := c.Resolve("")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		one, err := first.Await(t.Context())
		if err != nil || one.Default {
			t.Errorf("the first create: default %v, %v; want it made and not the default", one.Default, err)
		}
		two, err := second.Await(t.Context())
		if err != nil || !two.Default {
			t.Errorf("the second create: default %v, %v; want it the default", two.Default, err)
		}
		defer one.Release()
		defer two.Release()
		if s, err := r.Await(t.Context()); err != nil || s.Handle != two.Handle {
			t.Errorf("a call queued behind the create got another notebook, or failed: %v", err)
		}
		if len(c.Held()) != 2 {
			t.Errorf("holds %v, want both", c.Held())
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
						j.Release()
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
				j, err := c.Connect(t.Context(), target)
				if err != nil {
					t.Errorf("connect %v: %v", target, err)
				}
				j.Release()
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
		defer saved.Release()
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
