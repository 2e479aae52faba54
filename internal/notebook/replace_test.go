package notebook

import (
	"strings"
	"testing"
)

func TestCommonEndsAreWholeCharacters(t *testing.T) {
	for _, tc := range []struct {
		a, b       string
		head, tail int
	}{
		{"", "", 0, 0},
		{"abc", "abc", 3, 0},
		{"abc", "axc", 1, 1},
		{"aaa", "aa", 2, 0},
		{"é", "è", 0, 0}, // the first byte is the same
		{"x😀y", "x😁y", 1, 1},
		{"日本", "月本", 0, 3},
	} {
		if head, tail := commonEnds(tc.a, tc.b); head != tc.head || tail != tc.tail {
			t.Errorf("%q, %q: %d and %d, want %d and %d", tc.a, tc.b, head, tail, tc.head, tc.tail)
		}
	}
}

// A source of megabytes is replaced at once: the smallest change between it and
// a short one would take hours to find.
func TestSetSourceOfAHugeCell(t *testing.T) {
	d := newDoc(t, newShard(t), "a")
	huge := strings.Repeat("v = 'é😀'\n", 10_000)
	for _, s := range []string{huge, "1+1", huge + "x", "y" + huge} {
		if _, err := d.Edit(func(tx *Tx) error {
			if tx.exists("c") {
				return tx.SetSource("c", s)
			}
			return tx.AddCell(NewCell{ID: "c", Source: s}, Last)
		}); err != nil {
			t.Fatal(err)
		}
		if got, ok := d.Source("c"); !ok || got != s {
			t.Fatalf("source has %d bytes, want %d", len(got), len(s))
		}
	}
}
