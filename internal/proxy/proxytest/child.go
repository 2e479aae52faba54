package proxytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FakeChild is a program file that plays a notebook server of some version.
type FakeChild struct {
	t    testing.TB
	Path string // the program
	Dir  string // where it keeps what outlives it
}

// NewFakeChild installs a fake notebook server in a folder of its own.
func NewFakeChild(t testing.TB, version string) *FakeChild {
	t.Helper()
	dir := t.TempDir()
	f := &FakeChild{t: t, Path: filepath.Join(dir, "bin", "runt"), Dir: dir}
	if err := os.Mkdir(filepath.Dir(f.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	f.Install(version)
	return f
}

// Install replaces the program by another version, by rename. Settings are
// variables for it: FAKE_EXIT=n makes it exit at once with that code,
// FAKE_DEAF=1 makes it ignore the end of its input and SIGTERM, FAKE_MUTE=1
// makes it never answer initialize.
func (f *FakeChild) Install(version string, settings ...string) {
	f.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	// Programs built with the race detector would linger for a second at their end.
	vars := append([]string{"GORACE=atexit_sleep_ms=0", "FAKE_CHILD=" + f.Dir, "FAKE_VERSION=" + version}, settings...)
	script := fmt.Sprintf("#!/bin/sh\n%s exec '%s' \"$@\"\n", strings.Join(vars, " "), exe)
	if err := os.WriteFile(f.Path+".new", []byte(script), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.Path+".new", f.Path); err != nil {
		f.t.Fatal(err)
	}
}

// Runs returns what the children noted of a tool's calls: "executed" once for each
// call id, "received" once for each arrival.
func (f *FakeChild) Runs(kind string) []string {
	f.t.Helper()
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), kind+"-"); ok {
			names = append(names, name)
		}
	}
	return names
}
