package mcpserver

import (
	"context"
	"sync"
)

// order lets the calls of one client begin in the order in which they came,
// although the library handles each in a goroutine of its own. A call must leave
// before it waits for anything.
type order struct {
	mu      sync.Mutex // guards the fields that follow
	last    uint64     // the latest number given out
	first   uint64     // the lowest number that has not left
	left    map[uint64]bool
	waiting map[uint64]chan struct{}
}

func newOrder() *order {
	return &order{first: 1, left: map[uint64]bool{}, waiting: map[uint64]chan struct{}{}}
}

// next gives out the next number.
func (o *order) next() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	return o.last
}

// enter waits until all earlier calls have left.
func (o *order) enter(ctx context.Context, n uint64) error {
	o.mu.Lock()
	if n <= o.first {
		o.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	o.waiting[n] = ready
	o.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		o.mu.Lock()
		delete(o.waiting, n)
		o.mu.Unlock()
		return context.Cause(ctx)
	}
}

// leave lets later calls begin. It may be called twice, and without enter.
func (o *order) leave(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n < o.first {
		return
	}
	o.left[n] = true
	for o.left[o.first] {
		delete(o.left, o.first)
		o.first++
	}
	if ready, ok := o.waiting[o.first]; ok {
		delete(o.waiting, o.first)
		close(ready)
	}
}
