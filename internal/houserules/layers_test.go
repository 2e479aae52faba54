package houserules

import (
	"slices"
	"strings"
	"testing"
)

// layers lists the packages from the ground up. A package imports only packages
// of lower layers and its own subpackages: then each can be understood, tested
// and replaced without what is built on it.
var layers = [][]string{
	{"internal/domain", "internal/failpoint", "internal/buildinfo", "internal/paths", "internal/trace", "internal/profile"},
	{"internal/automerge"},
	{"internal/wire", "internal/docvalue", "internal/termtext"},
	{"internal/kernel"},
	{"internal/env"},
	{"internal/notebook", "internal/runtimestate", "internal/sidedocs", "internal/journal", "internal/blob", "internal/ipynb", "internal/catalog", "internal/filewatch"},
	{"internal/room", "internal/merge"},
	{"internal/client"},
	{"internal/autostart"},
	{"internal/toolspec", "internal/supervise", "internal/present", "internal/session"},
	{"internal/roomactor", "internal/mcpserver", "internal/proxy"},
	{"internal/daemon", "internal/doctor"},
	{"internal/kernelcases"},
	{"cmd", "scripts", "examples", "bench"},
}

// isForTests says whether only tests may import a package: those named here and
// test support named like httptest.
func isForTests(pkg string) bool {
	return within(pkg, "internal/testenv") || within(pkg, "internal/houserules") || strings.HasSuffix(pkg, "test")
}

// wall keeps a package from what lies below it but is none of its business.
type wall struct {
	who    string   // the package and its subpackages
	not    []string // what it must not import
	reason string
}

var documents = []string{"internal/automerge", "internal/notebook", "internal/runtimestate", "internal/sidedocs", "internal/docvalue"}

var daemonOnly = []string{"internal/room", "internal/roomactor", "internal/daemon", "internal/journal", "internal/catalog", "internal/kernel", "internal/env"}

var walls = []wall{
	{"internal/proxy", slices.Concat(documents, daemonOnly, []string{"internal/wire", "internal/client", "internal/session", "internal/ipynb", "internal/blob", "internal/mcpserver"}),
		"the proxy outlives everything else: it forwards lines and knows no documents, so that none of their faults can end it"},
	{"internal/supervise", slices.Concat(documents, daemonOnly, []string{"internal/wire", "internal/client"}),
		"supervision is about processes, whatever they do"},
	{"internal/mcpserver", slices.DeleteFunc(slices.Clone(daemonOnly), func(p string) bool { return p == "internal/env" }), "tools list what could be started here, but reach kernels and rooms through the daemon, which may be another build"},
	{"internal/session", daemonOnly, "sessions reach kernels and rooms through the daemon, which may be another build"},
	{"internal/client", append([]string{"internal/ipynb"}, daemonOnly...), "a client shares documents and frames with the daemon and nothing of its inside"},
	{"internal/kernel", slices.Concat(documents, []string{"internal/wire", "internal/ipynb"}), "a kernel host outlives daemons and their document formats"},
	{"internal/env", slices.Concat(documents, []string{"internal/wire"}), "an environment is found from names and folders, not from documents"},
	{"internal/wire", documents, "frames carry bytes; what is in them belongs to those who read them"},
	{"internal/room", []string{"internal/automerge", "internal/kernel", "internal/env", "internal/journal", "internal/blob", "internal/ipynb"},
		"the core of a room decides and performs nothing"},
	{"internal/toolspec", []string{"internal/automerge", "internal/wire", "internal/kernel", "internal/env", "internal/client"}, "the tool list is shared with the proxy"},
	{"internal/present", slices.Concat(documents, daemonOnly, []string{"internal/client"}), "how an output reads depends on the output alone"},
}

// guests are modules of others that belong to one place, so that they can be
// replaced there.
var guests = map[string][]string{
	"github.com/tetratelabs/wazero":              {"internal/automerge"},
	"github.com/modelcontextprotocol/go-sdk":     {"internal/mcpserver", "internal/testenv", "scripts", "bench"},
	"github.com/spf13/cobra":                     {"cmd"},
	"github.com/fxamacker/cbor":                  {"internal/wire"},
	"modernc.org/sqlite":                         {"internal/catalog", "internal/daemon"},
	"github.com/coder/websocket":                 {"internal/daemon", "internal/client", "internal/mcpserver"},
	"golang.org/x/image":                         {"internal/present", "internal/mcpserver"},
	"github.com/rogpeppe/go-internal/testscript": {},
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return withinAny(pkg, l) })
}

// home is the top package of a subpackage, such as internal/kernel.
func home(pkg string) string {
	for _, l := range layers {
		for _, p := range l {
			if within(pkg, p) {
				return p
			}
		}
	}
	return pkg
}

func TestImportsGoDownward(t *testing.T) {
	lost := map[string]bool{}
	for _, s := range load(t).sources {
		if s.test || isForTests(s.pkg) {
			continue
		}
		from := layerOf(s.pkg)
		if from < 0 {
			if !lost[s.pkg] {
				t.Errorf("%s is in no layer; add it to the list in layers_test.go", s.pkg)
			}
			lost[s.pkg] = true
			continue
		}
		for _, path := range s.imports() {
			pkg, ours := strings.CutPrefix(path, module+"/")
			if !ours || home(pkg) == home(s.pkg) {
				continue
			}
			switch to := layerOf(pkg); {
			case isForTests(pkg):
				t.Errorf("%s imports %s, which is for tests", s.path, pkg)
			case to >= from:
				t.Errorf("%s imports %s, which is not in a lower layer: imports go downward, or a part cannot be used without the whole", s.path, pkg)
			}
		}
	}
}

func TestWalls(t *testing.T) {
	for _, s := range load(t).sources {
		for _, w := range walls {
			if s.test || !within(s.pkg, w.who) {
				continue
			}
			for _, path := range s.imports() {
				if pkg, ours := strings.CutPrefix(path, module+"/"); ours && withinAny(pkg, w.not) {
					t.Errorf("%s imports %s: %s", s.path, pkg, w.reason)
				}
			}
		}
	}
}

func TestGuestsStayInTheirPlace(t *testing.T) {
	for _, s := range load(t).sources {
		for _, path := range s.imports() {
			for guest, places := range guests {
				if within(path, guest) && !s.test && !withinAny(s.pkg, places) {
					t.Errorf("%s imports %s, which belongs to %v only", s.path, path, places)
				}
			}
		}
	}
}
