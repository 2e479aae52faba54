package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Collected says what Collect removed.
type Collected struct {
	Blobs int
	Bytes int64
}

// Collect removes the blobs that are older than olderThan and for which keep
// says no, and what crashes left behind. It goes on after a blob that cannot
// be removed, and stops when ctx is over.
func (s *Store) Collect(ctx context.Context, keep func(hash string) bool, olderThan time.Duration) (Collected, error) {
	var sum Collected
	errs := []error{s.removeTemps()}
	shards, err := os.ReadDir(s.root)
	errs = append(errs, err)
	limit := s.now().Add(-olderThan)
	for _, shard := range shards {
		if !shard.IsDir() || len(shard.Name()) != 2 {
			continue
		}
		files, err := os.ReadDir(filepath.Join(s.root, shard.Name()))
		errs = append(errs, err)
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				return sum, fmt.Errorf("collect blobs: %w", err)
			}
			hash := shard.Name() + strings.TrimSuffix(f.Name(), metaSuffix)
			if !ValidHash(hash) {
				continue
			}
			isMeta := strings.HasSuffix(f.Name(), metaSuffix)
			if isMeta && hasBytes(files, f.Name()) {
				continue // goes with its blob
			}
			n, removed, err := s.removeIfOld(hash, isMeta, limit, keep)
			errs = append(errs, err)
			if removed {
				sum.Blobs++
				sum.Bytes += n
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return sum, fmt.Errorf("collect blobs: %w", err)
	}
	return sum, nil
}

// hasBytes says whether the blob of a meta file is among the files of its
// folder, which are in the order of their names.
func hasBytes(files []fs.DirEntry, metaName string) bool {
	_, ok := slices.BinarySearchFunc(files, strings.TrimSuffix(metaName, metaSuffix), func(f fs.DirEntry, name string) int {
		return strings.Compare(f.Name(), name)
	})
	return ok
}

// removeIfOld removes a blob, or meta data without a blob. The age is looked
// at with the hash locked, so that a blob put again meanwhile is seen as young.
func (s *Store) removeIfOld(hash string, onlyMeta bool, limit time.Time, keep func(string) bool) (size int64, removed bool, err error) {
	if !onlyMeta && keep(hash) {
		return 0, false, nil
	}
	unlock := s.locks.lock(hash)
	defer unlock()
	path := s.path(hash)
	name := path
	if onlyMeta {
		if _, err := os.Lstat(path); err == nil {
			return 0, false, nil
		}
		name += metaSuffix
	}
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(limit) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if err := os.Remove(name); err != nil {
		return 0, false, err
	}
	if onlyMeta {
		return 0, false, nil
	}
	if err := os.Remove(path + metaSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info.Size(), true, err
	}
	return info.Size(), true, nil
}

// removeTemps removes temporary files that no running Put can own.
func (s *Store) removeTemps() error {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		info, err := e.Info()
		if err != nil || s.now().Sub(info.ModTime()) < tempAge {
			continue
		}
		if err := os.Remove(filepath.Join(s.root, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
