package houserules

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"testing"
)

// core lists what takes clock, ids and randomness as inputs and does no IO, so
// that a test can drive it through every order of events. A pattern with a
// file part names files.
var core = []string{
	"internal/domain", "internal/room", "internal/notebook", "internal/runtimestate", "internal/present", "internal/ipynb",
	"internal/sidedocs", "internal/docvalue", "internal/termtext", "internal/toolspec", "internal/proxy/core",
	"internal/session/classify*.go", "internal/session/decide*.go",
}

var impure = []string{"os", "os/exec", "os/signal", "net", "net/http", "syscall", "math/rand", "math/rand/v2", "crypto/rand", "io/ioutil"}

// clock are the functions of package time that look at the clock or wait for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func isCore(s source) bool {
	return slices.ContainsFunc(core, func(p string) bool {
		if path.Ext(p) == ".go" {
			ok, err := path.Match(p, s.path)
			return err == nil && ok
		}
		return s.pkg == p
	})
}

func TestCoreDoesNoIOAndHasNoClock(t *testing.T) {
	r := load(t)
	for _, s := range r.sources {
		if s.test || !isCore(s) {
			continue
		}
		for _, p := range s.imports() {
			if slices.Contains(impure, p) {
				t.Errorf("%s imports %s: core packages decide and leave IO, time and chance to their callers", s.path, p)
			}
		}
		eachUse(s, "time", func(sel *ast.SelectorExpr) {
			if slices.Contains(clock, sel.Sel.Name) {
				t.Errorf("%s:%d uses time.%s: core packages get the time as an input", s.path, r.line(sel.Pos()), sel.Sel.Name)
			}
		})
	}
}

// eachUse calls f for every use of something of an imported package.
func eachUse(s source, pkg string, f func(*ast.SelectorExpr)) {
	name := ""
	for _, i := range s.file.Imports {
		if i.Path.Value != `"`+pkg+`"` {
			continue
		}
		if name = path.Base(pkg); i.Name != nil {
			name = i.Name.Name
		}
	}
	if name == "" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == name {
				f(sel)
			}
		}
		return true
	})
}

// patient lists tests that need the real time to pass; the list only shrinks.
var patient = []string{}

func TestTestsNeitherSleepNorSkip(t *testing.T) {
	r := load(t)
	for _, s := range r.sources {
		if !s.test && !isForTests(s.pkg) || slices.Contains(patient, s.path) {
			continue
		}
		// Inside a synctest bubble a sleep takes no time and is how time passes.
		if !slices.Contains(s.imports(), "testing/synctest") {
			eachUse(s, "time", func(sel *ast.SelectorExpr) {
				if sel.Sel.Name == "Sleep" {
					t.Errorf("%s:%d sleeps: wait for a condition (testenv.Await) or use testing/synctest", s.path, r.line(sel.Pos()))
				}
			})
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if sel, ok := c.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
					t.Errorf("%s:%d skips: a test that does not run protects nothing; let it install or make what it needs", s.path, r.line(c.Pos()))
				}
			}
			return true
		})
	}
}

var leakCheck = regexp.MustCompile(`leak\.(Check|Main)\(|synctest\.Test\(`)

// unchecked lists packages that start goroutines and have no leak check yet; it only shrinks.
var unchecked = []string{
	"internal/automerge", "internal/daemon", "internal/kernel/host", "internal/proxy", "internal/roomactor",
	"internal/session/peer",
}

func TestPackagesWithGoroutinesCheckForLeaks(t *testing.T) {
	for pkg, sources := range load(t).packages() {
		if isForTests(pkg) || within(pkg, "scripts") || slices.Contains(unchecked, pkg) {
			continue
		}
		starts, checks := "", false
		for _, s := range sources {
			if s.test {
				checks = checks || leakCheck.Match(s.text)
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if _, ok := n.(*ast.GoStmt); ok {
					starts = s.path
				}
				return true
			})
		}
		if starts != "" && !checks {
			t.Errorf("%s starts goroutines and no test of its package calls leak.Check or leak.Main (internal/testenv/leak)", starts)
		}
	}
}
