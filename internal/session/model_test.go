package session

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runt/internal/domain"
)

const interleavings = 10_000

// model is what the user's actions explain, told by the answers they got.
type model struct {
	mu        sync.Mutex
	explained map[string]bool // notebooks that may be held: connected or handed over, and not disconnected since
	last      string          // the action started last
	log       []string
}

func (m *model) say(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

// TestS14_Interleavings runs random schedules of user actions and connection
// events against a daemon with random delays. When everything has come to rest, each
// session must be explained by a user's action or a target handed over, the last
// action must have had its way, and the daemon must count no other peers.
func TestS14_Interleavings(t *testing.T) {
	for seed := range uint64(interleavings) {
		synctest.Test(t, func(t *testing.T) { interleave(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func interleave(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 14))
	m := &model{explained: map[string]bool{}}
	var initial []Initial
	if rnd.IntN(2) == 0 {
		initial = []Initial{{Target: file("/a"), Default: true}}
		m.explained["/a"] = true
	}
	c, d := fixture(t, initial...)
	for _, p := range []string{"/a", "/b"} {
		d.delays[p] = time.Duration(rnd.IntN(30)) * time.Millisecond
	}
	var wg sync.WaitGroup
	for range 3 + rnd.IntN(6) {
		step(t, rnd, m, c, d, &wg)
		if rnd.IntN(4) > 0 {
			time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
		}
	}
	d.start()
	c.Apply(Event{Kind: Connected})
	c.Apply(Event{Kind: Connected})
	wg.Wait()
	time.Sleep(time.Minute)
	check(t, m, c, d)
}

func step(t *testing.T, rnd *rand.Rand, m *model, c *Client, d *fakeDaemon, wg *sync.WaitGroup) {
	switch op := rnd.IntN(8); op {
	case 0, 1, 2:
		path := []string{"/a", "/b"}[op%2]
		m.mu.Lock()
		m.explained[path], m.last = true, path
		m.mu.Unlock()
		m.say("connect %s", path)
		started := make(chan struct{})
		wg.Go(func() {
			close(started)
			j, err := c.Connect(t.Context(), file(path))
			j.Release()
			m.say("connect %s: %v", path, err)
			switch domain.CodeOf(err) {
			case "", domain.CodeSessionSuperseded, domain.CodeSessionDisconnected:
			default:
				t.Errorf("connect %s: %v", path, err)
			}
		})
		<-started
		synctest.Wait()
	case 3:
		info, err := c.Disconnect("")
		m.say("disconnect: %v %v", info.Target, err)
		if err == nil {
			m.mu.Lock()
			delete(m.explained, info.String())
			m.last = "disconnected " + info.String()
			m.mu.Unlock()
		}
	case 4:
		m.say("cut")
		d.cut()
	case 5:
		m.say("daemon gone")
		d.kill()
		c.Apply(Event{Kind: Disconnected})
	case 6:
		m.say("daemon back")
		d.start()
		c.Apply(Event{Kind: []EventKind{Connected, Upgraded}[rnd.IntN(2)]})
	case 7:
		m.say("event")
		c.Apply(Event{Kind: []EventKind{Connected, Disconnected}[rnd.IntN(2)]})
	}
}

func check(t *testing.T, m *model, c *Client, d *fakeDaemon) {
	t.Helper()
	fail := func(format string, args ...any) { t.Errorf(format+"\n%v", append(args, m.log)...) }
	held := map[domain.NotebookID]bool{}
	for _, in := range c.Held() {
		if !m.explained[in.String()] {
			fail("%s is held and nobody asked for it", in)
		}
		if !in.Live {
			fail("%s is not joined although the daemon is there", in)
		}
		held[in.ID] = true
	}
	def := defaultOf(c)
	switch {
	case m.last == "/a" || m.last == "/b":
		if def != m.last {
			fail("the default is %q, the last action was to connect %s", def, m.last)
		}
	case m.last != "" && "disconnected "+def == m.last:
		fail("%s is the default after it was disconnected", def)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, n := range d.peers {
		if want := map[bool]int{true: 1}[held[id]]; n != want {
			fail("%d peers in %s, want %d", n, d.ids[id], want)
		}
	}
}
