package present

import "testing"

func list(values ...any) []any { return values }

func TestValuesInWords(t *testing.T) {
	for _, c := range []struct {
		values []any
		want   string
	}{
		{nil, ""},
		{list(3.0, 1.0, 2.0), "1 to 3"},
		{list(2.0, 2.0), "2"},
		{list("a", "b", "c"), "a, b, c"},
		{list("a", "b", "a", "a"), "a, b (2 different)"},
		{list("a", "a"), "a"},
		{list("a", "b", "c", "d", "e", "a"), "a, b, c, d … (5 different)"},
		{list("a", "b", "c", "d", "e"), "a, b, c … e"},
		{list(true, false, true), "true 2 of 3"},
		{list(nil, nil), ""},
	} {
		if got := describeValues(c.values); got != c.want {
			t.Errorf("%v: got %q, want %q", c.values, got, c.want)
		}
	}
}

// That points rise is said only when they come in the order of x: else it is
// about how the data happened to be sorted.
func TestTrendNeedsAnOrder(t *testing.T) {
	up := list(1.0, 2.0, 3.0, 4.0)
	for _, c := range []struct {
		x    []any
		want string
	}{
		{list(1.0, 2.0, 3.0, 4.0), ", rising"},
		{list(1.0, 1.0, 3.0, 3.0), ", rising"},
		{nil, ", rising"},
		{list("2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"), ", rising"},
		{list(4.0, 1.0, 3.0, 2.0), ""},
		{list("a", "b", "c", "d"), ""},
		{list(1.0, "2", 3.0, 4.0), ""},
	} {
		if got := along(c.x, up); got != c.want {
			t.Errorf("%v: got %q, want %q", c.x, got, c.want)
		}
	}
}

func TestFewLines(t *testing.T) {
	if got := fewLines("a\nb\nc\n", 5, "ask"); got != "a\nb\nc\n" {
		t.Errorf("short: %q", got)
	}
	if got, want := fewLines("1\n2\n3\n4\n5\n6\n7\n8\n9\n10", 5, "ask"), "1\n2\n3\n[… 5 lines, 10 bytes left out: ask]\n9\n10"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wiped := Execution(ExecutionView{Status: StatusDone, Outputs: []Output{stream("stderr", "epoch: 100%\n          \r\n   \n")}}, Options{})
	if want := "(no cell) · done\n[stderr]\nepoch: 100%"; wiped.Text != want {
		t.Errorf("got %q, want %q", wiped.Text, want)
	}
}
