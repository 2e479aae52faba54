package houserules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"runt/internal/testenv"
)

// module is the module's path, which every import of ours begins with.
const module = "runt"

// source is one Go file of the module.
type source struct {
	path string // relative to the repository, with slashes
	pkg  string // folder, such as "internal/env"
	test bool
	file *ast.File
	text []byte
}

// repository is everything that the tests read.
type repository struct {
	root    string
	fset    *token.FileSet
	sources []source
	files   []string // all files that belong to the repository, relative
}

var (
	loadOnce sync.Once
	loaded   repository
	loadErr  error
)

// load reads the repository once for all tests.
func load(t *testing.T) repository {
	t.Helper()
	loadOnce.Do(func() { loaded, loadErr = read(testenv.Root(t)) })
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	return loaded
}

// notOurs are folders that no rule applies to: built or downloaded, never committed.
var notOurs = []string{".git", "bin", ".cache", "target", "node_modules", "__pycache__", "fuzz"}

func read(root string) (repository, error) {
	r := repository{root: root, fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(notOurs, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel = filepath.ToSlash(rel)
		r.files = append(r.files, rel)
		if !strings.HasSuffix(rel, ".go") || strings.Contains(rel, "testdata/") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(r.fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		r.sources = append(r.sources, source{path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go"), file: f, text: text})
		return nil
	})
	return r, err
}

// line is the line number of a position.
func (r repository) line(p token.Pos) int { return r.fset.Position(p).Line }

// packages groups the sources by folder, in order.
func (r repository) packages() map[string][]source {
	m := map[string][]source{}
	for _, s := range r.sources {
		m[s.pkg] = append(m[s.pkg], s)
	}
	return m
}

// imports lists the import paths of a file.
func (s source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

// within says whether path is pkg or lies below it.
func within(path, pkg string) bool { return path == pkg || strings.HasPrefix(path, pkg+"/") }

// withinAny says whether path is one of the packages or lies below one.
func withinAny(path string, pkgs []string) bool {
	return slices.ContainsFunc(pkgs, func(p string) bool { return within(path, p) })
}
