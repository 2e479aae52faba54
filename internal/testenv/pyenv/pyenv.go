package pyenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// EnvPython names the environment variable that overrides the search.
const EnvPython = "RUNT_TEST_PYTHON"

// packages are what the environment must have; the module names in check belong to them.
var packages = []string{"ipykernel", "pyzmq"}

const (
	check      = `import sys, importlib.util as u; print(sys.executable); sys.exit(any(u.find_spec(m) is None for m in ("ipykernel", "zmq")))`
	checkLimit = 30 * time.Second
	makeLimit  = 5 * time.Minute
)

var find = sync.OnceValues(search)

// Python returns the path of an interpreter that has ipykernel and pyzmq. It
// fails the test when there is none and none can be made.
func Python(t testing.TB) string {
	t.Helper()
	python, err := find()
	if err != nil {
		t.Fatalf("find a Python with ipykernel: %v", err)
	}
	return python
}

// Argv returns the command line that starts a kernel with that interpreter,
// with {connection_file} where the connection file goes.
func Argv(t testing.TB) []string {
	t.Helper()
	return []string{Python(t), "-m", "ipykernel_launcher", "-f", "{connection_file}"}
}

func search() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), makeLimit)
	defer cancel()
	if p := os.Getenv(EnvPython); p != "" {
		return works(ctx, p)
	}
	if p, err := works(ctx, "python3"); err == nil {
		return p, nil
	}
	return environment(ctx)
}

// works returns the real path of an interpreter if it has the packages.
func works(ctx context.Context, python string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c", check).Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", python, strings.Join(packages, ", "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// environment returns the interpreter of our own virtual environment, made if need be.
func environment(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	root := filepath.Join(cache, "runt-test")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	unlock, err := lock(filepath.Join(root, "venv.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	venv := filepath.Join(root, "venv")
	python := filepath.Join(venv, "bin", "python")
	if p, err := works(ctx, python); err == nil {
		return p, nil
	}
	if err := run(ctx, "python3", "-m", "venv", "--clear", venv); err != nil {
		return "", err
	}
	if err := run(ctx, python, append([]string{"-m", "pip", "install", "--quiet"}, packages...)...); err != nil {
		return "", err
	}
	return works(ctx, python)
}

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// lock waits for an exclusive lock on a file that is made if need be. The lock ends with the process at the latest.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}
