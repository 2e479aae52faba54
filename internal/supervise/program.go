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

// ErrChanged says that a file was written or replaced since it was looked at.
var ErrChanged = errors.New("the file has changed meanwhile")

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

// Sighting is a file as it was at some moment.
type Sighting struct {
	path string
	stat fileStat
}

// Sight notes what is at path now, and returns its SHA-256 if that is known already.
func (p *Fingerprints) Sight(path string) (s Sighting, sum string, err error) {
	st, err := statOf(path)
	if err != nil {
		return Sighting{}, "", fmt.Errorf("look at program: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.seen[path]; f.stat == st {
		sum = f.sum
	}
	return Sighting{path, st}, sum, nil
}

// SumOf returns the SHA-256, in hex, of a sighted file. It is ErrChanged when
// another file is there now, or this one was written to.
func (p *Fingerprints) SumOf(s Sighting) (string, error) {
	sum, err := hashFile(s.path)
	if err != nil {
		return "", fmt.Errorf("hash program: %w", err)
	}
	if now, err := statOf(s.path); err != nil || now != s.stat {
		return "", fmt.Errorf("hash program %s: %w", s.path, ErrChanged)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]fingerprint{}
	}
	p.seen[s.path] = fingerprint{s.stat, sum}
	return sum, nil
}

// Sum returns the SHA-256 of the file that is now at path, in hex.
func (p *Fingerprints) Sum(path string) (string, error) {
	s, sum, err := p.Sight(path)
	if err != nil || sum != "" {
		return sum, err
	}
	return p.SumOf(s)
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
