package houserules

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits on the lines of a file and of a function. Tests may be longer: a table
// is no code to understand.
const (
	fileLines     = 600
	funcLines     = 80
	testFileLines = 900
	testFuncLines = 160
)

// long lists what is over the limit, with its lines today; the list only shrinks.
var long = map[string]int{}

func TestFilesAndFunctionsAreSmall(t *testing.T) {
	r := load(t)
	for _, s := range r.sources {
		maxFile, maxFunc := fileLines, funcLines
		if s.test {
			maxFile, maxFunc = testFileLines, testFuncLines
		}
		if n := bytes.Count(s.text, []byte("\n")); n > max(maxFile, long[s.path]) {
			t.Errorf("%s has %d lines, more than %d: split it by what changes together", s.path, n, maxFile)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := r.line(f.End()) - r.line(f.Pos()) + 1; n > max(maxFunc, long[s.path+":"+f.Name.Name]) {
				t.Errorf("%s:%d: %s has %d lines, more than %d", s.path, r.line(f.Pos()), f.Name.Name, n, maxFunc)
			}
		}
	}
}

// TestOtherSourcesAreSmall holds for the other languages too. Built files are no sources.
func TestOtherSourcesAreSmall(t *testing.T) {
	r := load(t)
	for _, f := range r.files {
		if !slices.Contains([]string{".rs", ".ts", ".tsx", ".py", ".sh", ".mjs", ".css"}, filepath.Ext(f)) || strings.Contains(f, "/dist/") || strings.Contains(f, "testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.root, f))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > fileLines {
			t.Errorf("%s has %d lines, more than %d", f, n, fileLines)
		}
	}
}

// TestExceptionsAreStillNeeded keeps the list of exceptions short.
func TestExceptionsAreStillNeeded(t *testing.T) {
	r := load(t)
	known := map[string]bool{}
	for _, s := range r.sources {
		known[s.path] = true
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				known[s.path+":"+f.Name.Name] = true
			}
		}
	}
	for name := range long {
		if !known[name] {
			t.Errorf("%s is on the list of long things and no longer there", name)
		}
	}
}
