package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// LogFile is a log of bounded size: when a write would make the file larger than
// the limit, the file becomes path.1 (replacing an older one) and a new one begins.
// It is safe for concurrent use; each Write stays whole.
type LogFile struct {
	path  string
	limit int64

	mu   sync.Mutex // guards what follows, and serialises writes: a log's order is its purpose
	f    *os.File
	size int64
}

// OpenLogFile opens the log at path for appending, making its folder if need be.
// It keeps at most twice limit bytes, in two files.
func OpenLogFile(path string, limit int64) (*LogFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make log folder: %w", err)
	}
	l := &LogFile{path: path, limit: limit}
	if err := l.openLocked(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return l, nil
}

func (l *LogFile) openLocked() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.f, l.size = f, st.Size()
	return nil
}

// Path returns where the log is.
func (l *LogFile) Path() string { return l.path }

// File returns the file now open, for a crash report of the runtime.
func (l *LogFile) File() *os.File {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f
}

// Write appends p, beginning a new file first when p does not fit.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, os.ErrClosed
	}
	if l.size > 0 && l.size+int64(len(p)) > l.limit {
		if err := l.rotateLocked(); err != nil {
			return 0, fmt.Errorf("rotate log: %w", err)
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *LogFile) rotateLocked() error {
	if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	old := l.f
	if err := l.openLocked(); err != nil {
		return err
	}
	return old.Close()
}

// Close closes the file. Later writes fail.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}

// PruneLogs removes the files in dir whose names begin with prefix and which
// nobody has written since before. It returns the number removed.
func PruneLogs(dir, prefix string, before time.Time) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	removed := 0
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), prefix) || !info.ModTime().Before(before) {
			continue
		}
		if os.Remove(filepath.Join(dir, e.Name())) == nil {
			removed++
		}
	}
	return removed
}
