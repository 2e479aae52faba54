package env

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

func readJSON(file string, v any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read record %s: %w", file, err)
	}
	return nil
}

// writeJSON replaces the file by rename, so that readers see the old text or the new one.
func writeJSON(file string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone after the rename
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// lock takes the OS lock on a file and returns the function that gives it back.
// Holders in other processes count, and a holder that dies lets go. wait is
// called once when somebody else has it.
func lock(ctx context.Context, file string, wait func()) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	tick := time.NewTicker(lockRetry)
	defer tick.Stop()
	for first := true; ; first = false {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil //nolint:errcheck // closing gives the lock back
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			f.Close() //nolint:errcheck // nothing was written
			return nil, fmt.Errorf("lock %s: %w", file, err)
		}
		if first && wait != nil {
			wait()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			f.Close() //nolint:errcheck // nothing was written
			return nil, fmt.Errorf("lock %s: %w", file, context.Cause(ctx))
		}
	}
}
