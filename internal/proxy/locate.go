package proxy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"runt/internal/domain"
	"runt/internal/supervise"
)

// ProgramVar names the variable that overrides where the child's program is.
const ProgramVar = "RUNT_BIN"

// Locate finds the child's program: what RUNT_BIN names, else name beside the
// proxy's own executable (as it was called, and where a link to it leads), else
// name on PATH. With an error it returns where the program would be expected.
func Locate(name string) (string, error) {
	if path := os.Getenv(ProgramVar); path != "" {
		if !supervise.IsProgram(path) {
			return path, domain.Errorf(domain.CodeInternal, "%s names %s, which is no program.", ProgramVar, path).WithHint("Correct or unset it.")
		}
		return filepath.Abs(path)
	}
	beside := besideUs(name)
	for _, path := range beside {
		if supervise.IsProgram(path) {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	expected := ""
	if len(beside) > 0 {
		expected = beside[0]
	}
	return expected, domain.Errorf(domain.CodeInternal, "The program %s is neither beside the proxy (%v) nor on PATH.", name, beside).
		WithHint("Install it there, or set %s to its path.", ProgramVar)
}

// besideUs returns the paths name would have in the folders of our own executable.
func besideUs(name string) []string {
	var paths []string
	add := func(exe string, err error) {
		if err != nil {
			return
		}
		if path := filepath.Join(filepath.Dir(exe), name); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	if called, err := exec.LookPath(os.Args[0]); err == nil {
		add(filepath.Abs(called))
	}
	if exe, err := os.Executable(); err == nil {
		add(exe, nil)
		add(filepath.EvalSymlinks(exe))
	}
	return paths
}
