package ipynb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"runt/internal/domain"
)

// TestSharedCases reads the files of the shared case collection, where it is
// beside the module, and checks what holds for all of them.
func TestSharedCases(t *testing.T) {
	files, err := filepath.Glob("../../../shared/cases/files/*.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{"f22": true, "f28": true, "f35": true}
	var names, written []string
	for _, path := range files {
		name := filepath.Base(path)
		t.Run(name[:3], func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := Parse(bytes.Clone(data), nil)
			if refused[name[:3]] {
				if domain.CodeOf(err) != domain.CodeFileUnreadable {
					t.Fatalf("error %v, want file_unreadable", err)
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range f.Warnings {
				t.Log(w)
			}
			names, written = append(names, name), append(written, string(checkRender(t, f)))
		})
	}
	if len(written) == 0 {
		t.Log("the shared cases are not here; the kinds are tested with inputs of our own")
		return
	}
	var answers []validated
	python(t, validate, written, &answers)
	for i, a := range answers {
		if a.Error != "" && names[i][:3] != "f12" { // its unknown keys are not valid, and are kept
			t.Errorf("%s: %s", names[i], a.Error)
		}
	}
}

// checkRender renders f untouched and changed, reads the results, and returns the latter.
func checkRender(t *testing.T, f *File) []byte {
	t.Helper()
	n := f.Notebook()
	out, err := Render(f, n)
	if err != nil {
		t.Fatal(err)
	}
	if f.faithful && f.data != nil && !bytes.Equal(out, f.data) {
		t.Errorf("untouched render differs:\n%s", out)
	}
	same(t, out, f, n)
	if len(n.Cells) == 0 {
		return out
	}
	n.Cells[0].Source += "# changed"
	n.Cells = append(n.Cells, Cell{ID: "brand-new", Type: TypeCode, Source: "x = '<&>'\ny"})
	if out, err = Render(f, n); err != nil {
		t.Fatal(err)
	}
	same(t, out, f, n)
	return out
}

// same reads out and compares it with n.
func same(t *testing.T, out []byte, f *File, n Notebook) {
	t.Helper()
	g, err := Parse(out, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !EqualValues(g.Metadata, orEmpty(n.Metadata)) || !EqualValues(orEmpty(g.Extra), orEmpty(f.Extra)) {
		t.Errorf("metadata or unknown keys changed:\n%s", out)
	}
	if len(g.Cells) != len(n.Cells) {
		t.Fatalf("%d cells, want %d", len(g.Cells), len(n.Cells))
	}
	for i := range g.Cells {
		if !EqualCells(g.Cells[i], n.Cells[i]) {
			t.Errorf("cell %d is %+v, want %+v", i, g.Cells[i], n.Cells[i])
		}
	}
}
