package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"runt/internal/domain"
	"runt/internal/toolspec"
)

func tool(t testing.TB, name string) *toolspec.Tool {
	t.Helper()
	spec, ok := toolspec.Find(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return spec
}

func TestArgumentsAreUnderstood(t *testing.T) {
	for _, tc := range []struct{ tool, raw, arg, want string }{
		{"execute_cell", `{"cell_id":"c"}`, "timeout_secs", "float64 30"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":"5"}`, "timeout_secs", "float64 5"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":0}`, "timeout_secs", "float64 0"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":0.5}`, "timeout_secs", "float64 0.5"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":"null"}`, "timeout_secs", "float64 30"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":null}`, "timeout_secs", "float64 30"},
		{"execute_cell", `{"cell_id":"c","on_timeout":"Interrupt"}`, "on_timeout", "string interrupt"},
		{"execute_cell", `"{\"cell_id\":\"c\"}"`, "cell_id", "string c"},
		{"execute_cell", `{"cell_id":["c"]}`, "cell_id", "string c"},
		{"create_cell", `{"source":"x","and_run":"true"}`, "and_run", "bool true"},
		{"create_cell", `{"source":"x","and_run":0}`, "and_run", "bool false"},
		{"create_cell", `{"source":["a\n","b"]}`, "source", "string a\nb"},
		{"create_cell", `{"source":5}`, "source", "string 5"},
		{"create_cell", `{"source":"null"}`, "source", "string null"},
		{"create_cell", ``, "source", "string "},
		{"create_cell", `null`, "cell_type", "string code"},
		{"create_cell", `{"after_cell_id":null}`, "after_cell_id", "<nil> <nil>"},
		{"create_cell", `{"after_cell_id":"null"}`, "after_cell_id", "absent"},
		{"create_cell", `{}`, "after_cell_id", "absent"},
		{"set_cell", `{"cell_id":"c","source":null}`, "source", "absent"},
		{"create_notebook", `{"dependencies":"[\"a\",\"b\"]"}`, "dependencies", "[]string [a b]"},
		{"create_notebook", `{"dependencies":"pandas"}`, "dependencies", "[]string [pandas]"},
		{"create_notebook", `{"dependencies":["a",2]}`, "dependencies", "[]string [a 2]"},
		{"create_notebook", `{"dependencies":"null"}`, "dependencies", "absent"},
		{"clear_outputs", `{"cell_ids":[]}`, "cell_ids", "[]string []"},
		{"clear_outputs", `{}`, "cell_ids", "absent"},
		{"get_all_cells", `{"start":"3"}`, "start", "int64 3"},
		{"get_all_cells", `{"start":3.0}`, "start", "int64 3"},
		{"edit_cells", `{"operations":"[{\"op\":\"create\",\"source\":\"x\",\"after_cell_id\":null}]"}`, "operations", "[]mcpserver.args [map[after_cell_id:<nil> op:create source:x]]"},
		{"edit_cells", `{"operations":{"op":"delete","cell_id":"c"}}`, "operations", "[]mcpserver.args [map[cell_id:c op:delete]]"},
	} {
		a, err := decodeArgs(tool(t, tc.tool), json.RawMessage(tc.raw))
		if err != nil {
			t.Errorf("%s %s: %v", tc.tool, tc.raw, err)
			continue
		}
		got := "absent"
		if a.has(tc.arg) {
			got = fmt.Sprintf("%T %v", a[tc.arg], a[tc.arg])
		}
		if got != tc.want {
			t.Errorf("%s %s: %s is %q, want %q", tc.tool, tc.raw, tc.arg, got, tc.want)
		}
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	for _, tc := range []struct{ tool, raw, words string }{
		{"execute_cell", `{"cell_id":"c","timeout":5}`, `"timeout" cell_id timeout_secs on_timeout notebook`},
		{"execute_cell", `{"cell_id":"c","timeout_secs":-1}`, "timeout_secs -1 0 86400"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":86401}`, "timeout_secs 0 86400"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":"soon"}`, "timeout_secs number 0 86400 soon"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":"NaN"}`, "timeout_secs number"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":true}`, "timeout_secs number"},
		{"execute_cell", `{"cell_id":"c","timeout_secs":1e400}`, "timeout_secs number"},
		{"execute_cell", `{}`, "cell_id missing string"},
		{"execute_cell", `{"cell_id":null}`, "cell_id missing"},
		{"execute_cell", `{"cell_id":{"a":1}}`, "cell_id string"},
		{"execute_cell", `{"cell_id":"c","on_timeout":"stop"}`, "on_timeout stop continue interrupt"},
		{"execute_cell", `[]`, "object cell_id"},
		{"execute_cell", `"x"`, "object cell_id"},
		{"create_cell", `{"and_run":"maybe"}`, "and_run true false maybe"},
		{"get_all_cells", `{"start":1.5}`, "start whole"},
		{"get_all_cells", `{"count":0}`, "count 1"},
		{"get_all_cells", `{"start":1e300}`, "start whole"},
		{"create_notebook", `{"dependencies":[{"a":1}]}`, "dependencies list"},
		{"create_notebook", `{"dependencies":"[oops"}`, "dependencies list"},
		{"edit_cells", `{"operations":[{"op":"create","index":1}]}`, `operations[0] "index" op after_cell_id`},
		{"edit_cells", `{"operations":[{"source":"x"}]}`, "op missing"},
		{"edit_cells", `{"operations":[5]}`, "operations objects"},
		{"reconnect", `{"x":1}`, "reconnect x no arguments"},
	} {
		_, err := decodeArgs(tool(t, tc.tool), json.RawMessage(tc.raw))
		if domain.CodeOf(err) != domain.CodeInvalidArgument {
			t.Errorf("%s %s: %v, want invalid_argument", tc.tool, tc.raw, err)
			continue
		}
		for word := range strings.FieldsSeq(tc.words) {
			if !strings.Contains(err.Error(), strings.Trim(word, `"`)) {
				t.Errorf("%s %s: the error does not say %s: %v", tc.tool, tc.raw, word, err)
			}
		}
	}
}

func FuzzDecodeArgs(f *testing.F) {
	for _, raw := range []string{`{}`, `null`, `{"cell_id":"c","timeout_secs":"5"}`, `{"operations":[{"op":"create"}]}`, `{"operations":"[{}]"}`, `"{}"`, `{"start":1e999}`, `{"dependencies":"[1]"}`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, spec := range toolspec.Tools() {
			a, err := decodeArgs(spec, json.RawMessage(raw))
			if err != nil {
				if domain.CodeOf(err) != domain.CodeInvalidArgument {
					t.Errorf("%s: %v", spec.Name, err)
				}
				continue
			}
			for _, s := range spec.Args {
				if s.Required && !a.has(s.Name) {
					t.Errorf("%s: %s is required and absent", spec.Name, s.Name)
				}
			}
		}
	})
}
