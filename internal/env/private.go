package env

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"runt/internal/domain"
	"runt/internal/failpoint"
)

// Environment is a private Python environment. Its record, envs/NAME.json below
// StateDir, is what makes it exist: a folder without a record is the rest of a
// build that was cut off.
type Environment struct {
	Format       int      `json:"format"`
	Name         string   `json:"name"`         // "default", or the hash of the dependencies
	Dir          string   `json:"dir"`          // where it is
	Dependencies []string `json:"dependencies"` // normalised
	Maker        string   `json:"maker"`        // "uv" or "pip"
	Version      string   `json:"version"`      // of its Python
	Stamp        string   `json:"stamp"`        // of its interpreter
	Launcher     string   `json:"launcher"`     // ipykernel's own file: gone when ipykernel was removed
}

func (e Environment) python() string { return filepath.Join(e.Dir, "bin", "python") }

// usable says whether the environment is still as it was checked: three calls
// of stat.
func (e Environment) usable() bool {
	return e.Format == envFormat && e.Stamp != "" && stamp(e.python()) == e.Stamp && exists(e.Launcher)
}

// launch starts the kernel of the environment.
func (r *Resolver) launch(e Environment) Launch {
	kind := ":prewarmed"
	if len(e.Dependencies) > 0 {
		kind = ":inline"
	}
	p := probe{Executable: e.python(), Prefix: e.Dir, Version: e.Version}
	return r.launchPython(p, e.Maker+kind)
}

func (r *Resolver) envsDir() string { return filepath.Join(r.state, "envs") }

func (r *Resolver) record(name string) string { return filepath.Join(r.envsDir(), name+".json") }

// private resolves to the private environment with these packages, making it
// first where there is none.
func (r *Resolver) private(ctx context.Context, deps []string, progress func(string)) (Launch, error) {
	e, err := r.Prepare(ctx, deps, progress)
	if err != nil {
		return Launch{}, err
	}
	return r.launch(e), nil
}

// Prepare makes sure that the private environment with these packages exists.
// With no packages it is the one that serves every notebook without an
// environment of its own; a daemon may prepare it ahead of need.
func (r *Resolver) Prepare(ctx context.Context, deps []string, progress func(string)) (Environment, error) {
	deps, err := NormalizeDependencies(deps)
	if err != nil {
		return Environment{}, err
	}
	if progress == nil {
		progress = func(string) {}
	}
	name := envName(deps)
	if e, err := r.readEnvironment(name); err == nil && e.usable() {
		return e, nil
	}
	unlock, err := lock(ctx, filepath.Join(r.envsDir(), name+".lock"), func() {
		progress("waiting for another process that is making this environment")
	})
	if err != nil {
		return Environment{}, failed(ctx, "cannot lock the environment", err)
	}
	defer unlock()
	e, err := r.readEnvironment(name)
	if err == nil && e.usable() {
		return e, nil
	}
	if err == nil && slices.Equal(e.Dependencies, deps) && r.recheck(ctx, &e) {
		return e, nil
	}
	return r.make(ctx, name, deps, progress)
}

// recheck looks again at an environment whose interpreter changed, as it does
// when the system's Python gets an update.
func (r *Resolver) recheck(ctx context.Context, e *Environment) bool {
	if err := r.check(ctx, e); err != nil {
		r.log.Info("private environment is made anew", "env", e.Name, "err", err)
		return false
	}
	if err := writeJSON(r.record(e.Name), e); err != nil {
		r.log.Warn("record of private environment not updated", "env", e.Name, "err", err)
	}
	return true
}

// warmUp imports what a kernel imports: that proves that it can start, and
// leaves the compiled modules on disk. A kernel of an environment that uv made
// starts 0.2 s faster for it.
const warmUp = "import ipykernel.kernelapp, ipykernel.ipkernel, ipykernel.zmqshell"

// check fills in what is known of an environment by asking its interpreter.
func (r *Resolver) check(ctx context.Context, e *Environment) error {
	warm := r.command(e.Dir, []string{e.python(), "-c", warmUp}, nil)
	warm.env, warm.timeout = without(warm.env, []string{"PYTHONDONTWRITEBYTECODE"}), venvTimeout
	if _, err := warm.run(ctx); err != nil {
		return fmt.Errorf("check environment: %w", err)
	}
	p, err := r.ask(ctx, e.python())
	if err != nil {
		return fmt.Errorf("check environment: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(globQuote(e.Dir), "lib*", "python*", "site-packages", "ipykernel_launcher.py"))
	if err != nil || len(files) == 0 || !p.IPykernel {
		return errors.New("check environment: ipykernel is missing")
	}
	e.Format, e.Version, e.Stamp, e.Launcher = envFormat, p.Version, stamp(e.python()), files[0]
	return nil
}

// make builds an environment in a folder of its own and then publishes its
// record. The caller holds the lock of that name.
func (r *Resolver) make(ctx context.Context, name string, deps []string, progress func(string)) (Environment, error) {
	r.sweep(name)
	e := Environment{Name: name, Dependencies: deps, Dir: filepath.Join(r.envsDir(), name+"-"+suffix())}
	if len(deps) == 0 {
		progress("making a Python environment with ipykernel")
	} else {
		progress("making a Python environment with " + cut(strings.Join(deps, ", "), progressLine))
	}
	maker, err := r.build(ctx, e.Dir, deps, progress)
	e.Maker = maker
	if err == nil {
		err = failpoint.Inject("env/before-publish")
	}
	if err == nil {
		err = r.check(ctx, &e)
	}
	if err == nil {
		err = writeJSON(r.record(name), e)
	}
	if err != nil {
		os.RemoveAll(e.Dir) //nolint:errcheck // swept by the next build otherwise
		return Environment{}, failed(ctx, "the Python environment could not be made", err)
	}
	progress(fmt.Sprintf("the environment is ready: Python %s", e.Version))
	r.log.Info("private environment made", "env", name, "dir", e.Dir, "maker", e.Maker, "packages", len(deps))
	return e, nil
}

// sweep removes what earlier builds of this name left. The caller holds the lock.
func (r *Resolver) sweep(name string) {
	dirs, _ := filepath.Glob(filepath.Join(globQuote(r.envsDir()), name+"-*")) // the pattern is well formed
	for _, d := range dirs {
		if err := os.RemoveAll(d); err != nil {
			r.log.Warn("old environment not removed", "dir", d, "err", err)
		}
	}
}

func (r *Resolver) readEnvironment(name string) (Environment, error) {
	var e Environment
	err := readJSON(r.record(name), &e)
	if err == nil && (e.Name != name || filepath.Dir(e.Dir) != r.envsDir()) {
		err = fmt.Errorf("read environment %s: the record is not its own", name)
	}
	return e, err
}

// Environments lists the private environments, by name.
func (r *Resolver) Environments() ([]Environment, error) {
	files, err := filepath.Glob(filepath.Join(globQuote(r.envsDir()), "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list environments: %w", err)
	}
	var envs []Environment
	for _, f := range files {
		e, err := r.readEnvironment(strings.TrimSuffix(filepath.Base(f), ".json"))
		if err != nil {
			r.log.Debug("environment left out", "file", f, "err", err)
			continue
		}
		envs = append(envs, e)
	}
	return envs, nil
}

// Remove deletes a private environment. The caller sees to it that no kernel
// runs in it; a notebook that needs it again gets a new one.
func (r *Resolver) Remove(ctx context.Context, name string) error {
	if !LegalName(name) {
		return domain.Errorf(domain.CodeInvalidArgument, "%q is not the name of an environment.", name)
	}
	unlock, err := lock(ctx, filepath.Join(r.envsDir(), name+".lock"), nil)
	if err != nil {
		return fmt.Errorf("remove environment: %w", err)
	}
	defer unlock()
	if err := os.Remove(r.record(name)); errors.Is(err, os.ErrNotExist) {
		return domain.Errorf(domain.CodeInvalidArgument, "there is no environment %q.", name).WithHint("Their names are hashes of what is in them, or default.")
	} else if err != nil {
		return fmt.Errorf("remove environment: %w", err)
	}
	r.sweep(name)
	return nil
}

// suffix makes the folder of every build a different one, so that a build that
// lives on after its daemon was killed cannot write into the next one's.
func suffix() string { return strings.ToLower(rand.Text()[:8]) }

func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
