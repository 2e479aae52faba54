package session

import (
	"context"
	"slices"
	"sync"
)

// queue gives calls on one notebook their turn, first come first served.
type queue struct {
	mu      sync.Mutex
	waiting []*turn // guarded by mu; the first one has its turn
}

// turn is a place in a queue.
type turn struct {
	q     *queue
	ready chan struct{} // closed when it is this call's turn
}

// enter takes a place at the end. It does not block.
func (q *queue) enter() *turn {
	t := &turn{q: q, ready: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, t)
	if len(q.waiting) == 1 {
		close(t.ready)
	}
	return t
}

// wait returns nil once it is this call's turn.
func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	default:
	}
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives the place up, whether its turn has come or not. It may be called twice.
func (t *turn) leave() {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, t)
	if i < 0 {
		return
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if i == 0 && len(q.waiting) > 0 {
		close(q.waiting[0].ready)
	}
}
