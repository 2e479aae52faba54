package leak

import (
	"strings"
	"testing"
	"time"
)

func TestGoroutineLeftBehindIsShown(t *testing.T) {
	before := map[int]bool{}
	for _, g := range goroutines() {
		before[g.id] = true
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { waitFor(stop); close(done) }()
	left := remaining(before, 50*time.Millisecond)
	if len(left) != 1 || !strings.Contains(left[0], "leak.waitFor") {
		t.Errorf("left behind: %q", left)
	}
	close(stop)
	<-done
	if left := remaining(before, patience); len(left) != 0 {
		t.Errorf("still left behind: %q", left)
	}
}

func TestOldAndEndingGoroutinesAreNoLeaks(t *testing.T) {
	stop := make(chan struct{})
	go waitFor(stop)
	t.Run("inner", func(t *testing.T) {
		Check(t)
		timer := make(chan struct{})
		go func() { close(timer); waitFor(time.After(20 * time.Millisecond)) }()
		<-timer
	})
	close(stop)
}

//go:noinline
func waitFor[T any](c <-chan T) { <-c }
