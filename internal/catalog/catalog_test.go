package catalog

import (
	"path/filepath"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/wire"
)

func open(t *testing.T, path string) *Catalog {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestR03_AMovedPathBelongsToOneNotebook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "catalog.db")
	c := open(t, file)
	now := time.Unix(1, 0)
	for _, b := range [][2]string{{"a", "/x.ipynb"}, {"b", "/y.ipynb"}, {"a", "/z.ipynb"}, {"b", "/z.ipynb"}} {
		if err := c.Bind(t.Context(), "", "", now); err != nil {
			t.Fatal(err)
		}
		if err := c.Bind(t.Context(), domain.NotebookID(b[0]), b[1], now); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"/x.ipynb": "", "/y.ipynb": "", "/z.ipynb": "b"} {
		if got, err := c.IDOf(t.Context(), path); err != nil || string(got) != want {
			t.Errorf("%s belongs to %q (%v), want %q", path, got, err, want)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = open(t, file)
	if got, err := c.PathOf(t.Context(), "b"); err != nil || got != "/z.ipynb" {
		t.Errorf("path of b after reopening: %q, %v", got, err)
	}
	if got, err := c.PathOf(t.Context(), "a"); err != nil || got != "" {
		t.Errorf("path of a after losing it: %q, %v", got, err)
	}
}

func TestExecutionRecordsAreKept(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	if _, found, err := c.Execution(t.Context(), "e"); found || err != nil {
		t.Fatalf("found %v, %v before anything was kept", found, err)
	}
	for _, status := range []string{"running", "done"} {
		if err := c.AddExecution(t.Context(), wire.ExecutionRecord{ExecutionID: "e", ContextID: "n", Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	rec, found, err := c.Execution(t.Context(), "e")
	if err != nil || !found || rec.Status != "done" || rec.ContextID != "n" {
		t.Errorf("got %+v, %v, %v", rec, found, err)
	}
}
