package testenv

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// AwaitLimit bounds Await for a context that has no deadline of its own.
const AwaitLimit = 20 * time.Second

// Await asks cond again and again until it is true, and ends the test when it
// does not come true within the context's deadline, or within AwaitLimit. what
// completes the sentence "waiting for …".
func Await(t testing.TB, ctx context.Context, what string, cond func() bool) {
	t.Helper()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, AwaitLimit)
		defer cancel()
	}
	const first, last = time.Millisecond, 50 * time.Millisecond
	timer := time.NewTimer(first)
	defer timer.Stop()
	for wait := first; !cond(); wait = min(2*wait, last) {
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			if !cond() {
				t.Fatalf("waiting for %s: %v", what, context.Cause(ctx))
			}
			return
		}
	}
}

// Receive returns the next value of a channel, and ends the test when none
// comes in time or the channel is closed.
func Receive[T any](t testing.TB, ctx context.Context, what string, from <-chan T) T {
	t.Helper()
	timer := time.NewTimer(AwaitLimit)
	defer timer.Stop()
	select {
	case v, ok := <-from:
		if !ok {
			t.Fatalf("waiting for %s: the channel is closed", what)
		}
		return v
	case <-ctx.Done():
		t.Fatalf("waiting for %s: %v", what, context.Cause(ctx))
	case <-timer.C:
		t.Fatalf("waiting for %s: nothing after %v", what, AwaitLimit)
	}
	panic("not reached")
}

// ShortDir is a temporary folder with a path short enough for Unix sockets,
// which allow about 100 bytes. t.TempDir is longer than that for a long test name.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "rt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the test's folder: %v", err)
		}
	})
	return dir
}

// Root is the folder of the repository.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the place of this source file is not known")
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

var testDeps = sync.OnceValues(func() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	script := filepath.Join(filepath.Dir(file), "..", "..", "scripts", "test-deps")
	out, err := exec.Command(script, "python").Output()
	return strings.TrimSpace(string(out)), err
})

// Python is the Python with ipykernel, jupyter_client, nbformat and uv that
// scripts/test-deps keeps in the cache. The first use on a machine installs it.
func Python(t testing.TB) string {
	t.Helper()
	return filepath.Join(PythonBin(t), "python")
}

// PythonBin is the folder of the programs that belong to Python, such as uv.
func PythonBin(t testing.TB) string {
	t.Helper()
	bin, err := testDeps()
	if err != nil {
		t.Fatalf("scripts/test-deps python: %v", err)
	}
	return bin
}
