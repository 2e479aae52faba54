package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"runt/internal/testenv"
)

// TestScripts runs the programs as a person would, by the scripts in
// testdata/script. Every script has a home folder, a socket and a daemon of its own.
func TestScripts(t *testing.T) {
	programs := testenv.Binaries(t)
	python := testenv.PythonBin(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			home := testenv.ShortDir(t)
			e.Setenv("PATH", programs.Dir+":"+python+":"+os.Getenv("PATH"))
			e.Setenv("HOME", home)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(cache, "runt-test", "xdg"))
			e.Setenv("RUNTIMED_SOCKET_PATH", filepath.Join(home, "s"))
			e.Defer(func() { stopDaemon(t, home) })
			return nil
		},
	})
}
