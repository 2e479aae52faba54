package session

import (
	"fmt"
	"strings"
	"testing"
)

// The rows of the decision matrix: event, initial target, has session, was
// disconnected, disconnect target. A star stands for every value.
const matrix = `
UpgradedOther * * * *   Exit(75)
UpgradedSame  t * * *   RejoinInitial(t)
UpgradedSame  - y * *   RejoinContinuation
UpgradedSame  - n * *   NoOp
Connected     t * * *   RejoinInitial(t)
Connected     - y y *   RejoinContinuation
Connected     - y n *   NoOp
Connected     - n y d   RejoinInitial(d)
Connected     - n y -   NoOp
Connected     - n n *   NoOp
Disconnected  * * * *   MarkDisconnected
Closed        * * * *   Exit(0)
`

func TestS01_S10_Classify(t *testing.T) {
	rows := 0
	for _, ev := range []string{"UpgradedOther", "UpgradedSame", "Connected", "Disconnected", "Closed"} {
		for _, initial := range []string{"-", "t"} {
			for _, has := range []string{"n", "y"} {
				for _, was := range []string{"n", "y"} {
					for _, aside := range []string{"-", "d"} {
						rows++
						in := []string{ev, initial, has, was, aside}
						t.Run(strings.Join(in, "_"), func(t *testing.T) { checkRow(t, in) })
					}
				}
			}
		}
	}
	if rows != 80 {
		t.Errorf("%d rows, want the whole input space of 80", rows)
	}
}

func checkRow(t *testing.T, in []string) {
	event := map[string]Event{
		"UpgradedOther": {Kind: Upgraded, VersionDiffers: true}, "UpgradedSame": {Kind: Upgraded},
		"Connected": {Kind: Connected}, "Disconnected": {Kind: Disconnected}, "Closed": {Kind: Closed},
	}[in[0]]
	facts := Facts{HasSession: in[2] == "y", WasDisconnected: in[3] == "y"}
	if in[1] == "t" {
		facts.Initial = file("t")
	}
	if in[4] == "d" {
		facts.DisconnectTarget = file("d")
	}
	var matching []string
	for line := range strings.SplitSeq(strings.TrimSpace(matrix), "\n") {
		f := strings.Fields(line)
		match := true
		for i := range in {
			match = match && (f[i] == "*" || f[i] == in[i])
		}
		if match {
			matching = append(matching, f[5])
		}
	}
	if len(matching) != 1 {
		t.Fatalf("%d rows of the matrix speak about this input: %v", len(matching), matching)
	}
	if got := Classify(event, facts).String(); got != matching[0] {
		t.Errorf("got %s, want %s", got, matching[0])
	}
}

func TestParseInitial(t *testing.T) {
	id := string(fakeID(7))
	for _, tc := range []struct{ def, all, want string }{
		{"", "", "[]"},
		{"/a.ipynb", "", "[/a.ipynb*]"},
		{id, "", "[" + id + "*]"},
		{"/a", `[{"path":"/b"},{"id":"` + id + `"}]`, "[/b " + id + " /a*]"},
		{"/b", `[{"path":"/b"},{"id":"x"}]`, "[/b* x]"},
		{"", `[{"path":"/b"},{"id":"x","default":true},{"path":"/c","default":true}]`, "[/b x* /c]"},
		{"/b", `[{"path":"/b"},{"id":"x","default":true},{}]`, "[/b* x]"},
		{id, `[{"path":"/b","id":"` + id + `"}]`, "[/b*]"},
	} {
		list, err := ParseInitial(tc.def, tc.all, func(s string) string { return s })
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
		}
		var words []string
		for _, in := range list {
			w := in.String()
			if in.Default {
				w += "*"
			}
			words = append(words, w)
		}
		if got := fmt.Sprint(words); got != tc.want {
			t.Errorf("ParseInitial(%q, %q) = %s, want %s", tc.def, tc.all, got, tc.want)
		}
	}
	if _, err := ParseInitial("", "{", nil); err == nil {
		t.Error("a broken list was accepted")
	}
}

func FuzzParseInitial(f *testing.F) {
	f.Add("", `[{"path":"/b"},{"id":"x","default":true}]`)
	f.Add("/a", "null")
	f.Fuzz(func(t *testing.T, def, all string) {
		list, err := ParseInitial(def, all, func(s string) string { return s })
		defaults := 0
		for _, in := range list {
			if in.IsZero() {
				t.Error("an empty target came through")
			}
			if in.Default {
				defaults++
			}
		}
		if err == nil && defaults > 1 {
			t.Errorf("%d defaults", defaults)
		}
	})
}
