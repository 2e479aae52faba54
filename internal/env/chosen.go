package env

import (
	"os"
	"path/filepath"
	"syscall"
)

// The ways in which a user chooses a Python environment, as they appear in
// Launch.EnvSource.
const (
	viaProject = "venv:project" // .venv beside the notebook or above it
	viaActive  = "venv:active"  // VIRTUAL_ENV
	viaConda   = "conda:active" // CONDA_PREFIX
)

// choice is a Python environment that the user chose by its place or by activating it.
type choice struct{ prefix, via string }

func (c choice) python() string { return filepath.Join(c.prefix, "bin", "python") }

// label names the choice in a sentence.
func (c choice) label() string {
	switch c.via {
	case viaActive:
		return "the active environment (VIRTUAL_ENV)"
	case viaConda:
		return "the active conda environment (CONDA_PREFIX)"
	}
	return "the .venv of this notebook's folder"
}

// chosen lists the environments that the user chose for notebooks in dir, best first.
func (r *Resolver) chosen(dir string) []choice {
	var cs []choice
	if p, ok := projectVenv(dir); ok {
		cs = append(cs, choice{p, viaProject})
	}
	if p := r.vars["VIRTUAL_ENV"]; filepath.IsAbs(p) && isDir(p) {
		cs = append(cs, choice{filepath.Clean(p), viaActive})
	}
	if p := r.vars["CONDA_PREFIX"]; filepath.IsAbs(p) && isDir(p) {
		cs = append(cs, choice{filepath.Clean(p), viaConda})
	}
	return cs
}

// projectVenv finds the .venv in dir or in the nearest folder above it.
func projectVenv(dir string) (string, bool) {
	if !filepath.IsAbs(dir) {
		return "", false
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if venv := filepath.Join(dir, ".venv"); isVenv(venv) && trusted(dir, venv) {
			return venv, true
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// isVenv says whether prefix is a Python environment, possibly a broken one.
func isVenv(prefix string) bool {
	if _, err := os.Lstat(filepath.Join(prefix, "bin", "python")); err == nil {
		return true
	}
	return exists(filepath.Join(prefix, "pyvenv.cfg"))
}

// trusted refuses an environment that a stranger put into a folder where
// everybody may write, such as /tmp: its Python would run as this user.
func trusted(dir, venv string) bool {
	ds, err1 := os.Stat(dir)
	vs, err2 := os.Stat(venv)
	if err1 != nil || err2 != nil {
		return false
	}
	sys, ok := vs.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	own := int(sys.Uid) == os.Geteuid() || sys.Uid == 0
	return own || ds.Mode().Perm()&0o002 == 0
}
