package present

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", ten, ten, ""},
		{"one line", ten, strings.Replace(ten, "5", "five", 1), "  [2 lines as before]\n  3\n  4\n- 5\n+ five\n  6\n  7\n  [3 lines as before]"},
		{"at the start", ten, "0\n" + ten, "+ 0\n  1\n  2\n  [8 lines as before]"},
		{"at the end", ten, ten + "\n11", "  [8 lines as before]\n  9\n  10\n+ 11"},
		{"two places", ten, "one\n2\n3\n4\n5\n6\n7\n8\n9\nten", "- 1\n+ one\n  2\n  3\n  [4 lines as before]\n  8\n  9\n- 10\n+ ten"},
		{"from nothing", "", "a\nb", "+ a\n+ b"},
		{"to nothing", "a", "", "- a"},
		{"newline at the end", "a", "a\n", "(only line ends changed)"},
		{"line ends", "a\r\nb", "a\nb", "(only line ends changed)"},
		{"moved", "a\nb\nc", "b\nc\na", "- a\n  b\n  c\n+ a"},
		{"marks in the text", "- x", "+ x", "- - x\n+ + x"},
	} {
		if got := Diff(c.before, c.after); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestDiffOfLargeSourcesIsShort(t *testing.T) {
	a, b := strings.Repeat("a\n", 5000), strings.Repeat("b\n", 5000)
	if got := Diff(a, b); len(got) > DiffLimit || !strings.HasPrefix(got, "- a\n") || !strings.HasSuffix(got, "\n+ b") {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
	if got := Diff(a+"x\n"+a, a+"y\n"+a); got != "  [4998 lines as before]\n  a\n  a\n- x\n+ y\n  a\n  a\n  [4998 lines as before]" {
		t.Errorf("got\n%s", got)
	}
}

// Whatever changed, the lines without "+" are the old source and those without
// "-" the new one.
func TestDiffTellsBothSources(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	source := func() []string {
		lines := make([]string, random.IntN(12))
		for i := range lines {
			lines[i] = fmt.Sprint(random.IntN(4))
		}
		return lines
	}
	for range 2000 {
		a, b := source(), source()
		var before, after []string
		for _, e := range diffLines(a, b) {
			if e.op != '+' {
				before = append(before, e.line)
			}
			if e.op != '-' {
				after = append(after, e.line)
			}
		}
		if fmt.Sprint(a) != fmt.Sprint(before) || fmt.Sprint(b) != fmt.Sprint(after) {
			t.Fatalf("%v to %v is told as %v to %v", a, b, before, after)
		}
	}
}
