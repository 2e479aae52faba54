package toolspec

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const maxListBytes = 30_000

func TestP01_ToolListIsGolden(t *testing.T) {
	const golden = "testdata/tools.json"
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, ListJSON(), "", " "); err != nil {
		t.Fatalf("the list is not JSON: %v", err)
	}
	pretty.WriteByte('\n')
	if *update {
		if err := os.WriteFile(golden, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pretty.Bytes(), want) {
		t.Errorf("the tool list changed; look at the difference and run go test -update\n%s", pretty.Bytes())
	}
	if n := len(ListJSON()); n > maxListBytes {
		t.Errorf("the tool list has %d bytes, at most %d are allowed", n, maxListBytes)
	}
	if !bytes.Equal(renderList(collect()), ListJSON()) {
		t.Error("a second rendering gave other bytes")
	}
}

func TestP01_SchemasSuitEveryClient(t *testing.T) {
	var list []struct {
		Name        string         `json:"name"`
		InputSchema map[string]any `json:"inputSchema"`
		Annotations map[string]any `json:"annotations"`
	}
	if err := json.Unmarshal(ListJSON(), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		s := tool.InputSchema
		if s["type"] != "object" || s["additionalProperties"] != false {
			t.Errorf("%s: schema must be an object that takes no further properties: %v", tool.Name, s)
		}
		for _, key := range []string{"anyOf", "oneOf", "allOf", "$ref"} {
			if _, has := s[key]; has {
				t.Errorf("%s: %s at the top of the schema", tool.Name, key)
			}
		}
		if len(tool.Annotations) != 4 {
			t.Errorf("%s: has %d of 4 hints", tool.Name, len(tool.Annotations))
		}
		walk(tool.InputSchema, func(m map[string]any) {
			if _, isList := m["type"].([]any); isList {
				t.Errorf("%s: a type is a list: %v", tool.Name, m)
			}
		})
	}
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

func TestHintsAreConsistent(t *testing.T) {
	for _, tool := range Tools() {
		if tool.ReadOnly && (tool.Destructive || !tool.Idempotent) {
			t.Errorf("%s: a tool that only reads destroys nothing and can be repeated", tool.Name)
		}
		if _, takesTimeout := tool.Arg("timeout_secs"); takesTimeout && !(tool.Destructive && tool.OpenWorld) {
			t.Errorf("%s: runs code, so it is destructive and open", tool.Name)
		}
		if _, ok := tool.Arg("notebook"); !ok && !tool.ProxyOnly {
			t.Errorf("%s: has no notebook argument", tool.Name)
		}
		if tool.Desc == "" || len(tool.Desc) > 240 {
			t.Errorf("%s: description of %d bytes", tool.Name, len(tool.Desc))
		}
		if !regexp.MustCompile(`^[a-z_]+$`).MatchString(tool.Name) {
			t.Errorf("odd tool name %q", tool.Name)
		}
		if found, ok := Find(tool.Name); !ok || found != tool {
			t.Errorf("%s is not found by its name", tool.Name)
		}
	}
	if _, ok := Find("nothing"); ok {
		t.Error("a tool that does not exist was found")
	}
}

func TestInstructionsNameOnlyTools(t *testing.T) {
	text := Instructions()
	if n := strings.Count(text, "\n") + 1; n != 15 {
		t.Errorf("the instructions have %d lines, want 15", n)
	}
	known := map[string]bool{"and_run": true, "timeout_secs": true, "wait_secs": true, "expected_hash": true}
	for _, word := range regexp.MustCompile(`[a-z]+(_[a-z]+)+`).FindAllString(text, -1) {
		if _, ok := Find(word); !ok && !known[word] {
			t.Errorf("the instructions name %q, which is no tool", word)
		}
	}
}
