package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"runt/internal/domain"
)

// Request describes the notebook that needs a kernel.
type Request struct {
	NotebookPath string   // absolute, or "" for an untitled notebook
	WorkingDir   string   // folder to run in; "" stands for the notebook's folder
	KernelName   string   // kernelspec name the notebook carries or the user asked for, may be ""
	Language     string   // language the notebook carries, may be ""
	Dependencies []string // Python packages, as in pip install; none for the usual environment
}

// place is the folder where the search for .venv begins.
func (q Request) place() string {
	if q.NotebookPath != "" {
		return filepath.Dir(q.NotebookPath)
	}
	return q.WorkingDir
}

// Resolve finds out how to start the kernel of a notebook, making a private
// environment when that is what it takes. progress gets lines for a person to
// read while that goes on; it may be nil. Errors are *domain.Error and say what
// is missing and how to get it.
func (r *Resolver) Resolve(ctx context.Context, q Request, progress func(string)) (Launch, error) {
	if progress == nil {
		progress = func(string) {}
	}
	l, err := r.resolve(ctx, q, progress)
	if err != nil {
		return Launch{}, err
	}
	l.Dir = r.workingDir(q)
	r.log.Debug("kernel resolved", "kernel", l.KernelName, "source", l.EnvSource, "program", l.Argv[0])
	return l, nil
}

func (r *Resolver) resolve(ctx context.Context, q Request, progress func(string)) (Launch, error) {
	name := strings.ToLower(q.KernelName)
	if name != "" && !LegalName(name) {
		if q.Language == "" {
			return Launch{}, r.unknown(ctx, q)
		}
		progress(fmt.Sprintf("warning: %q cannot be a kernelspec name; choosing a kernel for %s instead", q.KernelName, q.Language))
		name = ""
	}
	if isPython(q.Language) && generic(name) {
		if len(q.Dependencies) > 0 {
			return r.private(ctx, q.Dependencies, progress)
		}
		return r.python(ctx, q.place(), progress)
	}
	spec, found, err := r.pick(ctx, q, name)
	if err != nil {
		return Launch{}, err
	}
	switch {
	case found && len(q.Dependencies) > 0 && !isPython(spec.Language):
		return Launch{}, domain.Errorf(domain.CodeInvalidArgument, "the kernel %s is for %s, and dependencies are Python packages.", spec.Name, spec.Language).
			WithHint("Leave the dependencies out, or use the kernel python3.")
	case len(q.Dependencies) > 0:
		return r.private(ctx, q.Dependencies, progress)
	case found:
		return r.fromSpec(ctx, spec)
	}
	if cs := r.chosen(q.place()); isPython(q.Language) && q.Language != "" && len(cs) > 0 {
		progress(fmt.Sprintf("warning: the kernel %q is not installed; using %s", q.KernelName, cs[0].label()))
		return r.python(ctx, q.place(), progress)
	}
	return Launch{}, r.unknown(ctx, q)
}

// pick finds the kernelspec by name, or by language when there is no name.
func (r *Resolver) pick(ctx context.Context, q Request, name string) (Kernelspec, bool, error) {
	if name != "" {
		spec, found, err := r.findSpec(ctx, q.place(), name)
		if err != nil {
			return spec, false, domain.Errorf(domain.CodeKernelUnavailable, "the kernelspec %q cannot be used: %w", name, err).
				WithHint("Repair or reinstall it, or choose another kernel.")
		}
		return spec, found, nil
	}
	specs, err := r.Kernelspecs(ctx, q.place())
	if err != nil {
		return Kernelspec{}, false, fmt.Errorf("list kernelspecs: %w", err)
	}
	for _, s := range specs {
		if strings.EqualFold(s.Language, q.Language) {
			return s, true, nil
		}
	}
	return Kernelspec{}, false, nil
}

// generic says whether a kernelspec name only means "some Python 3". Notebooks
// carry such a name whatever environment they were written with.
func generic(name string) bool {
	return name == "" || name == "python" || name == "python3"
}

func isPython(language string) bool {
	return language == "" || strings.HasPrefix(strings.ToLower(language), "python")
}

// python resolves a notebook that wants some Python 3.
func (r *Resolver) python(ctx context.Context, dir string, progress func(string)) (Launch, error) {
	for _, c := range r.chosen(dir) {
		p, err := r.probe(ctx, c.python())
		switch {
		case ctx.Err() != nil:
			return Launch{}, timeout(ctx)
		case err != nil && c.via == viaConda:
			continue // a conda environment need not hold a Python
		case err != nil:
			return Launch{}, broken(c, err)
		case p.IPykernel:
			return r.launchPython(p, c.via), nil
		case c.via == viaConda && r.vars["CONDA_DEFAULT_ENV"] == "base":
			progress("the conda environment base has no ipykernel and is left out")
		default:
			return Launch{}, r.noIPykernel(c.label(), c.python(), p)
		}
	}
	if spec, found, err := r.findSpec(ctx, dir, "python3"); err == nil && found && isPython(spec.Language) {
		l, err := r.fromSpec(ctx, spec)
		if err == nil {
			return l, nil
		}
		progress(fmt.Sprintf("the kernelspec python3 in %s is left out: %v", spec.Dir, err))
	}
	return r.private(ctx, nil, progress)
}

// launchPython starts the kernel of an interpreter that is known to have ipykernel.
func (r *Resolver) launchPython(p probe, via string) Launch {
	l := Launch{
		KernelName: "python3", DisplayName: "Python " + p.Version, Language: "python",
		Argv:          []string{p.Executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"},
		InterruptMode: "signal", EnvSource: via, Env: map[string]string{},
	}
	activate(l.Env, p.Prefix, p.Conda, p.isVenv(), r.searchPath())
	return l
}

// activate puts the environment's programs first, as its activate script would,
// so that !python and !pip in a cell mean the kernel's own.
func activate(vars map[string]string, prefix string, conda, venv bool, path string) {
	switch {
	case conda:
		vars["CONDA_PREFIX"] = prefix
	case venv:
		vars["VIRTUAL_ENV"] = prefix
	default:
		return
	}
	vars["PATH"] = filepath.Join(prefix, "bin") + string(os.PathListSeparator) + path
}

// workingDir is where the kernel runs: where it was asked to, else beside the
// notebook, else at home.
func (r *Resolver) workingDir(q Request) string {
	for _, d := range []string{q.WorkingDir, q.place()} {
		if filepath.IsAbs(d) && isDir(d) {
			return d
		}
	}
	return r.home
}
