package testenv

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// recorder is a test whose end can be looked at.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = format
	panic(r)
}

func TestAwaitEndsWithTheConditionOrTheTest(t *testing.T) {
	var n atomic.Int32
	Await(t, t.Context(), "five calls", func() bool { return n.Add(1) == 5 })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	r := &recorder{TB: t}
	func() {
		defer func() { _ = recover() }()
		Await(r, ctx, "nothing", func() bool { return false })
	}()
	if r.failed == "" {
		t.Error("a condition that never holds did not end the test")
	}
}

func TestShortDirFitsASocket(t *testing.T) {
	dir := ShortDir(t)
	if len(dir) > 40 || !filepath.IsAbs(dir) {
		t.Errorf("folder %s", dir)
	}
	if _, err := os.Stat(filepath.Join(Root(t), "go.mod")); err != nil {
		t.Error(err)
	}
}

func TestPythonHasWhatTestsNeed(t *testing.T) {
	if !strings.HasSuffix(Python(t), "/bin/python") {
		t.Errorf("python %s", Python(t))
	}
	for _, name := range []string{"python", "uv", "jupyter"} {
		if _, err := os.Stat(filepath.Join(PythonBin(t), name)); err != nil {
			t.Error(err)
		}
	}
}
