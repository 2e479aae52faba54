package automerge

import (
	"fmt"
	"testing"
)

// TestEditsThatCrossLeaveThePeerLive: a remote that edits while changes of others
// are on their way to it, as in a document with several writers, stays on the fast path.
func TestEditsThatCrossLeaveThePeerLive(t *testing.T) {
	for name, pure := range map[string]bool{"remote on the fast path": false, "remote with only the library": true} {
		t.Run(name, func(t *testing.T) {
			ds := seeded(t, 3)
			one, two := newLink(ds[0], ds[1]), newLink(ds[0], ds[2])
			one.b.pure, two.b.pure = pure, pure
			settle(t, one, two)
			for i := range 10 {
				for n, d := range ds {
					apply(t, d, func(b *Batch) { b.Put(b.Root(), fmt.Sprintf("k%d", n), i) })
				}
				one.pump(t)
				two.pump(t)
				one.deliver(t, true)
				two.deliver(t, true)
				if !one.a.Live() || !two.a.Live() {
					t.Fatalf("round %d: live %v and %v after messages that crossed", i, one.a.Live(), two.a.Live())
				}
				settle(t, one, two)
			}
			settle(t, one, two)
			sameState(t, ds...)
		})
	}
}
