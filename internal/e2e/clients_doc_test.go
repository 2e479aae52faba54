package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"runt/internal/testenv"
)

// snippet is what a client starts by a piece of the documentation.
type snippet struct {
	heading string
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// snippets finds the configurations and command lines in docs/clients.md.
func snippets(t testing.TB) []snippet {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []snippet
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, _, _ := strings.Cut(section, "\n")
		for _, m := range regexp.MustCompile("(?s)```(sh|json|toml)\n(.*?)```").FindAllStringSubmatch(section, -1) {
			s := snippet{heading: heading + ", " + m[1]}
			switch m[1] {
			case "sh":
				_, line, _ := strings.Cut(strings.TrimSpace(m[2]), " -- ")
				fields := strings.Fields(line)
				s.Command, s.Args = fields[0], fields[1:]
			case "toml":
				s.Command = firstMatch(t, regexp.MustCompile(`(?m)^command = "(.*)"$`), m[2])
			case "json":
				var file map[string]map[string]json.RawMessage
				if err := json.Unmarshal([]byte(m[2]), &file); err != nil {
					t.Fatalf("%s: %v", heading, err)
				}
				for _, servers := range file {
					for _, server := range servers {
						if err := json.Unmarshal(server, &s); err != nil {
							t.Fatalf("%s: %v", heading, err)
						}
					}
				}
			}
			found = append(found, s)
		}
	}
	return found
}

// TestSnippetsOfTheDocumentation starts what a client would and calls a tool.
func TestSnippetsOfTheDocumentation(t *testing.T) {
	b := sharedBedOf(t)
	all := snippets(t)
	if len(all) < 7 {
		t.Errorf("only %d snippets were found", len(all))
	}
	for _, s := range all {
		t.Run(s.heading, func(t *testing.T) {
			var env []string
			for name, value := range s.Env {
				if name == "RUNTIMED_SOCKET_PATH" { // the bed's own serves as well as another
					value = b.socket()
				}
				env = append(env, name+"="+value)
			}
			a := b.startBy(t, "doc-"+s.heading, append([]string{"/usr/bin/env", s.Command}, s.Args...), env...)
			a.Initialize()
			if text := a.call("list_notebooks", args{}); text == "" {
				t.Error("list_notebooks says nothing")
			}
			status := b.runProgram(t, "runt-mcp-proxy", "--status")
			for _, want := range []string{"doc-" + s.heading, "ready", "log "} {
				if !strings.Contains(status, want) {
					t.Errorf("--status does not say %q:\n%s", want, status)
				}
			}
			if found := b.runt(t, "doctor"); !strings.Contains(found, "serves doc-"+s.heading) {
				t.Errorf("runt doctor does not know of the proxy:\n%s", found)
			}
		})
	}
}
