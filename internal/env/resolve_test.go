package env

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/domain"
)

const toySpec = `{"argv": ["sh", "-c", "cat {connection_file}", "{resource_dir}/x"], "display_name": "Toy", "language": "toy",
  "interrupt_mode": "message", "env": {"TOY": "${HOME_OF_TOY}/t", "KEEP": "${NOT_SET}"}, "metadata": {"debugger": false}}`

// C105, C051: the .venv beside the notebook or above it, in folders with spaces.
func TestVenvOfTheNotebooksFolder(t *testing.T) {
	m := newMachine(t)
	project := filepath.Join(m.root, "my dir (1)")
	deep := filepath.Join(project, "sub", "é folder")
	m.must(os.MkdirAll(deep, 0o700))
	venv := m.venv(filepath.Join(project, ".venv"))
	m.ipykernel(venv)
	for _, dir := range []string{project, deep} {
		l, err := m.resolver().Resolve(t.Context(), Request{NotebookPath: filepath.Join(dir, "a.ipynb"), KernelName: "python3", Language: "python"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := l.Argv[0], filepath.Join(venv, "bin", "python"); got != want {
			t.Errorf("from %s: started %s, want %s", dir, got, want)
		}
		if l.EnvSource != viaProject || l.Dir != dir || l.Env["VIRTUAL_ENV"] != venv || !strings.HasPrefix(l.Env["PATH"], venv+"/bin:") {
			t.Errorf("launch %+v", l)
		}
		out := m.run(append(l.Argv[:3:3], "-f", "x")...)
		if !strings.Contains(out, venv) {
			t.Errorf("the kernel is not the venv's: %s", out)
		}
	}
}

func TestOrderOfChosenEnvironments(t *testing.T) {
	m := newMachine(t)
	project := filepath.Join(m.root, "project")
	for name, via := range map[string]string{"VIRTUAL_ENV": viaActive, "CONDA_PREFIX": viaConda} {
		m.vars[name] = m.venv(filepath.Join(m.root, name))
		m.ipykernel(m.vars[name])
		_ = via
	}
	m.ipykernel(m.venv(filepath.Join(project, ".venv")))
	q := Request{WorkingDir: project}
	for _, want := range []string{viaProject, viaActive, viaConda} {
		l, err := m.resolver().Resolve(t.Context(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if l.EnvSource != want {
			t.Errorf("got %s, want %s", l.EnvSource, want)
		}
		switch want {
		case viaProject:
			q.WorkingDir = m.home
		case viaActive:
			delete(m.vars, "VIRTUAL_ENV")
		}
	}
}

// C102: which Python, what is missing, and a command that works there.
func TestMissingIPykernelSaysWhereAndWhatToRun(t *testing.T) {
	m := newMachine(t)
	project := filepath.Join(m.root, "project")
	venv := m.venv(filepath.Join(project, ".venv"))
	python := filepath.Join(venv, "bin", "python")
	resolve := func() *domain.Error {
		t.Helper()
		_, err := m.resolver().Resolve(t.Context(), Request{WorkingDir: project}, nil)
		return wantCode(t, err, domain.CodeEnvironmentFailed)
	}
	e := resolve()
	if !strings.Contains(e.Message, "ipykernel is missing") || !strings.Contains(e.Message, python) || !strings.Contains(e.Hint, "-m ensurepip && ") {
		t.Errorf("without pip and uv: %v", e)
	}
	m.uv()
	if e := resolve(); e.Hint != "Run: uv pip install --python '"+python+"' ipykernel" {
		t.Errorf("without pip: %v", e)
	}
	m.must(os.WriteFile(filepath.Join(m.site(venv), "pip.py"), nil, 0o600))
	if e := resolve(); e.Hint != "Run: '"+python+"' -m pip install ipykernel" {
		t.Errorf("with pip: %v", e)
	}
	m.ipykernel(venv)
	if l, err := m.resolver().Resolve(t.Context(), Request{WorkingDir: project}, nil); err != nil || l.EnvSource != viaProject {
		t.Errorf("once it is there: %v %v", l, err)
	}
}

func TestIPykernelTakenAwayIsSeenAtOnce(t *testing.T) {
	m := newMachine(t)
	project := filepath.Join(m.root, "project")
	venv := m.venv(filepath.Join(project, ".venv"))
	m.ipykernel(venv)
	r := m.resolver()
	if _, err := r.Resolve(t.Context(), Request{WorkingDir: project}, nil); err != nil {
		t.Fatal(err)
	}
	m.must(os.Remove(filepath.Join(m.site(venv), "ipykernel_launcher.py")))
	_, err := r.Resolve(t.Context(), Request{WorkingDir: project}, nil)
	wantCode(t, err, domain.CodeEnvironmentFailed)
}

func TestBrokenVenvIsNamed(t *testing.T) {
	m := newMachine(t)
	venv := filepath.Join(m.root, "project", ".venv")
	m.must(os.MkdirAll(filepath.Join(venv, "bin"), 0o700))
	m.must(os.Symlink("/gone/python3", filepath.Join(venv, "bin", "python")))
	_, err := m.resolver().Resolve(t.Context(), Request{WorkingDir: filepath.Dir(venv)}, nil)
	e := wantCode(t, err, domain.CodeEnvironmentFailed)
	if !strings.Contains(e.Message, venv) || !strings.Contains(e.Hint, "-m venv --clear '"+venv+"'") {
		t.Errorf("error %v", e)
	}
}

func TestVenvOfAStrangerInAnOpenFolderIsNotRun(t *testing.T) {
	m := newMachine(t)
	open := filepath.Join(m.root, "tmp")
	venv := m.venv(filepath.Join(open, ".venv"))
	m.must(os.Chmod(open, 0o777))
	if _, ok := projectVenv(open); !ok {
		t.Error("an own .venv in an open folder is left out")
	}
	if os.Geteuid() == 0 { // only root can give files away
		m.must(os.Chown(venv, 12345, 12345))
		if got, ok := projectVenv(open); ok {
			t.Errorf("took %s of a stranger", got)
		}
	}
}

// K12, C106: any kernelspec works, and a missing one is an error with the list.
func TestK12_Kernelspecs(t *testing.T) {
	m := newMachine(t)
	m.vars["HOME_OF_TOY"] = "/toys"
	m.script("sh", "exec /bin/sh \"$@\"\n")
	m.spec(m.resolver().userDataDir(), "Toy-1.0", toySpec)
	r := m.resolver()
	for _, q := range []Request{{KernelName: "toy-1.0"}, {KernelName: "TOY-1.0", Language: "toy"}, {Language: "Toy"}, {KernelName: "Toy 1.0 (lab)", Language: "toy"}} {
		l, err := r.Resolve(t.Context(), q, nil)
		if err != nil {
			t.Errorf("%+v: %v", q, err)
			continue
		}
		if l.KernelName != "toy-1.0" || l.InterruptMode != "message" || l.EnvSource != "kernelspec:toy-1.0" || l.Env["TOY"] != "/toys/t" || l.Env["KEEP"] != "${NOT_SET}" {
			t.Errorf("launch %+v", l)
		}
		if l.Argv[0] != filepath.Join(m.bin, "sh") || l.Argv[2] != "cat {connection_file}" || !strings.HasSuffix(l.Argv[3], "/kernels/Toy-1.0/x") {
			t.Errorf("argv %q", l.Argv)
		}
	}
	_, err := r.Resolve(t.Context(), Request{KernelName: "julia-1.9", Language: "julia"}, nil)
	e := wantCode(t, err, domain.CodeKernelUnavailable)
	if !strings.Contains(e.Message, `"julia-1.9"`) || !strings.Contains(e.Message, "toy-1.0 (Toy)") {
		t.Errorf("error %v", e)
	}
	_, err = r.Resolve(t.Context(), Request{KernelName: "toy-1.0", Dependencies: []string{"pandas"}}, nil)
	wantCode(t, err, domain.CodeInvalidArgument)
}

// f29: a name that no kernelspec can have is passed over, with a warning.
func TestIllegalKernelspecName(t *testing.T) {
	m := newMachine(t)
	m.ipykernel(m.venv(filepath.Join(m.root, ".venv")))
	var said lines
	l, err := m.resolver().Resolve(t.Context(), Request{WorkingDir: m.root, KernelName: "Python 3.12.1 (lab; uv)", Language: "python"}, said.add)
	if err != nil || l.EnvSource != viaProject {
		t.Fatalf("launch %+v, %v", l, err)
	}
	if !said.has("Python 3.12.1 (lab; uv)") {
		t.Errorf("no warning in %q", said)
	}
	for _, name := range []string{"../../x", "a/b", "..", "a b", "", strings.Repeat("a", 200), "é"} {
		if LegalName(name) {
			t.Errorf("LegalName(%q) is true", name)
		}
		if name == "" {
			continue
		}
		_, err := m.resolver().Resolve(t.Context(), Request{KernelName: name}, nil)
		wantCode(t, err, domain.CodeKernelUnavailable)
	}
}

func TestNamedPythonKernelspec(t *testing.T) {
	m := newMachine(t)
	mine := m.venv(filepath.Join(m.root, "mine"))
	m.ipykernel(mine)
	m.ipykernel(m.venv(filepath.Join(m.root, "project", ".venv")))
	m.spec(filepath.Join(m.home, ".local", "share", "jupyter"), "mine", `{"argv": ["`+mine+`/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Mine", "language": "python"}`)
	m.spec(filepath.Join(m.home, ".local", "share", "jupyter"), "gone", `{"argv": ["/gone/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Gone", "language": "python"}`)
	m.spec(filepath.Join(m.home, ".local", "share", "jupyter"), "bad", `{"argv": [`)
	q := Request{WorkingDir: filepath.Join(m.root, "project"), KernelName: "mine", Language: "python"}
	l, err := m.resolver().Resolve(t.Context(), q, nil)
	if err != nil || l.Argv[0] != filepath.Join(mine, "bin", "python") || l.Env["VIRTUAL_ENV"] != mine {
		t.Errorf("a name of its own wins over .venv: %+v, %v", l, err)
	}
	for name, part := range map[string]string{"gone": "/gone/bin/python", "bad": "kernel.json"} {
		_, err = m.resolver().Resolve(t.Context(), Request{KernelName: name, Language: "python"}, nil)
		if e := wantCode(t, err, domain.CodeKernelUnavailable); !strings.Contains(e.Message, part) {
			t.Errorf("%s: %v", name, e)
		}
	}
	q.KernelName = "colleagues-env"
	var said lines
	if l, err = m.resolver().Resolve(t.Context(), q, said.add); err != nil || l.EnvSource != viaProject || !said.has("colleagues-env") {
		t.Errorf("a name that is not installed, beside a .venv: %+v, %v, said %q", l, err, said)
	}
	_, err = m.resolver().Resolve(t.Context(), Request{KernelName: "colleagues-env", Language: "python"}, nil)
	wantCode(t, err, domain.CodeKernelUnavailable)
}

func TestPythonOnPathWithIPykernel(t *testing.T) {
	m := newMachine(t)
	usr := filepath.Join(m.root, "usr")
	m.ipykernel(usr)
	m.spec(filepath.Join(usr, "share", "jupyter"), "python3", `{"argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3 (ipykernel)", "language": "python"}`)
	l, err := m.resolver().Resolve(t.Context(), Request{}, nil)
	if err != nil || l.EnvSource != "kernelspec:python3" || l.Argv[0] != filepath.Join(usr, "bin", "python") || l.Dir != m.home {
		t.Errorf("launch %+v, %v", l, err)
	}
}

func TestKernelspecsAndInterpretersAreListed(t *testing.T) {
	m := newMachine(t)
	m.vars["JUPYTER_PATH"] = filepath.Join(m.root, "jp")
	for dir, name := range map[string]string{"jp": "b", "share/jupyter": "a", "home/.ipython": "c", "home/.local/share/jupyter": "b"} {
		m.spec(filepath.Join(m.root, dir), name, `{"argv": ["x"], "display_name": "from `+dir+`"}`)
	}
	project := filepath.Join(m.root, "project")
	venv := m.venv(filepath.Join(project, ".venv"))
	m.spec(filepath.Join(venv, "share", "jupyter"), "v", `{"argv": ["x"]}`)
	specs, err := m.resolver().Kernelspecs(t.Context(), project)
	m.must(err)
	var got []string
	for _, s := range specs {
		got = append(got, s.Name+"|"+s.DisplayName+"|"+s.Source)
	}
	want := "a|from share/jupyter|system, b|from jp|user, c|from home/.ipython|user, v|v|venv"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	ins, err := m.resolver().Interpreters(t.Context(), project)
	m.must(err)
	if len(ins) != 2 || ins[0].Via != viaProject || ins[0].Problem != "ipykernel is missing" || ins[1].Via != "path" || ins[1].Version < "3" {
		t.Errorf("interpreters %+v", ins)
	}
}

func wantCode(t *testing.T, err error, code domain.Code) *domain.Error {
	t.Helper()
	e, ok := err.(*domain.Error)
	if !ok || e.Code != code {
		t.Fatalf("got %v, want an error with code %s", err, code)
	}
	if e.Hint == "" {
		t.Errorf("no hint in %v", e)
	}
	return e
}

func FuzzParseKernelspec(f *testing.F) {
	for _, s := range []string{toySpec, `{}`, `{"argv": []}`, `{"argv": ["x"], "env": {"A": 1, "B=": null}}`, `[]`, "\xef\xbb\xbf{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseKernelspec(data)
		if err == nil && (len(s.Argv) == 0 || s.Argv[0] == "" || s.InterruptMode != "signal" && s.InterruptMode != "message") {
			t.Errorf("accepted %+v", s)
		}
	})
}
