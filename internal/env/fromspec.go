package env

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"runt/internal/domain"
)

// tcpOnly lists kernels that cannot bind their channels to ipc sockets.
var tcpOnly = map[string]bool{"deno": true}

var pythonName = regexp.MustCompile(`^python(3(\.\d+)?)?$`)

// fromSpec makes the launch of an installed kernelspec, after checking that its
// program, and for a Python kernel ipykernel, is there.
func (r *Resolver) fromSpec(ctx context.Context, s Kernelspec) (Launch, error) {
	l := Launch{
		KernelName: s.Name, DisplayName: s.DisplayName, Language: s.Language,
		Argv: make([]string, len(s.Argv)), Env: map[string]string{}, InterruptMode: s.InterruptMode,
		EnvSource: "kernelspec:" + s.Name,
	}
	if tcpOnly[s.Name] {
		l.Transport = "tcp"
	}
	fill := strings.NewReplacer("{resource_dir}", s.Dir, "{prefix}", s.Prefix)
	for i, a := range s.Argv {
		l.Argv[i] = fill.Replace(a)
	}
	for k, v := range s.Env {
		l.Env[k] = r.expand(v)
	}
	program, err := r.program(ctx, s, l.Argv[0])
	if err != nil {
		return Launch{}, err
	}
	l.Argv[0] = program
	if !startsIPykernel(l.Argv) {
		return l, nil
	}
	p, err := r.probe(ctx, program)
	if ctx.Err() != nil {
		return Launch{}, timeout(ctx)
	}
	if err != nil {
		return Launch{}, domain.Errorf(domain.CodeKernelUnavailable, "the Python of the kernelspec %q, %s, does not start: %w", s.Name, program, err).
			WithHint("Reinstall that Python, or choose another kernel.")
	}
	if !p.IPykernel {
		return Launch{}, r.noIPykernel(fmt.Sprintf("the kernelspec %q", s.Name), program, p)
	}
	l.Argv[0] = p.Executable
	if _, set := l.Env["PATH"]; !set {
		activate(l.Env, p.Prefix, p.Conda, p.isVenv(), r.searchPath())
	}
	return l, nil
}

// program finds the program that a kernelspec names. A bare "python" is the one
// of the environment that the kernelspec was installed in.
func (r *Resolver) program(ctx context.Context, s Kernelspec, name string) (string, error) {
	switch {
	case filepath.IsAbs(name):
		if isExecutable(name) {
			return name, nil
		}
	case strings.ContainsRune(name, filepath.Separator):
		if p := filepath.Join(s.Dir, name); isExecutable(p) {
			return p, nil
		}
	default:
		if p := filepath.Join(s.Prefix, "bin", name); s.Prefix != "" && isExecutable(p) {
			return p, nil
		}
		if pythonName.MatchString(name) {
			if p, err := r.pathPython(ctx); err == nil {
				return p.Executable, nil
			}
		}
		if p, ok := r.lookPath(name); ok {
			return p, nil
		}
	}
	return "", domain.Errorf(domain.CodeKernelUnavailable, "the kernelspec %q in %s starts %s, which is not there.", s.Name, s.Dir, name).
		WithHint("Install that program or remove the kernelspec, or choose another kernel.")
}

func startsIPykernel(argv []string) bool {
	for i, a := range argv[1:] {
		if argv[i] == "-m" && (a == "ipykernel_launcher" || a == "ipykernel") {
			return true
		}
	}
	return false
}

// expand fills ${NAME} in a kernelspec's env from the daemon's environment, as
// Jupyter does; what is not set stays as it is written.
func (r *Resolver) expand(s string) string {
	return envRef.ReplaceAllStringFunc(s, func(ref string) string {
		if v, ok := r.vars[strings.Trim(ref, "${}")]; ok {
			return v
		}
		return ref
	})
}

var envRef = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)
