package supervise

import "time"

// Backoff gives the pauses between attempts: Min, doubling up to Max, each
// varied by up to Jitter of itself so that many clients do not come back at once.
type Backoff struct {
	Min, Max time.Duration
	Jitter   float64        // 0.2 means between 80 % and 120 %
	Rand     func() float64 // in [0,1); nil means no jitter

	failures int
}

// Next returns the pause before the next attempt.
func (b *Backoff) Next() time.Duration {
	pause := b.Min
	for range b.failures {
		if pause *= 2; pause >= b.Max {
			pause = b.Max
			break
		}
	}
	b.failures++
	if b.Rand == nil {
		return pause
	}
	return time.Duration(float64(pause) * (1 + b.Jitter*(2*b.Rand()-1)))
}

// Reset makes the next pause the shortest again.
func (b *Backoff) Reset() { b.failures = 0 }
