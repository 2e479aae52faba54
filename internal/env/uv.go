package env

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const uvTimeout = 10 * time.Second

// uv finds a uv that runs: on PATH, where its installers put it, or the one
// that runt installed for itself. When there is none it installs one from the
// package registry into an environment that holds nothing else.
func (r *Resolver) uv(ctx context.Context, base probe, progress func(string)) (string, error) {
	own := filepath.Join(r.state, "tools", "uv")
	ownUV := filepath.Join(own, "bin", "uv")
	for _, p := range append(r.uvOnPath(), filepath.Join(r.home, ".local", "bin", "uv"), filepath.Join(r.home, ".cargo", "bin", "uv"), ownUV) {
		if isExecutable(p) && r.runsUV(ctx, p) {
			return p, nil
		}
	}
	if base.Executable == "" {
		return "", fmt.Errorf("install uv: %w", errNoPython)
	}
	unlock, err := lock(ctx, own+".lock", nil)
	if err != nil {
		return "", fmt.Errorf("install uv: %w", err)
	}
	defer unlock()
	if isExecutable(ownUV) && r.runsUV(ctx, ownUV) {
		return ownUV, nil
	}
	progress("installing uv")
	if err := os.RemoveAll(own); err != nil {
		return "", fmt.Errorf("install uv: %w", err)
	}
	if err := r.venv(ctx, base, own, progress); err != nil {
		return "", fmt.Errorf("install uv: %w", err)
	}
	install := []string{filepath.Join(own, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check", "uv"}
	if _, err := r.command(own, install, progress).run(ctx); err != nil {
		return "", fmt.Errorf("install uv: %w", err)
	}
	if !r.runsUV(ctx, ownUV) {
		return "", fmt.Errorf("install uv: %s does not run", ownUV)
	}
	return ownUV, nil
}

func (r *Resolver) uvOnPath() []string {
	var found []string
	for _, dir := range r.path {
		if p := filepath.Join(dir, "uv"); filepath.IsAbs(dir) && isExecutable(p) {
			found = append(found, p)
		}
	}
	return found
}

// runsUV says whether the program is a uv that works: a version manager's
// stand-in may be there without one behind it.
func (r *Resolver) runsUV(ctx context.Context, path string) bool {
	_, err := command{argv: []string{path, "--version"}, dir: filepath.Dir(path), env: r.pythonEnv(), timeout: uvTimeout}.run(ctx)
	if err != nil {
		r.log.Debug("uv left out", "path", path, "err", err)
	}
	return err == nil
}
