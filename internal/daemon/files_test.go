package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/testenv"
	"runt/internal/wire"
)

// twoCells is a notebook of two code cells, the second with an output.
const twoCells = `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "first",
   "metadata": {},
   "outputs": [],
   "source": [
    "x = 1\n",
    "x"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "second",
   "metadata": {
    "zz_unknown": {
     "b": 1,
     "a": 12345678901234567890123
    }
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "kept\n"
     ]
    }
   ],
   "source": [
    "print('kept')"
   ]
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Python 3",
   "language": "python",
   "name": "python3"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func writeNotebook(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (b *bed) setSource(h *client.Handle, cell domain.CellID, source string) {
	b.t.Helper()
	if _, err := h.Edit(b.ctx(), func(tx *notebook.Tx) error { return tx.SetSource(cell, source) }); err != nil {
		b.t.Fatal(err)
	}
	if err := h.Confirm(b.ctx()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) save(h *client.Handle, req wire.Request) wire.Response {
	b.t.Helper()
	req.Action = wire.ActionSaveNotebook
	resp, err := h.Request(b.ctx(), req)
	if err != nil && resp.Result == "" {
		b.t.Fatal(err)
	}
	return resp
}

// changedLines returns the lines that are in one text and not in the other.
func changedLines(a, b string) []string {
	count := map[string]int{}
	for _, l := range strings.Split(a, "\n") {
		count[l]++
	}
	for _, l := range strings.Split(b, "\n") {
		count[l]--
	}
	var out []string
	for l, n := range count {
		if n != 0 {
			out = append(out, l)
		}
	}
	return out
}

func TestC059_ASavedFileDiffersWhereItWasEdited(t *testing.T) {
	b := newBed(t, nil)
	path := filepath.Join(t.TempDir(), "two.ipynb")
	writeNotebook(t, path, twoCells)
	h := b.open(path)
	b.setSource(h, "first", "x = 2\nx")
	if resp := b.save(h, wire.Request{}); resp.Result != wire.ResultNotebookSaved {
		t.Fatalf("save: %s %s", resp.Result, resp.Raw)
	}
	got := read(t, path)
	if lines := changedLines(twoCells, got); len(lines) != 2 {
		t.Errorf("changed lines: %q, want the two of x; file:\n%s", lines, got)
	}
	if done := b.run(h, "first"); text(done) != "2" {
		t.Errorf("run: %q, want 2", text(done))
	}
	b.save(h, wire.Request{})
	if got := read(t, path); !strings.Contains(got, `"a": 12345678901234567890123`) || !strings.Contains(got, `"kept\n"`) {
		t.Errorf("untouched parts changed:\n%s", got)
	}
}

func TestR01_FourSpellingsOfAPathAreOneRoom(t *testing.T) {
	b := newBed(t, nil)
	dir := t.TempDir()
	writeNotebook(t, filepath.Join(dir, "n.ipynb"), twoCells)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "n.ipynb"), filepath.Join(dir, "link.ipynb")); err != nil {
		t.Fatal(err)
	}
	spellings := []string{"n.ipynb", "sub/../n.ipynb", "./n.ipynb", "link.ipynb"}
	ids := make([]domain.NotebookID, len(spellings))
	var wg sync.WaitGroup
	for i, s := range spellings {
		wg.Go(func() {
			h, err := client.Open(b.ctx(), b.options("tester"), dir+"/"+s, client.OpenOptions{})
			if err != nil {
				t.Errorf("open %s: %v", s, err)
				return
			}
			ids[i] = h.ID()
			_ = h.Close()
		})
	}
	wg.Wait()
	for i := range ids {
		if ids[i] != ids[0] {
			t.Errorf("%s is room %s, want %s", spellings[i], ids[i], ids[0])
		}
	}
	if n := len(b.d.rooms.list()); n != 1 {
		t.Errorf("%d rooms, want 1", n)
	}
}

func TestR03_SaveAsBindsTheNewPathAndKeepsTheID(t *testing.T) {
	b := newBed(t, nil)
	dir := t.TempDir()
	other, taken, target := filepath.Join(dir, "other.ipynb"), filepath.Join(dir, "taken.ipynb"), filepath.Join(dir, "deep", "er", "new.ipynb")
	writeNotebook(t, other, twoCells)
	writeNotebook(t, taken, twoCells)
	h := b.create(client.CreateOptions{})
	b.add(h, "1+1")
	b.open(other)
	for _, path := range []string{other, taken} {
		resp := b.save(h, wire.Request{Path: path})
		if resp.Result != wire.ResultSaveBlocked {
			t.Errorf("save onto %s: %s, want it refused", path, resp.Result)
		}
		if got := read(t, path); got != twoCells {
			t.Errorf("%s was changed", path)
		}
	}
	resp := b.save(h, wire.Request{Path: target})
	var saved wire.NotebookSaved
	if err := resp.Decode(&saved); err != nil || resp.Result != wire.ResultNotebookSaved || saved.Path != target {
		t.Fatalf("save as: %s %s %v", resp.Result, resp.Raw, err)
	}
	h2 := b.open(target)
	if h2.ID() != h.ID() {
		t.Errorf("the path is room %s, want %s", h2.ID(), h.ID())
	}
	if resp := b.save(h, wire.Request{Path: taken, Overwrite: true}); resp.Result != wire.ResultNotebookSaved {
		t.Errorf("save with overwrite: %s %s", resp.Result, resp.Raw)
	}
}

func TestD03_OutsideEditsMerge(t *testing.T) {
	b := newBed(t, nil)
	path := filepath.Join(t.TempDir(), "two.ipynb")
	writeNotebook(t, path, twoCells)
	h := b.open(path)
	heads := fmt.Sprint(h.Notebook().Engine().Heads())
	writeNotebook(t, path, twoCells) // the same bytes: no change
	b.setSource(h, "first", "x = 'live'")
	writeNotebook(t, path, strings.Replace(twoCells, "print('kept')", "print('outside')", 1))
	testenv.Await(t, b.ctx(), "the outside edit", func() bool {
		c, _ := h.Notebook().Cell("second")
		return c.Source == "print('outside')"
	})
	if c, _ := h.Notebook().Cell("first"); c.Source != "x = 'live'" {
		t.Errorf("the live edit is gone: %q", c.Source)
	}
	if got := fmt.Sprint(h.Notebook().Engine().Heads()); got == heads {
		t.Error("heads did not change")
	}
	if resp := b.save(h, wire.Request{}); resp.Result != wire.ResultNotebookSaved {
		t.Fatalf("save: %s %s", resp.Result, resp.Raw)
	}
	if got := read(t, path); !strings.Contains(got, "outside") || !strings.Contains(got, "live") {
		t.Errorf("an edit is missing in the file:\n%s", got)
	}
	b.setSource(h, "first", "x = 'mine'")
	writeNotebook(t, path, strings.Replace(read(t, path), "x = 'live'", "x = 'theirs'", 1))
	testenv.Await(t, b.ctx(), "the conflict", func() bool { return h.Runtime().FileState().Issue == "conflict" })
	var all strings.Builder
	for _, c := range h.Notebook().Cells() {
		all.WriteString(c.Source + "\n")
	}
	if !strings.Contains(all.String(), "mine") || !strings.Contains(all.String(), "theirs") {
		t.Errorf("a text was lost: %q", all.String())
	}
}

func TestC069_AFileThatIsNoNotebookIsLeftAlone(t *testing.T) {
	b := newBed(t, nil)
	dir := t.TempDir()
	for name, content := range map[string]string{"cut.ipynb": twoCells[:100], "empty.ipynb": "", "merge.ipynb": "<<<<<<< HEAD\n" + twoCells} {
		path := filepath.Join(dir, name)
		writeNotebook(t, path, content)
		before, _ := os.Stat(path)
		_, err := client.Open(b.ctx(), b.options("tester"), path, client.OpenOptions{})
		if domain.CodeOf(err) != domain.CodeFileUnreadable {
			t.Errorf("%s: %v, want %s", name, err, domain.CodeFileUnreadable)
		}
		after, _ := os.Stat(path)
		if got := read(t, path); !bytes.Equal([]byte(got), []byte(content)) || !before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%s was changed", name)
		}
	}
	if n := len(b.d.rooms.list()); n != 0 {
		t.Errorf("%d rooms are left", n)
	}
}
