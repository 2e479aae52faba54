//go:build conformance

package clients

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/testenv"
	"runt/internal/testenv/nodeenv"
)

// TestX03_Conformance runs the scenarios that fit any server against the program.
func TestX03_Conformance(t *testing.T) {
	b := newBed(t)
	front := nodeenv.WithToken(t, b.serve(), token)
	for _, scenario := range []string{
		"server-initialize", "ping", "logging-set-level", "completion-complete", "tools-list", "resources-list", "resources-subscribe",
		"resources-unsubscribe", "prompts-list", "server-sse-polling", "server-sse-multiple-streams", "dns-rebinding-protection",
	} {
		t.Run(scenario, func(t *testing.T) {
			checks := nodeenv.Conformance(t, front, scenario)
			if len(checks) == 0 {
				t.Error("nothing was checked")
			}
			for _, c := range checks {
				t.Logf("%s: %s %s", c.ID, c.Status, c.Message)
				if c.Status == "FAILURE" {
					t.Errorf("%s: %s", c.ID, c.Message)
				}
			}
		})
	}
}

// inspect runs the inspector's command line on the proxy and returns the result that it prints.
func (b *bed) inspect(t *testing.T, args ...string) map[string]any {
	t.Helper()
	ctx := limited(t)
	cmd := nodeenv.Command(ctx, t, "@modelcontextprotocol/inspector/cli/build/cli.js", append([]string{"--cli", b.bin.Proxy}, args...)...)
	cmd.Env, cmd.Dir = b.env, b.work
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("inspector %v: %v\n%s", args, err, stderrOf(err))
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatalf("inspector %v printed %.500s: %v", args, out, err)
	}
	return result
}

func stderrOf(err error) string {
	if exit, ok := err.(*exec.ExitError); ok {
		return string(exit.Stderr)
	}
	return ""
}

func TestX03_InspectorThroughTheProxy(t *testing.T) {
	b := newBed(t)
	tools, _ := b.inspect(t, "--method", "tools/list")["tools"].([]any)
	if len(tools) < 20 {
		t.Errorf("the inspector lists %d tools", len(tools))
	}
	text := func(result map[string]any) string {
		t.Helper()
		content, _ := result["content"].([]any)
		if len(content) == 0 || result["isError"] == true {
			t.Fatalf("result %v", result)
		}
		first, _ := content[0].(map[string]any)
		s, _ := first["text"].(string)
		return s
	}
	path := filepath.Join(b.work, "inspected.ipynb")
	made := text(b.inspect(t, "--method", "tools/call", "--tool-name", "create_notebook", "--tool-arg", "path="+path))
	if !strings.Contains(made, path) {
		t.Errorf("create_notebook: %s", made)
	}
	ran := text(b.inspect(t, "--method", "tools/call", "--tool-name", "create_cell",
		"--tool-arg", "notebook="+path, "--tool-arg", "source=print(6*7)", "--tool-arg", "and_run=true", "--tool-arg", "timeout_secs=60"))
	if !strings.Contains(ran, "42") {
		t.Errorf("create_cell: %s", ran)
	}
	if resources, _ := b.inspect(t, "--method", "resources/list")["resources"].([]any); len(resources) == 0 {
		t.Error("no resources")
	}
	if prompts, _ := b.inspect(t, "--method", "prompts/list")["prompts"].([]any); len(prompts) != 2 {
		t.Errorf("prompts %v", prompts)
	}
}

// TestX06_OfficialLibraries lets the MCP libraries for Python and TypeScript drive a session.
func TestX06_OfficialLibraries(t *testing.T) {
	scripts := filepath.Join(testenv.Root(t), "scripts", "conformance")
	b := newBed(t)
	url := b.serve()
	for name, server := range map[string][]string{"stdio": {b.bin.Proxy}, "http": {url}} {
		run := func(t *testing.T, cmd *exec.Cmd) {
			t.Helper()
			cmd.Args = append(append(cmd.Args, name, t.TempDir()), server...)
			cmd.Env, cmd.Dir = append(b.env, "MCP_NODE="+nodeenv.Dir(t)), b.work
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !strings.Contains(string(out), "ok saved and left") {
				t.Errorf("the session ended early: %v", err)
			}
		}
		t.Run("Python over "+name, func(t *testing.T) {
			run(t, exec.CommandContext(limited(t), nodeenv.Python(t), filepath.Join(scripts, "session.py")))
		})
		t.Run("TypeScript over "+name, func(t *testing.T) {
			run(t, nodeenv.Command(limited(t), t, filepath.Join(scripts, "session.mjs")))
		})
	}
}
