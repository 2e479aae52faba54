package supervise

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// errChanging: the file was written or replaced while it was hashed.
var errChanging = errors.New("the file changed while it was read")

// Fingerprints computes the SHA-256 of program files and remembers it for as
// long as size, times and inode stay the same. It is safe for concurrent use.
// The zero value is ready.
type Fingerprints struct {
	mu   sync.Mutex // guards seen
	seen map[string]fingerprint
}

type fingerprint struct {
	stat fileStat
	sum  string
}

// fileStat is what changes when a file is written or replaced.
type fileStat struct {
	dev, ino uint64
	size     int64
	modified time.Time
}

// Sum returns the SHA-256 of the file at path in hex. A file that changed while
// it was read is an error.
func (p *Fingerprints) Sum(path string) (string, error) {
	before, err := statOf(path)
	if err != nil {
		return "", fmt.Errorf("look at program: %w", err)
	}
	if sum, ok := p.known(path, before); ok {
		return sum, nil
	}
	sum, err := hashFile(path)
	if err != nil {
		return "", fmt.Errorf("hash program: %w", err)
	}
	after, err := statOf(path)
	if err != nil || after != before {
		return "", fmt.Errorf("hash program %s: %w", path, errChanging)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]fingerprint{}
	}
	p.seen[path] = fingerprint{before, sum}
	return sum, nil
}

func (p *Fingerprints) known(path string, st fileStat) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.seen[path]
	return f.sum, ok && f.stat == st
}

func statOf(path string) (fileStat, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileStat{}, err
	}
	if !info.Mode().IsRegular() {
		return fileStat{}, fmt.Errorf("%s is not a file", path)
	}
	st := fileStat{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		st.dev, st.ino = uint64(sys.Dev), sys.Ino
	}
	return st, nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// IsProgram says whether path is a file that may be executed.
func IsProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 && info.Size() > 0
}

// realFolders returns the folder of path and, when path is a symlink, the folder of what it points at.
func realFolders(path string) []string {
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}
