package houserules

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

func TestEveryPackageHasOneComment(t *testing.T) {
	for pkg, sources := range load(t).packages() {
		var with []string
		name, code := "", false
		for _, s := range sources {
			if s.test {
				continue
			}
			code, name = true, s.file.Name.Name
			if s.file.Doc != nil && !strings.HasPrefix(s.file.Doc.Text(), "go:build") {
				with = append(with, s.path)
				want := "Package " + name + " "
				if name == "main" {
					want = "Command "
				}
				if !strings.HasPrefix(s.file.Doc.Text(), want) {
					t.Errorf("%s: the package comment does not begin with %q", s.path, want)
				}
			}
		}
		if code && len(with) != 1 {
			t.Errorf("%s has %d package comments %v, want exactly one (in doc.go)", pkg, len(with), with)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	r := load(t)
	for _, s := range r.sources {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) {
					r.wantDoc(t, s, d.Name, d.Doc)
				}
			case *ast.GenDecl:
				r.checkGroup(t, s, d)
			}
		}
	}
}

// exportedReceiver says whether a method can be called from outside, which
// methods of unexported types mostly cannot.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.IndexListExpr:
			x = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return true
		}
	}
}

// checkGroup asks types for a comment of their own; a group of constants or
// variables may have one for all.
func (r repository) checkGroup(t *testing.T, s source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && len(d.Specs) == 1 {
				doc = d.Doc
			}
			if spec.Name.IsExported() {
				r.wantDoc(t, s, spec.Name, doc)
			}
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				if !n.IsExported() || spec.Comment != nil {
					continue
				}
				switch {
				case spec.Doc != nil && len(spec.Names) == 1:
					r.wantDoc(t, s, n, spec.Doc)
				case d.Lparen.IsValid() && (d.Doc != nil || spec.Doc != nil):
				default:
					r.wantDoc(t, s, n, d.Doc)
				}
			}
		}
	}
}

func (r repository) wantDoc(t *testing.T, s source, name *ast.Ident, doc *ast.CommentGroup) {
	t.Helper()
	if doc == nil || !strings.HasPrefix(doc.Text(), name.Name) {
		t.Errorf("%s:%d: %s has no comment that begins with its name", s.path, r.line(name.Pos()), name.Name)
	}
}

// later matches notes to do something some other time.
var later = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)

// codeLike matches comment lines inside functions that are code put out of use.
var codeLike = regexp.MustCompile(`^//\s*(\}|(if|for|switch|select) .*\{|return\b.*\)|[\w.]+(\[.*\])? :?= .*\(.*\)|defer .*\(.*\)|[\w.]+\(.*\)|fmt\.Print.*)$`)

func TestCommentsAreNeitherCodeNorPromises(t *testing.T) {
	r := load(t)
	for _, s := range r.sources {
		var bodies []*ast.BlockStmt
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				bodies = append(bodies, f.Body)
			}
		}
		inside := func(p token.Pos) bool {
			for _, b := range bodies {
				if b.Pos() < p && p < b.End() {
					return true
				}
			}
			return false
		}
		for _, g := range s.file.Comments {
			for _, c := range g.List {
				if later.MatchString(c.Text) && s.pkg != "internal/houserules" {
					t.Errorf("%s:%d: a note for later: do it, or file an issue", s.path, r.line(c.Pos()))
				}
				if inside(c.Pos()) && codeLike.MatchString(c.Text) {
					t.Errorf("%s:%d: code in a comment: %s", s.path, r.line(c.Pos()), c.Text)
				}
			}
		}
	}
}
