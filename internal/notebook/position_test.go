package notebook

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPositionsBetween(t *testing.T) {
	for _, tc := range []struct {
		name, a, b, want string
		ok               bool
	}{
		{"nothing there yet", "", "", "80", true},
		{"append", "80", "", "8180", true},
		{"append to the last of one byte", "BF80", "", "C080", true},
		{"append to the first of two bytes", "C080", "", "C08180", true},
		{"append with a carry", "C0FF80", "", "C10080", true},
		{"append to what a foreign peer made", "7F80", "", "8080", true},
		{"prepend", "", "80", "7F80", true},
		{"prepend below zero", "", "0080", "007F80", true},
		{"nothing is in front of zero", "", "00", "", false},
		{"halves a gap", "8180", "8980", "8580", true},
		{"goes deeper where the gap is closed", "8080", "8180", "808180", true},
		{"between a position and one it begins", "80", "8180", "8080", true},
		{"equal", "8180", "8180", "", false},
		{"wrong order", "8280", "8180", "", false},
		{"no room after a prefix", "80", "8000", "", false},
		{"not hexadecimal", "80", "zz", "", false},
		{"lower case sorts elsewhere", "8a", "8b", "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := Between(tc.a, tc.b)
			if got != tc.want || ok != tc.ok {
				t.Errorf("Between(%q, %q) = %q, %v, want %q, %v", tc.a, tc.b, got, ok, tc.want, tc.ok)
			}
		})
	}
}

// checkBetween fails unless p sorts strictly between its neighbours.
func checkBetween(t *testing.T, a, p, b string) {
	t.Helper()
	if !ValidPosition(p) || p[len(p)-2:] != "80" || a != "" && p <= a || b != "" && p >= b {
		t.Fatalf("%q is not between %q and %q", p, a, b)
	}
}

func TestPositionsStayShort(t *testing.T) {
	for _, tc := range []struct {
		name  string
		at    func(n int) int // where among n positions the next one goes
		limit int             // longest position allowed after 1,000 inserts
	}{
		{"always at the end", func(n int) int { return n }, 6},
		{"always at the beginning", func(int) int { return 0 }, 20},
		{"always after the first", func(n int) int { return min(n, 1) }, 24},
		{"always before the last", func(n int) int { return max(n-1, 0) }, 24},
		{"left and right of the newest in turn", func(n int) int { return n / 2 }, 1100},
		{"anywhere", func() func(n int) int {
			r := rand.New(rand.NewPCG(1, 2))
			return func(n int) int { return r.IntN(n + 1) }
		}(), 24},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var all []string
			for range 1000 {
				i := tc.at(len(all))
				a, b := "", ""
				if i > 0 {
					a = all[i-1]
				}
				if i < len(all) {
					b = all[i]
				}
				p, ok := Between(a, b)
				if !ok {
					t.Fatalf("nothing fits between %q and %q", a, b)
				}
				checkBetween(t, a, p, b)
				all = slices.Insert(all, i, p)
			}
			longest := slices.MaxFunc(all, func(a, b string) int { return len(a) - len(b) })
			if len(longest) > tc.limit {
				t.Errorf("a position of %d characters after 1,000 inserts, want at most %d: %s", len(longest), tc.limit, longest)
			}
		})
	}
}

func TestSpreadPositions(t *testing.T) {
	for _, n := range []int{0, 1, 2, 254, 255, 70000} {
		for _, ends := range [][2]string{{"", ""}, {"80", ""}, {"", "80"}, {"80", "8180"}, {"8080", "808180"}} {
			got, ok := Spread(ends[0], ends[1], n)
			if !ok || len(got) != n {
				t.Fatalf("Spread(%q, %q, %d) gave %d, %v", ends[0], ends[1], n, len(got), ok)
			}
			last := ends[0]
			for _, p := range got {
				checkBetween(t, last, p, ends[1])
				last = p
			}
		}
	}
	if got, ok := Spread("80", "80", 3); ok {
		t.Errorf("Spread between equal positions gave %v", got)
	}
}

func FuzzBetween(f *testing.F) {
	for _, seed := range [][2]string{{"80", "8180"}, {"", "00"}, {"FF", "FFFF"}, {"80", "8000"}, {"x", "y"}, {"F8FF", ""}, {"8a", ""}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p, ok := Between(a, b)
		if !ok {
			return
		}
		checkBetween(t, a, p, b)
		if bytes.Compare(decodePosition(p), decodePosition(a)) <= 0 {
			t.Errorf("the bytes of %q sort differently", p)
		}
	})
}
