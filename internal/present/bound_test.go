package present

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBounded(t *testing.T) {
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	got := Bounded(lines.String(), 500, "ask for it")
	head, tail, ok := strings.Cut(got, "\n[… ")
	if !ok || !strings.HasPrefix(head, "line 0\nline 1\n") || !strings.HasSuffix(tail, "line 998\nline 999\n") {
		t.Errorf("head or tail is missing:\n%s", got)
	}
	note, tail, _ := strings.Cut(tail, "]\n")
	shown := strings.Count(head, "\n") + 1 + strings.Count(tail, "\n")
	var left int
	var unit, rest string
	if _, err := fmt.Sscanf(note, "%d %s %s", &left, &unit, &rest); err != nil || left+shown != 1000 {
		t.Errorf("%q, but %d lines are shown (%v)", note, shown, err)
	}
	if !strings.HasSuffix(note, "left out: ask for it") {
		t.Errorf("note %q", note)
	}
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"short", 5, "short"},
		{"too long", 5, "to…"},
		{"too long", 2, ""},
		{"too long", -1, ""},
	} {
		if got := Bounded(c.in, c.limit, ""); got != c.want {
			t.Errorf("%q to %d: got %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func TestBoundedCutsBetweenCharacters(t *testing.T) {
	got := Bounded(strings.Repeat("é", 200), 100, "")
	head, rest, _ := strings.Cut(got, "\n[… ")
	note, tail, _ := strings.Cut(rest, " bytes left out]\n")
	if want := fmt.Sprint(400 - len(head) - len(tail)); note != want || len(head) < 20 || len(tail) < 10 || strings.Trim(head+tail, "é") != "" {
		t.Errorf("%q: %s bytes are left out", got, want)
	}
}

func FuzzBounded(f *testing.F) {
	f.Add("a\nb\nc", 3, "x")
	f.Add(strings.Repeat("é\n", 200), 150, "how")
	f.Fuzz(func(t *testing.T, s string, limit int, how string) {
		if !utf8.ValidString(s) || !utf8.ValidString(how) {
			return
		}
		got := Bounded(s, limit, how)
		if len(got) > max(limit, 0) || !utf8.ValidString(got) {
			t.Errorf("%q to %d: %q", s, limit, got)
		}
		if len(s) <= limit && got != s {
			t.Errorf("%q was changed to %q", s, got)
		}
	})
}

func TestSmallTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{CutRunes("abcdef", 4), "abc…"},
		{CutRunes("abcd", 4), "abcd"},
		{CutRunes("日本語だ", 3), "日本…"},
		{CutRunes("ab", 1), "…"},
		{OneLine("  a\n\tb \x1b[31mc ", 10), "a b c"},
		{OneLine(strings.Repeat("word ", 50), 12), "word word w…"},
		{size(0), "0 bytes"},
		{size(9999), "9,999 bytes"},
		{size(10_000), "10 kB"},
		{size(1_234_567), "1.2 MB"},
		{size(123_456_789_000), "123,457 MB"},
		{thousands(-1234567), "-1,234,567"},
		{thousands(-123), "-123"},
		{plural(1, "cell"), "1 cell"},
		{plural(2000, "cell"), "2,000 cells"},
		{number(0.1 + 0.2), "0.3"},
		{number(-3), "-3"},
		{number(1e15), "1e+15"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
