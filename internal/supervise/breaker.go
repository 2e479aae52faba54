package supervise

import "time"

// BreakerState says what a Breaker lets happen.
type BreakerState int

// The states of a Breaker.
const (
	BreakerClosed   BreakerState = iota // starts are allowed
	BreakerOpen                         // no start until the cooldown is over
	BreakerHalfOpen                     // one start is allowed, or on trial
)

// String returns the state in words.
func (s BreakerState) String() string {
	switch s {
	case BreakerOpen:
		return "open"
	case BreakerHalfOpen:
		return "half-open"
	}
	return "closed"
}

// Breaker stops a crash loop: Limit crashes within Window open it for Cooldown.
// After that exactly one start is let through. If that one crashes before
// Success is called, the breaker opens again at once.
type Breaker struct {
	Limit    int
	Window   time.Duration
	Cooldown time.Duration

	crashes []time.Time // those that count, oldest first
	until   time.Time   // when the cooldown ends; zero while closed
	trial   bool        // the one start of the half-open state was given out
}

// Crash records a crash and returns whether the breaker is open now.
func (b *Breaker) Crash(now time.Time) bool {
	b.forget(now)
	b.crashes = append(b.crashes, now)
	if b.trial || len(b.crashes) >= b.Limit {
		b.until, b.trial = now.Add(b.Cooldown), false
	}
	return b.State(now) == BreakerOpen
}

// Success says that the process has done its work: earlier crashes are forgiven
// and the breaker closes.
func (b *Breaker) Success() { b.crashes, b.until, b.trial = nil, time.Time{}, false }

// Start asks whether the process may be started now. In the half-open state the
// first to ask gets true and everybody after it false.
func (b *Breaker) Start(now time.Time) bool {
	switch b.State(now) {
	case BreakerOpen:
		return false
	case BreakerHalfOpen:
		first := !b.trial
		b.trial = true
		return first
	}
	return true
}

// Replace gives back the trial start for a process that did not crash but was
// replaced on purpose, so that its successor may take the trial.
func (b *Breaker) Replace() { b.trial = false }

// State returns the state at a time.
func (b *Breaker) State(now time.Time) BreakerState {
	switch {
	case b.until.IsZero():
		return BreakerClosed
	case now.Before(b.until):
		return BreakerOpen
	}
	return BreakerHalfOpen
}

// Left returns how long the breaker stays open, 0 when it is not open.
func (b *Breaker) Left(now time.Time) time.Duration {
	if b.State(now) != BreakerOpen {
		return 0
	}
	return b.until.Sub(now)
}

// Recent returns how many crashes within the window count at a time.
func (b *Breaker) Recent(now time.Time) int {
	b.forget(now)
	return len(b.crashes)
}

// forget drops crashes that are older than the window.
func (b *Breaker) forget(now time.Time) {
	for len(b.crashes) > 0 && now.Sub(b.crashes[0]) >= b.Window {
		b.crashes = b.crashes[1:]
	}
}
