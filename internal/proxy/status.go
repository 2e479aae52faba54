package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"runt/internal/proxy/core"
)

// Report is the content of a status file: who writes it, and a Status.
type Report struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"`
	LogPath   string    `json:"log"`
	core.Status
}

// StatusFile keeps the status of this proxy in a file of its own. It owns a
// goroutine that writes; Close ends it and removes the file.
type StatusFile struct {
	path   string
	lock   *os.File
	base   Report
	log    *slog.Logger
	latest chan core.Status // capacity 1: only the newest counts
	done   chan struct{}
}

// OpenStatus begins the status file of this process under dir.
func OpenStatus(dir, version, logPath string, log *slog.Logger) (*StatusFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make status folder: %w", err)
	}
	pid := os.Getpid()
	path := filepath.Join(dir, strconv.Itoa(pid))
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make status lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock status: %w", err), lock.Close())
	}
	s := &StatusFile{
		path: path + ".json", lock: lock, log: log, latest: make(chan core.Status, 1), done: make(chan struct{}),
		base: Report{PID: pid, Version: version, StartedAt: time.Now(), LogPath: logPath},
	}
	go s.run()
	return s, nil
}

// Put says what to write. It never waits; of several in a row the last is
// written. It must not be called by two goroutines at once, nor after Close.
func (s *StatusFile) Put(st core.Status) {
	select {
	case <-s.latest:
	default:
	}
	s.latest <- st
}

// Close writes nothing more and removes the file.
func (s *StatusFile) Close() error {
	close(s.latest)
	<-s.done
	err := os.Remove(s.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(s.lock.Name()), s.lock.Close())
}

func (s *StatusFile) run() {
	defer close(s.done)
	for st := range s.latest {
		if err := s.write(st); err != nil {
			s.log.Warn("status cannot be written", "err", err)
		}
	}
}

func (s *StatusFile) write(st core.Status) error {
	r := s.base
	r.UpdatedAt, r.Status = time.Now(), st
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	if err := os.WriteFile(s.path+".new", append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if err := os.Rename(s.path+".new", s.path); err != nil {
		return fmt.Errorf("replace status: %w", err)
	}
	return nil
}

// Reports returns what the running proxies say under dir, by their pids. What a
// proxy that is gone has left there is removed.
func Reports(dir string) ([]Report, error) {
	locks, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil {
		return nil, fmt.Errorf("list status folder: %w", err)
	}
	var reports []Report
	for _, lock := range locks {
		path := strings.TrimSuffix(lock, ".lock") + ".json"
		if !held(lock) {
			_ = os.Remove(path) // whether it was there or not
			_ = os.Remove(lock)
			continue
		}
		var r Report
		if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &r) == nil {
			reports = append(reports, r)
		}
	}
	slices.SortFunc(reports, func(a, b Report) int { return a.PID - b.PID })
	return reports, nil
}

// held says whether the writer of a status file lives.
func held(lock string) bool {
	f, err := os.OpenFile(lock, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
