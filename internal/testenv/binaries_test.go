package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBinariesAreBuiltOnce: another test process gets the same files, unless a source changed.
func TestBinariesAreBuiltOnce(t *testing.T) {
	p := Binaries(t)
	if os.Getenv("TESTENV_CHILD") != "" {
		os.Stdout.WriteString("programs in " + p.Dir + "\n")
		return
	}
	for _, f := range []string{p.Runt, p.Runtd} {
		if st, err := os.Stat(f); err != nil || st.Mode()&0o111 == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBinariesAreBuiltOnce$")
	child.Env = append(os.Environ(), "TESTENV_CHILD=1")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "programs in "+p.Dir+"\n") && !changed(t, p) {
		t.Errorf("the other process says %s, %v; want %s", out, err, p.Dir)
	}
}

// changed says whether a source changed while the test ran, as happens while somebody works on them.
func changed(t *testing.T, p Programs) bool {
	t.Helper()
	key, err := sourceKey(Root(t))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(p.Dir) != key
}
