package env

import (
	"context"
	"fmt"
	"path/filepath"
)

// Interpreter is a Python on this machine.
type Interpreter struct {
	Path      string // the program
	Prefix    string // the environment it belongs to
	Version   string // such as "3.12.1"
	Source    string // one of the Source constants
	Via       string // how it was found: "venv:project", "venv:active", "conda:active", "path", or the name of a private environment
	IPykernel bool   // whether it can run a kernel
	Problem   string // why it cannot be used, "" when it can
}

// Interpreters lists the Pythons that a notebook in dir could get: those the
// user chose, the one on PATH, and the private environments made so far. Broken
// ones are listed with their problem.
func (r *Resolver) Interpreters(ctx context.Context, dir string) ([]Interpreter, error) {
	var list []Interpreter
	for _, c := range r.chosen(dir) {
		in := Interpreter{Path: c.python(), Prefix: c.prefix, Source: SourceVenv, Via: c.via}
		list = append(list, r.describe(ctx, in))
	}
	if p, err := r.pathPython(ctx); err == nil {
		list = append(list, r.describe(ctx, Interpreter{Path: p.Executable, Prefix: p.Prefix, Source: SourceSystem, Via: "path"}))
	}
	envs, err := r.Environments()
	if err != nil {
		return list, err
	}
	for _, e := range envs {
		list = append(list, r.describe(ctx, Interpreter{Path: e.python(), Prefix: e.Dir, Source: SourcePrivate, Via: e.Name}))
	}
	return list, ctx.Err()
}

func (r *Resolver) describe(ctx context.Context, in Interpreter) Interpreter {
	p, err := r.probe(ctx, in.Path)
	switch {
	case err != nil:
		in.Problem = "it does not start"
	case !p.IPykernel:
		in.Version, in.Problem = p.Version, "ipykernel is missing"
	default:
		in.Version, in.IPykernel = p.Version, true
	}
	return in
}

// pathPython is the first Python 3 on PATH that starts.
func (r *Resolver) pathPython(ctx context.Context) (probe, error) {
	for _, name := range []string{"python3", "python"} {
		for _, dir := range r.path {
			path := filepath.Join(dir, name)
			if !filepath.IsAbs(dir) || !isExecutable(path) {
				continue
			}
			p, err := r.probe(ctx, path)
			if err == nil && p.Version >= "3" {
				return p, nil
			}
			if ctx.Err() != nil {
				return probe{}, fmt.Errorf("find python3: %w", context.Cause(ctx))
			}
			r.log.Debug("python left out", "path", path, "err", err)
		}
	}
	return probe{}, fmt.Errorf("find python3 on PATH: %w", errNoPython)
}
