package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
)

// write writes a notebook file in the bed and returns its path.
func (b *bed) write(t testing.TB, name, text string) string {
	t.Helper()
	path := b.path(name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// notebookFile is a notebook of two cells as a person might have saved it.
const notebookFile = `{
 "cells": [
  {"cell_type": "markdown", "id": "e1", "metadata": {}, "source": ["# Measurements"]},
  {"cell_type": "code", "execution_count": null, "id": "e2", "metadata": {}, "outputs": [], "source": ["x = 6 * 7\n", "x"]}
 ],
 "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

// notebooks is what list_notebooks shows, without who is connected.
func (a *agent) notebooks() map[string]string {
	a.t.Helper()
	found := map[string]string{}
	for _, line := range strings.Split(a.call("list_notebooks", args{}), "\n")[1:] {
		parts := strings.Split(line, " · ")
		if len(parts) < 3 {
			a.t.Fatalf("a line of list_notebooks: %q", line)
		}
		found[parts[0]] = parts[1] + " " + parts[2] + " " + parts[len(parts)-1]
	}
	return found
}

// TestP12_EveryNotebookComesBack: what the client holds, how it came to hold it,
// and which one is the default outlive the session layer.
func TestP12_EveryNotebookComesBack(t *testing.T) {
	b := sharedBedOf(t)
	a := b.agent(t, "p12")
	opened := a.connect(b.write(t, "p12-opened.ipynb", notebookFile))
	left := a.connect(b.write(t, "p12-left.ipynb", notebookFile))
	untitled := a.create("")
	a.call("create_cell", args{"source": "# untitled"})
	saved := a.create("")
	a.call("create_cell", args{"source": "# saved"})
	a.call("save_notebook", args{"path": b.path("p12-saved.ipynb")})
	a.call("disconnect_notebook", args{"notebook": left})
	a.call("connect_notebook", args{"notebook": untitled}) // the default from here on
	want := map[string]string{opened: "p12-opened.ipynb", untitled: "", saved: "p12-saved.ipynb"}

	for round := range 3 {
		a.child(a.killChild())
		if round == 1 {
			b.killDaemon(t)
		}
		held := a.report().Notebooks
		if len(held) != len(want) {
			t.Fatalf("the proxy knows of %v", held)
		}
		for _, n := range held {
			name, ok := want[n.ID]
			if !ok || n.Path != "" && filepath.Base(n.Path) != name || n.Path == "" && name != "" || n.Default != (n.ID == untitled) {
				t.Errorf("the proxy knows of %+v, want %v and the default %s", n, want, untitled)
			}
		}
		if text := a.call("get_all_cells", args{}); !strings.Contains(text, "# untitled") {
			t.Errorf("the default notebook is another one: %s", text)
		}
		if text := a.call("get_all_cells", args{"notebook": b.path("p12-saved.ipynb")}); !strings.Contains(text, "# saved") {
			t.Errorf("the notebook that was saved as a file: %s", text)
		}
		if text := a.call("get_all_cells", args{"notebook": opened}); !strings.Contains(text, "1 · e2 · code") {
			t.Errorf("the notebook that was opened: %s", text)
		}
		for id, state := range a.notebooks() {
			if _, ok := want[id]; ok != strings.Contains(state, "held by you") {
				t.Errorf("notebook %s: %s", id, state)
			}
		}
	}
	a.wantAlive()
}

// TestC001_TheNextCallAfterADaemonRestart: it succeeds within 5 s of the new
// daemon's first answer, and the attempts meanwhile leave no notebooks behind.
func TestC001_TheNextCallAfterADaemonRestart(t *testing.T) {
	b := sharedBedOf(t)
	a := b.agent(t, "c001")
	id := a.create("")
	a.call("create_cell", args{"source": "# here"})
	before := len(a.notebooks())
	old := b.killDaemon(t)
	started := make(chan error, 1)
	go func() { started <- b.command(t.Context(), "runt", "daemon", "start").Run() }()
	pid := 0
	for pid == 0 || pid == old { // calls go on while there is no daemon
		if text := a.call("get_all_cells", args{}); !strings.Contains(text, "# here") {
			t.Errorf("get_all_cells: %s", text)
		}
		pid = b.daemon(t.Context())
	}
	answers := time.Now()
	if text := a.call("create_cell", args{"source": "# there"}); !strings.Contains(text, "cell 3 of 3") {
		t.Errorf("create_cell: %s", text)
	}
	t.Logf("an edit was answered %v after the next daemon's first answer", since(answers))
	if since(answers) > 5*time.Second {
		t.Errorf("it took %v", since(answers))
	}
	if err := <-started; err != nil {
		t.Errorf("start the daemon: %v", err)
	}
	if now := a.notebooks(); len(now) != before || !strings.Contains(now[id], "held by you") {
		t.Errorf("%d notebooks are open, %d were: %v", len(now), before, now)
	}
}

// TestC006_ASavedNotebookIsRejoinedWhole: same file, same cells, same ids.
func TestC006_ASavedNotebookIsRejoinedWhole(t *testing.T) {
	b := sharedBedOf(t)
	a := b.agent(t, "c006")
	path := b.write(t, "c006.ipynb", notebookFile)
	id := a.connect(path)
	a.call("set_cell", args{"cell_id": "e1", "source": "# Not saved yet"})
	before := a.call("get_all_cells", args{})
	b.killDaemon(t)
	if after := a.call("get_all_cells", args{}); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	if state := a.notebooks()[id]; !strings.Contains(state, path) {
		t.Errorf("the notebook is %q", state)
	}
}

// TestC007_C008_UntitledNotebooksStay when their clients, their rooms and their
// daemon go; and an unknown id makes no notebook.
func TestC007_C008_UntitledNotebooksStay(t *testing.T) {
	b := sharedBedOf(t)
	maker := b.agent(t, "c007-maker")
	id := maker.create("")
	ops := make([]args, 50)
	for i := range ops {
		ops[i] = args{"op": "create", "source": fmt.Sprintf("# cell %d", i)}
	}
	maker.call("edit_cells", args{"operations": ops})
	want := maker.call("get_all_cells", args{})
	maker.CloseInput()
	if code := maker.WaitExit(patience); code != 0 {
		t.Errorf("the proxy ended with %d", code)
	}
	await(t, patience, "the notebook to be left", func() bool { return b.peers(t, id) == 0 })
	a := b.agent(t, "c007")
	for _, gone := range []func(){func() {}, func() { b.runt(t, "stop", id) }, func() { b.killDaemon(t) }} {
		gone()
		a.call("connect_notebook", args{"notebook_id": id})
		if got := a.call("get_all_cells", args{}); got != want || strings.Count(got, "# cell ") != 50 {
			t.Errorf("%s\nwant %s", got, want)
		}
		a.call("disconnect_notebook", args{})
	}
	before := len(a.notebooks())
	a.fails(domain.CodeNotebookUnavailable, "connect_notebook", args{"notebook_id": "01234567-89ab-4cde-8f01-23456789abcd"})
	if now := a.notebooks(); len(now) != before {
		t.Errorf("an unknown id has made a notebook: %v", now)
	}
}

// TestC011_C012_NamesFollowASaveAs: after it every tool names the new file, and calls
// without a notebook mean the one chosen last. A switch says from where.
func TestC011_C012_NamesFollowASaveAs(t *testing.T) {
	b := sharedBedOf(t)
	a := b.agent(t, "c011")
	first, second := a.create(""), a.create("c011-second.ipynb")
	if text := a.call("connect_notebook", args{"notebook": first}); !regexp.MustCompile(`(?m)^switched_from: .*c011-second\.ipynb`).MatchString(text) {
		t.Errorf("C012: after a switch: %s", text)
	}
	if text := a.call("connect_notebook", args{"notebook": first}); strings.Contains(text, "switched_from") {
		t.Errorf("C012: connecting the same one again: %s", text)
	}
	a.call("create_cell", args{"source": "# first"})
	for i := range 20 {
		path := b.path(fmt.Sprintf("c011-%d.ipynb", i))
		a.call("save_notebook", args{"path": path})
		if i%5 == 0 {
			a.killChild()
		}
		if state := a.notebooks(); !strings.HasPrefix(state[first], path+" ") || !strings.HasPrefix(state[second], b.path("c011-second.ipynb")+" ") {
			t.Fatalf("after save-as %d: %v", i, state)
		}
		for _, in := range []args{{}, {"notebook": path}, {"notebook": first}} {
			if text := a.call("get_all_cells", in); !strings.Contains(text, "# first") {
				t.Fatalf("get_all_cells %v after save-as %d: %s", in, i, text)
			}
		}
	}
}

// TestC013_TwoAgentsEachTheirOwnNotebook: nothing lands in the other one, and a
// notebook that is named beats the default.
func TestC013_TwoAgentsEachTheirOwnNotebook(t *testing.T) {
	const inserts = 200
	b := sharedBedOf(t)
	agents := []*agent{b.agent(t, "c013-a"), b.agent(t, "c013-b")}
	ids := []string{agents[0].create(""), agents[1].create("")}
	agents[1].call("connect_notebook", args{"notebook": ids[0]}) // both hold A, whose agent has it as the default
	agents[1].call("connect_notebook", args{"notebook": ids[1]})
	var both sync.WaitGroup
	for i, a := range agents {
		both.Go(func() {
			for n := range inserts {
				in := args{"source": fmt.Sprintf("# %s %d", "ab"[i:i+1], n)}
				if n%10 == 9 { // now and then B writes into A by name
					in["notebook"] = ids[0]
				}
				if r := a.Begin("create_cell", in).Result(patience); r.IsError {
					t.Errorf("create_cell: %s", r.Text)
				}
			}
		})
	}
	both.Wait()
	for i, want := range []map[string]int{{"a": inserts, "b": inserts / 10}, {"a": 0, "b": inserts - inserts/10}} {
		for who, n := range want {
			text := agents[0].call("search_cells", args{"pattern": "# " + who + " ", "notebook": ids[i]})
			if head := fmt.Sprintf("%d lines match", n); !strings.HasPrefix(text, head) && (n > 0 || !strings.HasPrefix(text, "Nothing matches")) {
				t.Errorf("notebook %d should hold %d cells of %s: %.200s", i, n, who, text)
			}
		}
	}
}

// TestC029_C030_TwoClientsShareAKernel, and opening a notebook changes nothing for
// those who have another one.
func TestC029_C030_TwoClientsShareAKernel(t *testing.T) {
	b := sharedBedOf(t)
	path := b.write(t, "c029.ipynb", notebookFile)
	one, other := b.agent(t, "c029-one"), b.agent(t, "c029-other")
	one.connect(path)
	mine := other.create("")
	kernels := func() int { return b.count("ipykernel_launcher") }
	one.wantEval("shared = 1; shared", "1")
	other.wantEval("'its own'", "'its own'") // its kernel has started too
	before := kernels()
	one.call("connect_notebook", args{"notebook": mine})
	one.call("connect_notebook", args{"path": path})
	if held := other.report().Notebooks; len(held) != 1 || !held[0].Default || held[0].ID != mine {
		t.Errorf("C030: the other client holds %v", held)
	}
	other.call("connect_notebook", args{"path": path})
	other.wantEval("shared", "1")
	if now := kernels(); now != before {
		t.Errorf("%d kernels run, %d did", now, before)
	}
}
