package proc

import "testing"

func TestParseStat(t *testing.T) {
	const fields = "S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2 3"
	for _, name := range []string{"sh", "a b", "x) S 9 9", "("} {
		s, err := parseStat([]byte("42 (" + name + ") " + fields))
		if err != nil || s.pgid != 77 || s.start != "12345" || s.ended() {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
	}
	for _, bad := range []string{"", "42 (sh)", "42 (sh) S 1", "42 (sh) S 1 x 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2 3"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStat(b) })
}
