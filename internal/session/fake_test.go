package session

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/testenv/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// fakeDaemon stands for the daemon and the network to it.
type fakeDaemon struct {
	mu     sync.Mutex
	up     bool
	rooms  map[string]domain.NotebookID // path → id
	ids    map[domain.NotebookID]string // id → path; gone ones are absent
	peers  map[domain.NotebookID]int
	delays map[string]time.Duration // how long a dial to a target takes
	hold   map[string]chan struct{} // a dial to this target waits until it is closed
	open   map[*fakeHandle]bool
	owned  map[*fakeHandle]bool // given out and not closed by the client
	dials  []string
	wakes  int
	noWake error // what Wake fails with
	dying  int   // times that Wake is taken in by a daemon that is about to end
}

func newFakeDaemon() *fakeDaemon {
	return &fakeDaemon{
		up: true, rooms: map[string]domain.NotebookID{}, ids: map[domain.NotebookID]string{}, peers: map[domain.NotebookID]int{},
		delays: map[string]time.Duration{}, hold: map[string]chan struct{}{}, open: map[*fakeHandle]bool{}, owned: map[*fakeHandle]bool{},
	}
}

func fakeID(n int) domain.NotebookID {
	return domain.NotebookID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
}

// untitled makes a notebook without a path.
func (d *fakeDaemon) untitled() domain.NotebookID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.addLocked("")
}

func (d *fakeDaemon) addLocked(path string) domain.NotebookID {
	id := fakeID(len(d.ids) + 1)
	d.ids[id] = path
	if path != "" {
		d.rooms[path] = id
	}
	return id
}

func (d *fakeDaemon) Dial(ctx context.Context, t Target, carry Handle) (Handle, error) {
	d.mu.Lock()
	d.dials = append(d.dials, t.String())
	delay, hold := d.delays[t.String()], d.hold[t.String()]
	d.mu.Unlock()
	if err := pause(ctx, delay, hold); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.up {
		return nil, ErrNoDaemon
	}
	id := t.ID
	if t.Path != "" {
		var ok bool
		if id, ok = d.rooms[t.Path]; !ok {
			id = d.addLocked(t.Path)
		}
	}
	if _, ok := d.ids[id]; !ok {
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "There is no notebook %s.", id)
	}
	return d.joinLocked(id), nil
}

func pause(ctx context.Context, delay time.Duration, hold chan struct{}) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	if hold == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-hold:
		return nil
	}
}

func (d *fakeDaemon) joinLocked(id domain.NotebookID) *fakeHandle {
	h := &fakeHandle{d: d, id: id, path: d.ids[id], done: make(chan struct{})}
	d.open[h], d.owned[h] = true, true
	d.peers[id]++
	return h
}

func (d *fakeDaemon) Create(ctx context.Context, spec CreateSpec) (Handle, error) {
	if err := pause(ctx, d.delays["create"], nil); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.up {
		return nil, ErrNoDaemon
	}
	return d.joinLocked(d.addLocked(spec.Path)), nil
}

func (d *fakeDaemon) Locate(ctx context.Context, t Target) Target {
	d.mu.Lock()
	defer d.mu.Unlock()
	if path, ok := d.ids[t.ID]; ok && d.up {
		t.Path = path
	}
	return t
}

func (d *fakeDaemon) Wake(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wakes++
	if d.noWake != nil {
		return d.noWake
	}
	if d.dying > 0 {
		d.dying--
		return nil
	}
	d.up = true
	return nil
}

// kill ends the daemon and all connections to it.
func (d *fakeDaemon) kill() {
	d.mu.Lock()
	d.up = false
	d.mu.Unlock()
	d.cut()
}

// cut closes all connections.
func (d *fakeDaemon) cut() {
	d.mu.Lock()
	var all []*fakeHandle
	for h := range d.open {
		all = append(all, h)
	}
	d.mu.Unlock()
	for _, h := range all {
		h.lose()
	}
}

func (d *fakeDaemon) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.up = true
}

func (d *fakeDaemon) unclosed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.owned)
}

func (d *fakeDaemon) dialCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.dials)
}

func (d *fakeDaemon) peerCount(id domain.NotebookID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.peers[id]
}

func (d *fakeDaemon) idOf(path string) domain.NotebookID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rooms[path]
}

type fakeHandle struct {
	d    *fakeDaemon
	id   domain.NotebookID
	path string
	once sync.Once
	done chan struct{}
}

func (h *fakeHandle) ID() domain.NotebookID { return h.id }
func (h *fakeHandle) Path() string          { return h.path }
func (h *fakeHandle) Done() <-chan struct{} { return h.done }

// Close ends the connection and frees the handle.
func (h *fakeHandle) Close() error {
	h.lose()
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	delete(h.d.owned, h)
	return nil
}

// lose ends the connection.
func (h *fakeHandle) lose() {
	h.once.Do(func() {
		h.d.mu.Lock()
		delete(h.d.open, h)
		h.d.peers[h.id]--
		h.d.mu.Unlock()
		close(h.done)
	})
}

// fixture is a client of a fake daemon, closed at the end of the test.
func fixture(t *testing.T, initial ...Initial) (*Client, *fakeDaemon) {
	t.Helper()
	d := newFakeDaemon()
	c := NewClient(Options{Dialer: d, Initial: initial})
	t.Cleanup(func() {
		c.Close()
		if n := d.unclosed(); n != 0 {
			t.Errorf("%d handles were never closed", n)
		}
	})
	return c, d
}

func file(path string) Target { return Target{Path: path} }

func mustConnect(t *testing.T, c *Client, target Target) Joined {
	t.Helper()
	j, err := c.Connect(t.Context(), target)
	if err != nil {
		t.Fatalf("connect %s: %v", target, err)
	}
	j.Release()
	return j
}

// mustUse uses a notebook as a short call does; the session is over when it returns.
func mustUse(t *testing.T, c *Client, name string) *Session {
	t.Helper()
	s, err := use(t.Context(), c, name)
	if err != nil {
		t.Fatalf("use %q: %v", name, err)
	}
	return s
}

func use(ctx context.Context, c *Client, name string) (*Session, error) {
	r, err := c.Resolve(name)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return r.Await(ctx)
}

func wantCode(t *testing.T, err error, code domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Errorf("got error %v, want code %s", err, code)
	}
}

func defaultOf(c *Client) string {
	for _, in := range c.Held() {
		if in.Default {
			return in.String()
		}
	}
	return ""
}
