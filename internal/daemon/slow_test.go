package daemon

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/notebook"
	"runt/internal/testenv"
)

// pausable is a connection whose reader can be made to stand still.
type pausable struct {
	net.Conn
	mu sync.Mutex // held while it stands still
}

func (p *pausable) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Conn.Read(b)
}

func TestR13_APeerThatStopsReadingIsDroppedAndDelaysNobody(t *testing.T) {
	b := newBed(t, nil)
	h := b.create(client.CreateOptions{})
	cell := b.add(h, "start")
	witness := b.join(h.ID())
	var conn *pausable
	o := b.options("slow")
	o.Dial = func(ctx context.Context, socket string) (net.Conn, error) {
		var d net.Dialer
		nc, err := d.DialContext(ctx, "unix", socket)
		conn = &pausable{Conn: nc}
		return conn, err
	}
	slow, err := client.Join(b.ctx(), o, h.ID())
	if err != nil {
		t.Fatal(err)
	}
	peers := func() int { return b.d.rooms.list()[0].Status.Peers }
	if peers() != 3 {
		t.Fatalf("%d peers", peers())
	}
	conn.mu.Lock()
	const limit = 4000 // a lane holds 1024 frames, the socket some more
	var longest time.Duration
	n := 0
	for ; n < limit && peers() == 3; n++ {
		begun := time.Now()
		if _, err := h.Edit(b.ctx(), func(tx *notebook.Tx) error {
			return tx.SpliceSource(cell, 0, 0, fmt.Sprintf("%d ", n))
		}); err != nil {
			t.Fatal(err)
		}
		if n%20 == 0 {
			if err := h.Confirm(b.ctx()); err != nil {
				t.Fatal(err)
			}
		}
		longest = max(longest, time.Since(begun))
	}
	if n == limit {
		t.Fatalf("the slow peer is still there after %d edits", n)
	}
	last := fmt.Sprintf("%d ", n-1)
	if err := witness.WaitFor(b.ctx(), func() bool { c, _ := witness.Notebook().Cell(cell); return strings.HasPrefix(c.Source, last) }); err != nil {
		t.Errorf("the other peer does not see the last edit: %v", err)
	}
	conn.mu.Unlock()
	testenv.Receive(t, b.ctx(), "the slow peer's end", errOnly(slow.Done()))
	_ = slow.Close()
	again := b.join(h.ID())
	if c, _ := again.Notebook().Cell(cell); !strings.HasPrefix(c.Source, last) {
		t.Errorf("after coming back the cell is %q", c.Source)
	}
	t.Logf("dropped after %d edits; the longest edit took %s", n, longest)
}
