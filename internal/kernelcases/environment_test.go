package kernelcases

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/testenv"
)

// venv makes a virtual environment without pip, which has the packages of the
// tests if it shall.
func venv(t testing.TB, dir string, packages bool) {
	t.Helper()
	python := testenv.Python(t)
	if out, err := exec.CommandContext(t.Context(), python, "-m", "venv", "--without-pip", dir).CombinedOutput(); err != nil {
		t.Fatalf("make a virtual environment: %v\n%s", err, out)
	}
	if !packages {
		return
	}
	out, err := exec.CommandContext(t.Context(), python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join(dir, "lib", "python*", "site-packages"))
	if err != nil || len(own) != 1 {
		t.Fatalf("packages of the environment: %v %v", own, err)
	}
	if err := os.WriteFile(filepath.Join(own[0], "tests.pth"), out, 0o644); err != nil {
		t.Fatal(err)
	}
}

// C051: a project in a folder with spaces, with an environment of its own.
// C105: which is taken, from a folder below it as well.
func TestC105_ProjectEnvironment(t *testing.T) {
	t.Parallel()
	b := shared(t)
	project := b.path("my dir (1)")
	below := filepath.Join(project, "sub", "deep")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	venv(t, filepath.Join(project, ".venv"), true)
	for _, dir := range []string{project, below} {
		n := b.fresh(t, map[string]any{"path": filepath.Join(dir, "a b.ipynb")})
		text := outputs(n.run("import os, sys\nprint(sys.prefix)\nprint(os.getcwd())\n1 + 1"))
		want(t, text, filepath.Join(project, ".venv")+"\n"+dir+"\n", "2")
	}
}

// C102: an environment without a kernel is named, with a command that cures it there.
func TestC102_EnvironmentWithoutKernel(t *testing.T) {
	t.Parallel()
	b := shared(t)
	project := b.path("bare")
	venv(t, filepath.Join(project, ".venv"), false)
	n := b.fresh(t, map[string]any{"path": filepath.Join(project, "n.ipynb")})
	began := time.Now()
	ans := n.try("create_cell", map[string]any{"source": "1", "and_run": true, "timeout_secs": 30})
	within(t, 10*time.Second, "naming what is missing", began)
	want(t, ans.text, filepath.Join(project, ".venv", "bin", "python"), "ipykernel")
	if strings.Contains(ans.text, "`pip install") || strings.Contains(ans.text, "-m pip install") {
		t.Errorf("it has no pip: %s", ans.text)
	}
	// Once that is done, the same notebook goes on.
	venv(t, filepath.Join(project, ".venv"), true)
	want(t, n.call("restart_kernel", nil), "restarted")
	wantOutput(t, n.run("print(1)"), "1")
}
