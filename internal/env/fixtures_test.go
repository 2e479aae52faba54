package env

import (
	"archive/zip"
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machine is a pretended machine: its own home, search path and Jupyter
// folders, with real Pythons.
type machine struct {
	t      testing.TB
	root   string
	home   string
	state  string
	bin    string // all there is on PATH: a python3 without packages, and what a test adds
	wheels string // the package index of this machine
	vars   map[string]string
}

// newMachine makes one whose python3 is the real one, without ipykernel.
func newMachine(t testing.TB) *machine {
	t.Helper()
	root := filepath.Join(t.TempDir(), "a machine (1)")
	m := &machine{t: t, root: root, home: filepath.Join(root, "home"), state: filepath.Join(root, "state"), bin: filepath.Join(root, "bin"), wheels: filepath.Join(root, "wheels"), vars: map[string]string{}}
	for _, d := range []string{m.home, m.state, m.bin, m.wheels} {
		m.must(os.MkdirAll(d, 0o700))
	}
	m.noted("python3", filepath.Join(m.venv(filepath.Join(root, "usr")), "bin", "python"))
	return m
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) resolver() *Resolver {
	links := (&url.URL{Scheme: "file", Path: m.wheels}).String() // pip splits a plain list at spaces
	environ := without(os.Environ(), []string{"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "JUPYTER_PATH", "JUPYTER_DATA_DIR", "XDG_DATA_HOME", "PATH", "PIP_FIND_LINKS"},
		"PATH="+m.bin, "UV_NO_INDEX=1", "UV_FIND_LINKS="+links, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+links, "UV_PYTHON_DOWNLOADS=never")
	for k, v := range m.vars {
		environ = append(environ, k+"="+v)
	}
	return New(Options{StateDir: m.state, Home: m.home, Environ: environ, SystemDirs: []string{filepath.Join(m.root, "share", "jupyter")}, Logger: testLogger(m.t)})
}

// venv makes a real environment without pip and returns its folder.
func (m *machine) venv(dir string, more ...string) string {
	m.t.Helper()
	m.run(append([]string{realPython(m.t), "-m", "venv", "--without-pip", dir}, more...)...)
	return dir
}

// ipykernel puts a file in the environment's site-packages that looks like ipykernel.
func (m *machine) ipykernel(venv string) {
	m.t.Helper()
	m.must(os.WriteFile(filepath.Join(m.site(venv), "ipykernel_launcher.py"), []byte("print('kernel of', __file__)\n"), 0o600))
}

func (m *machine) site(venv string) string {
	m.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(globQuote(venv), "lib", "python*", "site-packages"))
	m.must(err)
	if len(dirs) != 1 {
		m.t.Fatalf("site-packages of %s: %v", venv, dirs)
	}
	return dirs[0]
}

func (m *machine) run(argv ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), argv[0], argv[1:]...)
	cmd.Env = without(os.Environ(), []string{"VIRTUAL_ENV"})
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// spec installs a kernelspec below a Jupyter data folder.
func (m *machine) spec(data, name, json string) {
	m.t.Helper()
	dir := filepath.Join(data, "kernels", name)
	m.must(os.MkdirAll(dir, 0o700))
	m.must(os.WriteFile(filepath.Join(dir, "kernel.json"), []byte(json), 0o600))
}

// script puts an executable text on the machine's PATH. A file that is there
// is removed first: writing through a link would hit a real program.
func (m *machine) script(name, text string) {
	m.t.Helper()
	m.replace(filepath.Join(m.bin, name), "#!/bin/sh\n"+text)
}

func (m *machine) replace(file, text string) {
	m.t.Helper()
	m.must(os.RemoveAll(file))
	m.must(os.WriteFile(file, []byte(text), 0o700))
}

// noted puts a program on PATH behind a script that notes each call.
func (m *machine) noted(name, program string) {
	m.t.Helper()
	m.script(name, fmt.Sprintf("echo \"$@\" >> '%s/%s.log'\nexec '%s' \"$@\"\n", m.root, name, program))
}

// uv puts the real uv on the machine's PATH.
func (m *machine) uv() {
	m.t.Helper()
	m.noted("uv", realUV(m.t))
}

// calls lists the calls of a noted program.
func (m *machine) calls(name string) []string {
	data, err := os.ReadFile(filepath.Join(m.root, name+".log"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// index fills the package index: an ipykernel that only looks like one, the pip
// that Python brings along, and the packages named.
func (m *machine) index(names ...string) {
	m.t.Helper()
	m.wheel("ipykernel", "99.0", map[string]string{
		"ipykernel_launcher.py": "print('kernel of', __file__)\n",
		"ipykernel/__init__.py": "", "ipykernel/kernelapp.py": "", "ipykernel/ipkernel.py": "", "ipykernel/zmqshell.py": "",
	})
	for _, n := range append(names, "nbformat") {
		m.wheel(n, "1.0", map[string]string{n + ".py": "here = __file__\n"})
	}
	bundled := strings.TrimSpace(m.run(realPython(m.t), "-c", "import ensurepip, os; print(os.path.join(os.path.dirname(ensurepip.__file__), '_bundled'))"))
	pips, err := filepath.Glob(filepath.Join(bundled, "pip-*.whl"))
	m.must(err)
	if len(pips) == 0 {
		pips, err = filepath.Glob("/usr/share/python-wheels/pip-*.whl")
		m.must(err)
	}
	if len(pips) == 0 {
		m.t.Fatalf("no pip wheel in %s", bundled)
	}
	data, err := os.ReadFile(pips[0])
	m.must(err)
	m.must(os.WriteFile(filepath.Join(m.wheels, filepath.Base(pips[0])), data, 0o600))
}

// wheel makes a Python package out of files.
func (m *machine) wheel(name, version string, files map[string]string) {
	m.t.Helper()
	info := name + "-" + version + ".dist-info/"
	all := map[string]string{
		info + "METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n",
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	}
	for k, v := range files {
		all[k] = v
	}
	var record strings.Builder
	for k := range all {
		record.WriteString(k + ",,\n")
	}
	all[info+"RECORD"] = record.String() + info + "RECORD,,\n"
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for k, v := range all {
		h := &zip.FileHeader{Name: k, Method: zip.Store}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		m.must(err)
		_, err = w.Write([]byte(v))
		m.must(err)
	}
	m.must(z.Close())
	m.must(os.WriteFile(filepath.Join(m.wheels, name+"-"+version+"-py3-none-any.whl"), buf.Bytes(), 0o600))
}

// realPython is a Python 3 of the machine that runs the tests, not one of a venv.
func realPython(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("these tests need python3: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), path, "-c", "import sys; print(getattr(sys, '_base_executable', sys.executable))").Output()
	if err != nil {
		t.Fatalf("ask %s: %v", path, err)
	}
	return strings.TrimSpace(string(out))
}

func testLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// lines collects progress.
type lines []string

func (l *lines) add(s string) { *l = append(*l, s) }

func (l *lines) has(part string) bool {
	return slices.ContainsFunc(*l, func(s string) bool { return strings.Contains(s, part) })
}
