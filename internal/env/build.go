package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"runt/internal/domain"
)

// Makers of environments, as they appear in Launch.EnvSource.
const (
	makerUV  = "uv"
	makerPip = "pip"
)

// uvNoSolution is uv's exit code for packages that do not exist or do not go
// together; any other failure is one of its surroundings.
const uvNoSolution = 1

// build makes an environment in dir with the usual packages and those named. It
// uses uv, and venv with pip where uv cannot be had or cannot do its work here.
func (r *Resolver) build(ctx context.Context, dir string, deps []string, progress func(string)) (maker string, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("build environment: %w", err)
	}
	base, _ := r.pathPython(ctx) // uv finds one by itself, or fetches it
	uv, uvErr := r.uv(ctx, base, progress)
	if uvErr == nil {
		uvErr = r.buildWithUV(ctx, uv, base, dir, deps, progress)
		if uvErr == nil {
			return makerUV, nil
		}
	}
	var failure *runError
	if ctx.Err() != nil || errors.As(uvErr, &failure) && failure.code == uvNoSolution && len(deps) > 0 {
		return "", uvErr
	}
	if base.Executable == "" {
		return "", errors.Join(uvErr, errNoPython)
	}
	progress("uv cannot be used here; making the environment with venv and pip")
	r.log.Info("uv not used", "err", uvErr)
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("build environment: %w", err)
	}
	return makerPip, r.buildWithPip(ctx, base, dir, deps, progress)
}

// packages adds what every environment has: the kernel, pip for code that installs
// something, and nbformat, without which Plotly refuses to show a figure.
func packages(deps []string) []string {
	return append([]string{"ipykernel", "pip", "nbformat"}, deps...)
}

func (r *Resolver) buildWithUV(ctx context.Context, uv string, base probe, dir string, deps []string, progress func(string)) error {
	venv := []string{uv, "venv", "--no-project", "--quiet"}
	if base.Executable != "" {
		venv = append(venv, "--python", base.Executable)
	}
	if _, err := r.command(dir, append(venv, dir), progress).run(ctx); err != nil {
		return fmt.Errorf("make venv: %w", err)
	}
	install := append([]string{uv, "pip", "install", "--python", filepath.Join(dir, "bin", "python")}, packages(deps)...)
	_, err := r.command(dir, install, progress).run(ctx)
	if err == nil || ctx.Err() != nil {
		return wrap("install packages", err)
	}
	var failure *runError
	if errors.As(err, &failure) && failure.code == uvNoSolution {
		return wrap("install packages", err)
	}
	progress("the package index cannot be reached; trying what is on this machine")
	if _, offErr := r.command(dir, append(install, "--offline"), nil).run(ctx); offErr == nil {
		return nil
	}
	return wrap("install packages", err)
}

func (r *Resolver) buildWithPip(ctx context.Context, base probe, dir string, deps []string, progress func(string)) error {
	if err := r.venv(ctx, base, dir, progress); err != nil {
		return err
	}
	install := append([]string{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--disable-pip-version-check"}, packages(deps)...)
	_, err := r.command(dir, install, progress).run(ctx)
	return wrap("install packages", err)
}

// venv makes an environment that holds pip and nothing else.
func (r *Resolver) venv(ctx context.Context, base probe, dir string, progress func(string)) error {
	c := r.command(dir, []string{base.Executable, "-m", "venv", dir}, progress)
	c.timeout = venvTimeout
	if _, err := c.run(ctx); err != nil {
		return fmt.Errorf("make venv (on Debian and Ubuntu this needs the package python3-venv): %w", err)
	}
	return nil
}

// command runs beside the environment at dir, so that no project file of the
// user's is taken for a configuration.
func (r *Resolver) command(dir string, argv []string, progress func(string)) command {
	return command{argv: argv, dir: filepath.Dir(dir), env: r.pythonEnv(), timeout: installTimeout, progress: progress}
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// failed turns the reason why an environment could not be made into the error
// that a person sees.
func failed(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("make environment: %w", context.Cause(ctx))
	}
	detail := err.Error()
	var failure *runError
	if errors.As(err, &failure) {
		detail = filepath.Base(failure.argv[0]) + " said: " + failure.stderr
		if failure.stderr == "" {
			detail = filepath.Base(failure.argv[0]) + ": " + failure.cause.Error()
		}
	}
	e := &domain.Error{Code: domain.CodeEnvironmentFailed, Err: err, Message: what + ". " + strings.TrimSpace(detail)}
	return e.WithHint("Check the package names and the network, or make a .venv with ipykernel beside the notebook.")
}
