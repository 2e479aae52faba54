package kernelcases

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/testenv"
)

// The list of tools as clients of several makers accept it.
func TestC111_ToolSchemas(t *testing.T) {
	t.Parallel()
	a := shared(t).agent(t, "lister")
	res, _ := a.request("tools/list", nil)["result"].(map[string]any)
	raw, err := json.Marshal(res)
	if err != nil || len(raw) > 30_000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	tools, _ := res["tools"].([]any)
	if len(tools) < 20 {
		t.Fatalf("%d tools", len(tools))
	}
	for _, x := range tools {
		tool, _ := x.(map[string]any)
		schema, _ := tool["inputSchema"].(map[string]any)
		if schema["type"] != "object" || tool["outputSchema"] != nil {
			t.Errorf("%v: input of type %v, output schema %v", tool["name"], schema["type"], tool["outputSchema"])
		}
		for _, bad := range []string{"anyOf", "oneOf", "allOf", "$ref"} {
			if schema[bad] != nil {
				t.Errorf("C111: %v has %s on top", tool["name"], bad)
			}
		}
		noListTypes(t, fmt.Sprint(tool["name"]), schema)
	}
}

// noListTypes checks that "type" is never a list (C112).
func noListTypes(t *testing.T, where string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, list := v["type"].([]any); list {
			t.Errorf("C112: %s: a type is a list", where)
		}
		for k, x := range v {
			noListTypes(t, where+"."+k, x)
		}
	case []any:
		for _, x := range v {
			noListTypes(t, where, x)
		}
	}
}

// orderOf lists the ids of all cells, top to bottom.
func (n *notebook) orderOf() []string {
	n.t.Helper()
	return regexp.MustCompile(`(?m)^\d+ · (\S+)`).FindAllString(n.call("get_all_cells", nil), -1)
}

func TestC114_InsertPlaces(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	var ids []string
	for i := range 10 {
		ids = append(ids, n.cell(fmt.Sprint("cell ", i)))
	}
	after := firstID(t, n.call("create_cell", map[string]any{"source": "after 3", "after_cell_id": ids[3]}))
	top := firstID(t, n.call("create_cell", map[string]any{"source": "top", "after_cell_id": nil}))
	ids = append(ids[:4], append([]string{after}, ids[4:]...)...)
	order := n.all(t)
	if order[0] != top || strings.Join(order[len(order)-len(ids):], " ") != strings.Join(ids, " ") {
		t.Errorf("order %v, want %v after %s", order, ids, top)
	}
}

func (n *notebook) all(t *testing.T) []string {
	t.Helper()
	var ids []string
	for _, line := range n.orderOf() {
		ids = append(ids, line[strings.LastIndex(line, " ")+1:])
	}
	return ids
}

// Others move and delete cells: ids stay right, and what is gone or has changed is refused.
func TestC116_CellsThatOthersMoved(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	other := n.bed.agent(t, "person")
	other.call("connect_notebook", map[string]any{"notebook": n.id})
	a, b := n.cell("'cell a'"), n.cell("'cell b'")
	shown := n.call("get_cell", map[string]any{"cell_id": a})
	hash := regexp.MustCompile(`hash=(\w+)`).FindStringSubmatch(shown)[1]
	other.call("move_cell", map[string]any{"cell_id": a, "after_cell_id": b})
	wantOutput(t, n.call("execute_cell", map[string]any{"cell_id": a}), "'cell a'")
	other.call("set_cell", map[string]any{"cell_id": a, "source": "'changed'"})
	text := n.fails(domain.CodeStaleSource, "set_cell", map[string]any{"cell_id": a, "source": "'mine'", "expected_hash": hash})
	want(t, text, "'changed'", "get_cell")
	other.call("delete_cell", map[string]any{"cell_id": b})
	n.fails(domain.CodeCellNotFound, "execute_cell", map[string]any{"cell_id": b})
	want(t, n.fails(domain.CodeCellNotFound, "execute_cell", map[string]any{"cell_id": "5"}), "cell-")
}

func TestC117_EditsKeepTypePlaceAndNumber(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	for _, kind := range []string{"code", "markdown", "raw"} {
		id := firstID(t, n.call("create_cell", map[string]any{"source": "before", "cell_type": kind}))
		order := strings.Join(n.all(t), " ")
		text := n.call("set_cell", map[string]any{"cell_id": id, "source": "# after"})
		want(t, text, "after")
		want(t, n.call("get_cell", map[string]any{"cell_id": id}), "("+kind+")", "# after")
		if now := strings.Join(n.all(t), " "); now != order {
			t.Errorf("%s: %s became %s", kind, order, now)
		}
	}
}

// Two agents write at both ends of a cell at once: every insert is there once and whole.
func TestC119_ConcurrentEdits(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	cell := n.cell("<|>")
	other := n.bed.agent(t, "person")
	other.call("connect_notebook", map[string]any{"notebook": n.id})
	const rounds = 60
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range rounds {
			n.call("replace_match", map[string]any{"cell_id": cell, "match": "<", "content": fmt.Sprintf("<a%d;", i)})
		}
	})
	wg.Go(func() {
		for i := range rounds {
			other.call("replace_match", map[string]any{"cell_id": cell, "match": ">", "content": fmt.Sprintf("b%d;>", i)})
		}
	})
	wg.Wait()
	testenv.Await(t, t.Context(), "both to see all", func() bool {
		x, y := n.call("get_cell", map[string]any{"cell_id": cell}), other.call("get_cell", map[string]any{"cell_id": cell})
		for i := range rounds {
			for _, s := range []string{fmt.Sprintf("a%d;", i), fmt.Sprintf("b%d;", i)} {
				if strings.Count(x, s) != 1 || strings.Count(y, s) != 1 {
					return false
				}
			}
		}
		return true
	})
}

// A notebook of 2,000 cells opens at once, and is read in pages.
func TestC093_ManyCells(t *testing.T) {
	const many = 2000 / divisor
	b := shared(t)
	var cells []map[string]any
	for i := range many {
		cells = append(cells, map[string]any{"cell_type": "code", "execution_count": i, "id": fmt.Sprint("c", i), "metadata": map[string]any{},
			"outputs": []any{map[string]any{"output_type": "stream", "name": "stdout", "text": []string{strings.Repeat("out\n", 20)}}}, "source": []string{fmt.Sprintf("x%d = %d\n", i, i), "print(x)"}})
	}
	raw, err := json.Marshal(map[string]any{"cells": cells, "metadata": map[string]any{}, "nbformat": 4, "nbformat_minor": 5})
	if err != nil {
		t.Fatal(err)
	}
	path := b.path("many.ipynb")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	n := &notebook{agent: b.agent(t, "tester"), bed: b}
	began := time.Now()
	ans := n.try("connect_notebook", map[string]any{"path": path})
	within(t, 3*time.Second, "opening them", began)
	want(t, ans.text, fmt.Sprint(many, " cells"), "get_all_cells")
	seen := 0
	for start := 0; start < many; {
		page := n.try("get_all_cells", map[string]any{"start": start})
		if page.isError || page.bytes > 20_000 {
			t.Fatalf("a page of %d bytes: %.200s", page.bytes, page.text)
		}
		got := len(regexp.MustCompile(`(?m)^\d+ · c\d+`).FindAllString(page.text, -1))
		if got == 0 {
			t.Fatalf("an empty page at %d: %s", start, page.text)
		}
		seen, start = seen+got, start+got
	}
	if seen != many || ans.bytes > 25_000 {
		t.Errorf("saw %d cells; the first answer has %d bytes", seen, ans.bytes)
	}
}

// Widgets: what a reader without widgets is given is the text beside them, with their last value.
func TestC098_WidgetsReadAsText(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	text := n.run("from IPython.display import display\ndisplay({'application/vnd.jupyter.widget-view+json': {'model_id': 'm1', 'version_major': 2, 'version_minor': 0}, 'text/plain': '  0%|          | 0/3 [00:00<?, ?it/s]'}, raw=True)")
	want(t, text, "0/3")
	wantNone(t, text, "model_id")
}
