package env

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/failpoint"
	"runt/internal/testenv"
)

// realUV is the uv that scripts/test-deps installs.
func realUV(t testing.TB) string {
	t.Helper()
	return filepath.Join(testenv.PythonBin(t), "uv")
}

func TestPrivateEnvironmentWithUV(t *testing.T) {
	m := newMachine(t)
	m.uv()
	m.index()
	var said lines
	r := m.resolver()
	l, err := r.Resolve(t.Context(), Request{}, said.add)
	if err != nil {
		t.Fatal(err)
	}
	if l.EnvSource != "uv:prewarmed" || !strings.HasPrefix(l.Argv[0], m.state) || l.KernelName != "python3" {
		t.Errorf("launch %+v", l)
	}
	if out := m.run(append(l.Argv[:3:3], "-f", "x")...); !strings.Contains(out, m.state) {
		t.Errorf("it is not the environment's kernel: %s", out)
	}
	m.run(l.Argv[0], "-m", "pip", "--version")
	if !said.has("making a Python environment") || !said.has("the environment is ready") {
		t.Errorf("said %q", said)
	}
	envs, err := r.Environments()
	if err != nil || len(envs) != 1 || envs[0].Name != "default" || envs[0].Maker != makerUV {
		t.Errorf("environments %+v, %v", envs, err)
	}
}

func TestWarmResolveStartsNoProcess(t *testing.T) {
	m := newMachine(t)
	m.uv()
	m.index()
	if _, err := m.resolver().Resolve(t.Context(), Request{}, nil); err != nil {
		t.Fatal(err)
	}
	uv, python := len(m.calls("uv")), len(m.calls("python3"))
	r := m.resolver()
	said := lines{}
	start := time.Now()
	l, err := r.Resolve(t.Context(), Request{}, said.add)
	if err != nil || len(said) != 0 || len(m.calls("uv")) != uv || len(m.calls("python3")) != python {
		t.Fatalf("resolve again: %v, said %q, calls %q %q", err, said, m.calls("uv"), m.calls("python3"))
	}
	t.Logf("warm resolve of %s in a new process: %v", l.EnvSource, time.Since(start))
}

func TestDependenciesGetAnEnvironmentPerSet(t *testing.T) {
	m := newMachine(t)
	m.uv()
	m.index("alpha", "beta")
	m.ipykernel(m.venv(filepath.Join(m.root, ".venv"))) // dependencies win over it
	r := m.resolver()
	resolve := func(deps ...string) Launch {
		t.Helper()
		l, err := r.Resolve(t.Context(), Request{WorkingDir: m.root, Dependencies: deps, KernelName: "python3", Language: "python"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	one, same, two := resolve("beta", "Alpha >= 0.5"), resolve("alpha>=0.5", " beta ", "beta"), resolve("beta")
	if one.Argv[0] != same.Argv[0] || one.Argv[0] == two.Argv[0] || one.EnvSource != "uv:inline" {
		t.Errorf("environments %s, %s, %s", one.Argv[0], same.Argv[0], two.Argv[0])
	}
	m.run(one.Argv[0], "-c", "import alpha, beta, ipykernel_launcher")
	_, err := r.Resolve(t.Context(), Request{Dependencies: []string{"no-such-thing"}}, nil)
	if e := wantCode(t, err, domain.CodeEnvironmentFailed); !strings.Contains(e.Message, "no-such-thing") {
		t.Errorf("error %v", e)
	}
	for _, bad := range []string{"--index-url=x", "-e .", "./local", "/abs", "", "a\nb", "a b", strings.Repeat("a", 2000)} {
		_, err := r.Resolve(t.Context(), Request{Dependencies: []string{bad}}, nil)
		wantCode(t, err, domain.CodeInvalidArgument)
	}
	envs, err := r.Environments()
	if err != nil || len(envs) != 2 {
		t.Fatalf("environments %+v, %v", envs, err)
	}
	if err := r.Remove(t.Context(), envs[0].Name); err != nil {
		t.Fatal(err)
	}
	wantCode(t, r.Remove(t.Context(), envs[0].Name), domain.CodeInvalidArgument)
	if left, err := r.Environments(); err != nil || len(left) != 1 || exists(envs[0].Dir) {
		t.Errorf("after remove: %+v, %v", left, err)
	}
}

func TestRemovedPackageMakesTheEnvironmentAnew(t *testing.T) {
	m := newMachine(t)
	m.uv()
	m.index()
	r := m.resolver()
	e, err := r.Prepare(t.Context(), nil, nil)
	m.must(err)
	m.must(os.Remove(e.Launcher))
	again, err := r.Prepare(t.Context(), nil, nil)
	if err != nil || again.Dir == e.Dir || exists(e.Dir) || !exists(again.Launcher) {
		t.Errorf("prepared again: %+v, %v", again, err)
	}
	// An interpreter that changed but still works is kept.
	now := time.Now()
	m.replace(again.python(), "#!/bin/sh\nexec '"+filepath.Join(again.Dir, "bin", "python3")+"' \"$@\"\n")
	m.must(os.Remove(filepath.Join(again.Dir, "bin", "python3")))
	m.must(os.Symlink(realPython(t), filepath.Join(again.Dir, "bin", "python3")))
	m.must(os.Chtimes(again.python(), now, now.Add(time.Hour)))
	kept, err := r.Prepare(t.Context(), nil, nil)
	if err != nil || kept.Dir != again.Dir || kept.Stamp == again.Stamp {
		t.Errorf("kept %+v, %v", kept, err)
	}
}

// Of many that race, in one process and in several, one makes the environment.
func TestRacersMakeOneEnvironment(t *testing.T) {
	if state := os.Getenv("ENV_TEST_STATE"); state != "" {
		racer(t, state)
		return
	}
	m := newMachine(t)
	m.uv()
	m.index()
	var wg sync.WaitGroup
	found := make(chan string, 8)
	for range 2 {
		wg.Go(func() {
			out, err := m.child("TestRacersMakeOneEnvironment").Output()
			if err != nil {
				t.Errorf("racer: %v\n%s", err, out)
			}
			found <- childDir(string(out))
		})
	}
	r := m.resolver()
	for range 3 {
		wg.Go(func() {
			e, err := r.Prepare(t.Context(), nil, nil)
			if err != nil {
				t.Error(err)
			}
			found <- e.Dir
		})
	}
	wg.Wait()
	close(found)
	first := <-found
	for dir := range found {
		if dir != first || dir == "" {
			t.Errorf("environments %q and %q", first, dir)
		}
	}
	made := slices.DeleteFunc(m.calls("uv"), func(s string) bool { return !strings.HasPrefix(s, "venv ") })
	if len(made) != 1 {
		t.Errorf("made %d environments: %q", len(made), made)
	}
}

// child runs one test of this file in a process of its own, on the same machine.
func (m *machine) child(test string, vars ...string) *exec.Cmd {
	cmd := exec.CommandContext(m.t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.count=1")
	opts, err := json.Marshal(m.resolver().environ)
	m.must(err)
	cmd.Env = append(os.Environ(), append(vars, "ENV_TEST_STATE="+m.state, "ENV_TEST_HOME="+m.home, "ENV_TEST_ENVIRON="+string(opts))...)
	return cmd
}

const childMark = "prepared: "

func childDir(out string) string {
	_, rest, _ := strings.Cut(out, childMark)
	dir, _, _ := strings.Cut(rest, "\n")
	return dir
}

// racer is what a child process does.
func racer(t *testing.T, state string) {
	var environ []string
	if err := json.Unmarshal([]byte(os.Getenv("ENV_TEST_ENVIRON")), &environ); err != nil {
		t.Fatal(err)
	}
	r := New(Options{StateDir: state, Home: os.Getenv("ENV_TEST_HOME"), Environ: environ, SystemDirs: []string{}})
	e, err := r.Prepare(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(childMark + e.Dir + "\n")
}

// A process killed just before the environment becomes visible leaves nothing that is used.
func TestCrashWhileMakingLeavesNoHalfEnvironment(t *testing.T) {
	if state := os.Getenv("ENV_TEST_STATE"); state != "" {
		racer(t, state)
		return
	}
	m := newMachine(t)
	m.uv()
	m.index()
	err := m.child("TestCrashWhileMakingLeavesNoHalfEnvironment", failpoint.EnvVar+"=env/before-publish=kill").Run()
	if err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended with %v", err)
	}
	halves, err := filepath.Glob(globQuote(filepath.Join(m.state, "envs")) + "/default-*")
	if err != nil || len(halves) != 1 {
		t.Fatalf("left behind: %q, %v", halves, err)
	}
	r := m.resolver()
	if envs, err := r.Environments(); err != nil || len(envs) != 0 {
		t.Errorf("environments after the crash: %+v, %v", envs, err)
	}
	e, err := r.Prepare(t.Context(), nil, nil)
	if err != nil || e.Dir == halves[0] || exists(halves[0]) {
		t.Errorf("prepared %+v, %v", e, err)
	}
}

func TestCancelledMakingEndsAtOnceAndIsCleanedUp(t *testing.T) {
	m := newMachine(t)
	m.script("uv", "[ \"$1\" = --version ] && exit 0\necho started >> '"+m.root+"/uv.log'\nexec /bin/sleep 600\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the room was closed")
	go func() {
		testenv.Await(t, t.Context(), "uv to start", func() bool { return len(m.calls("uv")) > 0 })
		cancel(stop)
	}()
	start := time.Now()
	_, err := m.resolver().Resolve(ctx, Request{}, nil)
	if !errors.Is(err, stop) || time.Since(start) > 10*time.Second {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	if halves, _ := filepath.Glob(globQuote(filepath.Join(m.state, "envs")) + "/default-*"); len(halves) != 0 {
		t.Errorf("left behind %q", halves)
	}
}

// Without uv on the machine, one is installed from the package registry.
func TestUVIsInstalledWhenThereIsNone(t *testing.T) {
	m := newMachine(t)
	m.index()
	m.wheel("uv", "1.0", map[string]string{"uv-1.0.data/scripts/uv": "#!/bin/sh\nexec '" + realUV(t) + "' \"$@\"\n"})
	var said lines
	l, err := m.resolver().Resolve(t.Context(), Request{}, said.add)
	if err != nil || l.EnvSource != "uv:prewarmed" || !said.has("installing uv") {
		t.Fatalf("launch %+v, %v, said %q", l, err, said)
	}
	if !isExecutable(filepath.Join(m.state, "tools", "uv", "bin", "uv")) {
		t.Error("uv is not kept")
	}
}

// brokenUV is a uv that cannot do its work.
const brokenUV = "[ \"$1\" = --version ] && exit 0\necho 'no such index' >&2; exit 2\n"

func TestPipWhereUVDoesNotWork(t *testing.T) {
	m := newMachine(t)
	m.index()
	m.script("uv", brokenUV)
	var said lines
	l, err := m.resolver().Resolve(t.Context(), Request{}, said.add)
	if err != nil || l.EnvSource != "pip:prewarmed" || !said.has("venv and pip") {
		t.Fatalf("launch %+v, %v, said %q", l, err, said)
	}
	m.run(append(l.Argv[:3:3], "-f", "x")...)
}

func TestNothingCanBeHad(t *testing.T) {
	m := newMachine(t) // its package index is empty
	m.script("uv", brokenUV)
	_, err := m.resolver().Resolve(t.Context(), Request{}, nil)
	e := wantCode(t, err, domain.CodeEnvironmentFailed)
	if !strings.Contains(e.Message, "ipykernel") {
		t.Errorf("error %v", e)
	}
}

// The environment that users get: made from the package registry.
func TestRealPrivateEnvironmentRunsIPykernel(t *testing.T) {
	m := newMachine(t)
	m.uv()
	environ := without(os.Environ(), []string{"VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_PATH", "JUPYTER_DATA_DIR", "PATH"}, "PATH="+m.bin)
	r := New(Options{StateDir: m.state, Home: m.home, Environ: environ, SystemDirs: []string{}, Logger: testLogger(t)})
	start := time.Now()
	e, err := r.Prepare(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("made in %v", time.Since(start))
	m.run(e.python(), "-m", "ipykernel_launcher", "--version")
}

func FuzzNormalizeDependencies(f *testing.F) {
	for _, s := range []string{"pandas", "Foo_Bar[a, b] >= 1.0 , <2", "x @ https://h/f.whl", "x; python_version<'3'", "-e .", "a b", "x (==1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := NormalizeDependencies([]string{s})
		if err != nil {
			return
		}
		again, err := NormalizeDependencies(n)
		if err != nil || len(n) != 1 || again[0] != n[0] || strings.HasPrefix(n[0], "-") || strings.ContainsAny(n[0], "\n\r\x00") {
			t.Errorf("%q became %q, then %q, %v", s, n, again, err)
		}
	})
}

// An ipykernel that cannot be imported is no environment to start a kernel in.
func TestBrokenIPykernelIsNotPublished(t *testing.T) {
	m := newMachine(t)
	m.uv()
	m.index()
	m.wheel("ipykernel", "99.1", map[string]string{"ipykernel_launcher.py": "", "ipykernel/__init__.py": "import no_such_thing\n"})
	r := m.resolver()
	_, err := r.Resolve(t.Context(), Request{}, nil)
	if e := wantCode(t, err, domain.CodeEnvironmentFailed); !strings.Contains(e.Message, "no_such_thing") {
		t.Errorf("error %v", e)
	}
	if envs, err := r.Environments(); err != nil || len(envs) != 0 {
		t.Errorf("environments %+v, %v", envs, err)
	}
}
