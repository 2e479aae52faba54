package mcpserver

import (
	"os"
	"path/filepath"
	"strings"
)

// absolute turns what a user wrote for a path into an absolute one: ~ is the home
// folder, and relative paths begin at the client's folder.
func (s *Server) absolute(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home := s.o.Getenv("HOME"); home != "" {
			return filepath.Join(home, path[1:])
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.o.Dir, path)
	}
	return filepath.Clean(path)
}

// canonical returns the one spelling of a path: absolute, with the symlinks in
// what exists of it resolved.
func (s *Server) canonical(path string) string {
	path = s.absolute(path)
	rest := ""
	for at := path; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}

// notebookPath is canonical with the ending of notebooks, for files to be made.
func (s *Server) notebookPath(path string) string {
	if !strings.EqualFold(filepath.Ext(path), ".ipynb") {
		path += ".ipynb"
	}
	return s.canonical(path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
