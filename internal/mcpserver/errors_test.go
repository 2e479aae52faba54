package mcpserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/domain"
)

func TestErrorsWithoutANotebook(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("lost", nil)
	wantWords(t, a.fails(domain.CodeNoSession, "get_all_cells", nil), "create_notebook")
	wantWords(t, a.fails(domain.CodeNoSession, "disconnect_notebook", nil), "No notebook")
	wantWords(t, a.fails(domain.CodeInvalidArgument, "connect_notebook", nil), "Exactly one")
	wantWords(t, a.fails(domain.CodeInvalidArgument, "connect_notebook", map[string]any{"path": "a", "notebook_id": "b"}), "notebook_id")
	wantWords(t, a.fails(domain.CodeInvalidArgument, "connect_notebook", map[string]any{"notebook_id": "b"}), `"b"`)
	wantWords(t, a.fails(domain.CodeNotebookUnavailable, "connect_notebook", map[string]any{"path": "missing.ipynb"}), "create_notebook", filepath.Join(b.dir, "missing.ipynb"))
	wantWords(t, a.fails(domain.CodeNotebookUnavailable, "connect_notebook", map[string]any{"notebook_id": "11111111-2222-4333-8444-555555555555"}), "11111111")
	wantWords(t, a.fails(domain.CodeNotebookUnavailable, "get_all_cells", map[string]any{"notebook": "missing.ipynb"}), "missing.ipynb")
	wantWords(t, a.fails(domain.CodeFileUnreadable, "connect_notebook", map[string]any{"path": "."}), "folder")
	wantWords(t, a.fails(domain.CodeInvalidArgument, "get_results", map[string]any{"execution_id": "nope"}), "nope")
	broken := filepath.Join(b.dir, "broken.ipynb")
	if err := os.WriteFile(broken, []byte("{not json"), 0o644); err != nil {
		t.Fatal(err)
	}
	a.fails(domain.CodeFileUnreadable, "connect_notebook", map[string]any{"path": "broken.ipynb"})
	if data, err := os.ReadFile(broken); err != nil || string(data) != "{not json" {
		t.Errorf("the file was changed to %q, %v", data, err)
	}
	a.fails(domain.CodeInvalidArgument, "create_notebook", map[string]any{"working_dir": "nowhere"})
	a.fails(domain.CodeInvalidArgument, "create_notebook", map[string]any{"path": "x.ipynb", "ephemeral": true})
	a.fails(domain.CodeSaveConflict, "create_notebook", map[string]any{"path": "broken.ipynb"})
	if m := a.request("tools/call", map[string]any{"name": "no_such_tool"}); m["error"] == nil {
		t.Errorf("an unknown tool gave %v", m)
	}
}

func TestErrorsInANotebook(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("clumsy", nil)
	a.call("create_notebook", map[string]any{"path": "errors.ipynb"})
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "x = 1\ny = 1"}))
	text := firstID(t, a.call("create_cell", map[string]any{"source": "words", "cell_type": "markdown"}))
	near := cell[:len(cell)-1] + "0"
	if near == cell {
		near = cell[:len(cell)-1] + "1"
	}
	for _, name := range []string{"get_cell", "execute_cell", "delete_cell", "move_cell", "set_cell_metadata"} {
		wantWords(t, a.fails(domain.CodeCellNotFound, name, map[string]any{"cell_id": near}), near, cell)
	}
	a.fails(domain.CodeCellNotFound, "create_cell", map[string]any{"source": "z", "after_cell_id": "nothing"})
	a.fails(domain.CodeCellNotFound, "move_cell", map[string]any{"cell_id": cell, "after_cell_id": "nothing"})
	a.fails(domain.CodeInvalidArgument, "move_cell", map[string]any{"cell_id": cell, "after_cell_id": cell})
	wantWords(t, a.fails(domain.CodeInvalidArgument, "execute_cell", map[string]any{"cell_id": text}), "markdown", "set_cell")
	a.fails(domain.CodeInvalidArgument, "create_cell", map[string]any{"cell_type": "markdown", "and_run": true})
	a.fails(domain.CodeInvalidArgument, "replace_match", map[string]any{"cell_id": text, "match": "w", "content": "v", "and_run": true})
	wantWords(t, a.fails(domain.CodeNoMatch, "replace_match", map[string]any{"cell_id": cell, "match": "z", "content": "v"}), "get_cell")
	wantWords(t, a.fails(domain.CodeAmbiguousMatch, "replace_match", map[string]any{"cell_id": cell, "match": "= 1", "content": "v"}), "2 places", "line 1", "line 2")
	a.fails(domain.CodeInvalidArgument, "replace_regex", map[string]any{"cell_id": cell, "pattern": "(", "content": "v"})
	a.fails(domain.CodeInvalidArgument, "set_cell", map[string]any{"cell_id": cell})
	stale := a.fails(domain.CodeStaleSource, "set_cell", map[string]any{"cell_id": cell, "source": "new", "expected_hash": "0123456789ab"})
	_, rest, _ := strings.Cut(stale, "its hash is ")
	hash, _, _ := strings.Cut(rest, " ")
	a.call("set_cell", map[string]any{"cell_id": cell, "source": "new", "expected_hash": hash})
	a.fails(domain.CodeInvalidArgument, "execute_cell", map[string]any{"cell_id": cell, "timeout_secs": -1})
	a.fails(domain.CodeInvalidArgument, "execute_cell", map[string]any{"cell_id": cell, "index": 1})
	a.fails(domain.CodeKernelUnavailable, "inspect_variables", nil)
	if err := os.WriteFile(filepath.Join(b.dir, "taken.ipynb"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantWords(t, a.fails(domain.CodeSaveConflict, "save_notebook", map[string]any{"path": "taken.ipynb"}), "taken.ipynb", "overwrite")
	a.fails(domain.CodeInvalidArgument, "save_notebook", map[string]any{"path": "."})
	a.call("create_notebook", nil)
	wantWords(t, a.fails(domain.CodeInvalidArgument, "save_notebook", nil), "untitled")
}

func TestEditCellsIsAllOrNothing(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("editor", nil)
	a.call("create_notebook", nil)
	one := firstID(t, a.call("create_cell", map[string]any{"source": "one"}))
	op := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	before := a.call("get_all_cells", nil)
	wantWords(t, a.fails(domain.CodeCellNotFound, "edit_cells", map[string]any{"operations": []any{
		op("op", "create", "source", "two"), op("op", "set", "cell_id", one, "source", "changed"), op("op", "delete", "cell_id", "missing"),
	}}), "operations[2]", "Nothing was changed", "missing")
	a.fails(domain.CodeInvalidArgument, "edit_cells", map[string]any{"operations": []any{op("op", "create", "cell_id", "mine")}})
	a.fails(domain.CodeInvalidArgument, "edit_cells", map[string]any{"operations": []any{op("op", "delete")}})
	a.fails(domain.CodeInvalidArgument, "edit_cells", map[string]any{"operations": []any{op("op", "set", "cell_id", one)}})
	a.fails(domain.CodeInvalidArgument, "edit_cells", map[string]any{"operations": []any{}})
	if after := a.call("get_all_cells", nil); after != before {
		t.Errorf("an edit that failed has changed\n%s\nto\n%s", before, after)
	}
	text := a.call("edit_cells", map[string]any{"operations": []any{
		op("op", "create", "source", "first", "after_cell_id", nil), op("op", "create", "source", "second", "after_cell_id", "$0"),
		op("op", "set", "cell_id", one, "source", "# one", "cell_type", "markdown"), op("op", "move", "cell_id", one, "after_cell_id", "$1"),
		op("op", "set", "cell_id", "$1", "source", "second, changed"),
	}})
	wantWords(t, text, "0: created", "1: created", "2: set "+one, "3: moved "+one)
	text = a.call("get_all_cells", map[string]any{"view": "source"})
	at := -1
	for _, source := range []string{"first", "second, changed", "# one"} {
		i := strings.Index(text, source)
		if i <= at {
			t.Errorf("%q is missing or out of order:\n%s", source, text)
		}
		at = i
	}
}

func TestPagesOfALongNotebook(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("pager", nil)
	a.call("create_notebook", nil)
	var ops []any
	for range 300 {
		ops = append(ops, map[string]any{"op": "create", "source": strings.Repeat("x", 70)})
	}
	a.call("edit_cells", map[string]any{"operations": ops})
	seen, pages := 0, 0
	for start := 0; ; pages++ {
		text := a.call("get_all_cells", map[string]any{"start": start})
		if len(text) > 8<<10 {
			t.Errorf("a page has %d bytes", len(text))
		}
		seen += len(idPattern.FindAllString(text, -1))
		_, rest, more := strings.Cut(text, "get_all_cells view=map start=")
		if !more || pages > 100 {
			break
		}
		next, _, _ := strings.Cut(rest, ";")
		start = 0
		for _, d := range next {
			start = start*10 + int(d-'0')
		}
	}
	if seen != 301 || pages < 2 {
		t.Errorf("%d cells on %d pages, want 301 on several", seen, pages+1)
	}
	if text := a.call("get_all_cells", map[string]any{"start": 5, "count": 2}); len(idPattern.FindAllString(text, -1)) != 2 {
		t.Errorf("count 2 gave %s", text)
	}
	a.call("get_all_cells", map[string]any{"start": 100000})
}

func TestKernelThatCannotStart(t *testing.T) {
	b := newBed(t)
	venv := filepath.Join(t.TempDir(), "venv")
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("make venv: %v\n%s", err, out)
	}
	b.stop()
	b.opt.Environ = append(b.opt.Environ, "VIRTUAL_ENV="+venv)
	b.start()
	a := b.agent("unlucky", nil)
	wantWords(t, a.fails(domain.CodeKernelUnavailable, "create_notebook", map[string]any{"kernel": "nope"}), "nope", "python3")
	a.call("create_notebook", nil)
	for name, args := range map[string]map[string]any{
		"create_cell": {"source": "1", "and_run": true, "timeout_secs": 30}, "execute_code": {"code": "1"}, "run_all_cells": {}, "restart_kernel": {},
	} {
		ans := a.try(name, args)
		if !ans.isError {
			t.Errorf("%s is no error: %s", name, ans.text)
		}
		wantWords(t, ans.text, "ipykernel is missing", filepath.Join(venv, "bin"))
	}
}

func TestK04_DeathOfTheKernelIsNamed(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("killer", nil)
	a.call("create_notebook", nil)
	text := a.call("create_cell", map[string]any{"source": "import time, os\nprint('before', flush=True)\ntime.sleep(0.5)\nos._exit(42)", "and_run": true, "timeout_secs": 60})
	wantWords(t, text, "error", "42", "before")
	text = a.call("execute_code", map[string]any{"code": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "timeout_secs": 60})
	wantWords(t, text, "SIGKILL", "memory")
	wantWords(t, a.call("restart_kernel", nil), "restarted")
	wantWords(t, a.call("execute_code", map[string]any{"code": "6*7"}), "42")
}
