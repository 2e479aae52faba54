package mcpserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/domain"
	"runt/internal/toolspec"
)

func TestEveryListedToolIsImplemented(t *testing.T) {
	for _, spec := range toolspec.Tools() {
		if _, ok := handlers[spec.Name]; !ok {
			t.Errorf("%s is listed and not implemented", spec.Name)
		}
	}
	for name := range handlers {
		if _, ok := toolspec.Find(name); !ok {
			t.Errorf("%s is implemented and not listed", name)
		}
	}
}

func TestAgentSession(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("tester", nil)
	text := a.call("create_notebook", nil)
	wantWords(t, text, "Created notebook", "untitled", "1 cell", "kernel:")
	text = a.call("create_cell", map[string]any{"source": "print('hello')", "and_run": true, "timeout_secs": 60})
	wantWords(t, text, "hello", "done", "[1]")
	first := firstID(t, text)
	second := firstID(t, a.call("create_cell", map[string]any{"source": "x = 1\nx + 1"}))
	third := firstID(t, a.call("create_cell", map[string]any{"source": "# Title", "cell_type": "markdown", "after_cell_id": nil}))
	text = a.call("get_all_cells", nil)
	if i, j, k := strings.Index(text, third), strings.Index(text, first), strings.Index(text, second); i < 0 || j < i || k < j {
		t.Errorf("cells are not in order:\n%s", text)
	}
	text = a.call("execute_cell", map[string]any{"cell_id": second})
	wantWords(t, text, second, "done", "2")
	text = a.call("set_cell", map[string]any{"cell_id": second, "source": "x = 10\nx + 1"})
	wantWords(t, text, second, "- x = 1", "+ x = 10")
	text = a.call("replace_match", map[string]any{"cell_id": second, "match": "x + 1", "content": "x * 2", "and_run": true})
	wantWords(t, text, "20")
	text = a.call("replace_regex", map[string]any{"cell_id": second, "pattern": `^x = (\d+)$`, "content": "x = ${1}0"})
	wantWords(t, text, "+ x = 100")
	text = a.call("get_cell", map[string]any{"cell_id": second})
	wantWords(t, text, second, "hash=", "x = 100", "20")
	text = a.call("execute_code", map[string]any{"code": "x * 3"})
	wantWords(t, text, "30")
	wantWords(t, a.call("inspect_variables", nil), "x · int", "10")
	text = a.call("create_cell", map[string]any{"source": "1/0", "and_run": true})
	wantWords(t, text, "ZeroDivisionError", "error")
	bad := firstID(t, text)
	wantWords(t, a.call("get_all_cells", map[string]any{"errors_only": true}), bad)
	wantWords(t, a.call("search_cells", map[string]any{"pattern": "x * 2"}), second, "source:2")
	wantWords(t, a.call("search_cells", map[string]any{"pattern": "ZeroDiv.*", "regex": true, "in": "outputs"}), bad)
	wantWords(t, a.call("run_all_cells", nil), first, second, bad, "4 cells", "3 done", "1 error", "ZeroDivisionError")
	wantWords(t, a.call("move_cell", map[string]any{"cell_id": bad, "after_cell_id": nil}), bad, "cell 1 of 5")
	wantWords(t, a.call("set_cell_metadata", map[string]any{"cell_id": bad, "add_tags": []any{"raises-exception"}, "outputs_hidden": true}), "raises-exception", "outputs hidden true")
	wantWords(t, a.call("clear_outputs", map[string]any{"cell_ids": []any{bad}}), "1 of 1")
	wantWords(t, a.call("delete_cell", map[string]any{"cell_id": bad}), bad, "4 cells")
	text = a.call("save_notebook", map[string]any{"path": "sub/saved"})
	path := filepath.Join(b.dir, "sub", "saved.ipynb")
	wantWords(t, text, path)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	wantWords(t, a.call("list_notebooks", nil), path, "your default", "tester (")
	wantWords(t, a.call("restart_kernel", nil), "restarted", "running")
	wantWords(t, a.call("execute_code", map[string]any{"code": "'x' in globals()"}), "False")
	wantWords(t, a.call("interrupt_kernel", nil), "Nothing was running")
	wantWords(t, a.call("list_kernels", nil), "kernelspecs", "Python")
	wantWords(t, a.call("disconnect_notebook", nil), path)
	a.fails(domain.CodeSessionDisconnected, "get_all_cells", nil)
	wantWords(t, a.call("connect_notebook", map[string]any{"path": "sub/saved.ipynb"}), path, "4 cells", first)
}
