package mailbox

import (
	"context"
	"sync"
)

// Box is a queue of values. Make one with New.
type Box[T any] struct {
	ready chan struct{} // holds a token when there may be something to take

	mu     sync.Mutex // guards items and closed
	items  []T
	closed bool
}

// New returns an empty box.
func New[T any]() *Box[T] { return &Box[T]{ready: make(chan struct{}, 1)} }

// Put adds v. It reports whether the box was still open.
func (b *Box[T]) Put(v T) bool {
	b.mu.Lock()
	open := !b.closed
	if open {
		b.items = append(b.items, v)
	}
	b.mu.Unlock()
	b.wake()
	return open
}

// Close ends the box: what is in it can still be taken, nothing can be added.
func (b *Box[T]) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.wake()
}

func (b *Box[T]) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// Ready returns a channel that gives a value when there may be something to
// take, or the box was closed. After receiving from it call Grab.
func (b *Box[T]) Ready() <-chan struct{} { return b.ready }

// Grab returns what is in the box without waiting, and whether more may come.
func (b *Box[T]) Grab() (items []T, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	items, b.items = b.items, nil
	if b.closed {
		b.wake()
	}
	return items, !b.closed
}

// Take waits until something is in the box and returns all of it. It returns
// false when the box is closed and empty, or ctx is done.
func (b *Box[T]) Take(ctx context.Context) ([]T, bool) {
	for {
		if items, open := b.Grab(); len(items) > 0 || !open {
			return items, len(items) > 0
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return nil, false
		}
	}
}
