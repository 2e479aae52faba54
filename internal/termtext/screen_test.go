package termtext

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCursor: a screen made from what another one shows goes on as that one does.
func TestCursor(t *testing.T) {
	pieces := []string{"abc", "é", "\n", "line\n", "\r", "\b", "\x1b[A", "\x1b[2A", "\x1b[B", "\x1b[K", "\x1b[2K", "\x1b[5C", "\x1b[3D", "\x1b[1G", "\x1b[", "3D", "\t", "two\nlines"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range 20_000 {
		var one Screen
		var log strings.Builder
		write := func(to ...*Screen) {
			for range rnd.IntN(12) {
				p := pieces[rnd.IntN(len(pieces))]
				log.WriteString(p)
				for _, s := range to {
					s.Write(p)
				}
			}
		}
		write(&one)
		other := FromText(one.String())
		other.Write(one.Cursor())
		log.WriteString("|")
		write(&one, other)
		if a, b := one.String(), other.String(); a != b {
			t.Fatalf("history %d, %q: %q goes on as %q", n, log.String(), a, b)
		}
	}
}
