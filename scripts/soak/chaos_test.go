package main

import (
	"encoding/json"
	"testing"
)

// TestProofFindsWhatIsWrong keeps the proof from passing because it finds nothing.
func TestProofFindsWhatIsWrong(t *testing.T) {
	const good = `{"id":"a","source":["# chaos 1\n","x"],"outputs":[{"text":["<1:0>\n","<1:1>\n"]}]}`
	for _, tt := range []struct {
		name, cells string
		lost, twice int
	}{
		{"all is there", `[` + good + `]`, 0, 0},
		{"a later edit that was not acknowledged", `[{"id":"a","source":"# chaos 2\ny","outputs":[{"text":"<1:0>\n<1:1>\n"}]}]`, 0, 0},
		{"a create that was not acknowledged", `[` + good + `,{"id":"b","source":"# chaos 3\nz"}]`, 0, 0},
		{"no cell", `[]`, 1, 0},
		{"another text", `[{"id":"a","source":"# chaos 0\nx"}]`, 1, 0},
		{"a line is missing", `[{"id":"a","source":"# chaos 1\nx","outputs":[{"text":"<1:0>\n"}]}]`, 1, 0},
		{"a line is there twice", `[{"id":"a","source":"# chaos 1\nx","outputs":[{"text":"<1:0>\n<1:1>\n"},{"text":"<1:1>\n"}]}]`, 0, 1},
		{"a create was made again", `[` + good + `,{"id":"c","source":"# chaos 1\nx"}]`, 0, 2},
		{"an unacknowledged create was made again", `[` + good + `,{"id":"b","source":"# chaos 3\nz"},{"id":"c","source":"# chaos 3\nz"}]`, 0, 1},
		{"one id twice", `[` + good + `,` + good + `]`, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var cells []savedCell
			if err := json.Unmarshal([]byte(tt.cells), &cells); err != nil {
				t.Fatal(err)
			}
			c := &chaos{texts: map[string]bool{"# chaos 3\nz": true}, cells: map[string]*cellNote{"a": {
				book: "one", acked: "# chaos 1\nx", n: 1, maybe: []string{"# chaos 2\ny"}, ran: &runNote{n: 1, prints: 2, status: "done"}}}}
			c.proveBook("one", cells)
			if len(c.lost) != tt.lost || len(c.twice) != tt.twice || len(c.other) != 0 {
				t.Errorf("lost %q, twice %q, other %q; want %d and %d", c.lost, c.twice, c.other, tt.lost, tt.twice)
			}
		})
	}
}
