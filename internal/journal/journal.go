package journal

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
)

// ErrClosed is the error of using a closed journal.
var ErrClosed = errors.New("journal is closed")

// Options say how a journal behaves. The zero value will do.
type Options struct {
	// OnDurable is called with the highest position on disk after every write.
	OnDurable func(pos uint64)
	// OnError is called when a write or a Rewrite fails.
	OnError func(err error)
	// Logger gets what Open repaired. Nil discards it.
	Logger *slog.Logger
	// Fail is called before each step on the disk, named as the constants
	// beginning with Step, and makes it fail by returning an error. It is for tests.
	Fail func(step string) error
}

// The steps that Options.Fail is asked about.
const (
	StepWrite    = "write"
	StepSync     = "sync"
	StepSyncDir  = "sync-dir"
	StepTruncate = "truncate"
	StepCreate   = "rewrite-create"
	StepRename   = "rewrite-rename"
	StepAside    = "aside"
)

// Journal is an open log. Its methods may be called from any goroutine.
type Journal struct {
	path    string
	options Options
	kick    chan struct{} // capacity 1: there may be something to write
	done    chan struct{} // closed when the writing goroutine has ended

	// Used by the writing goroutine only.
	file      *os.File
	end       int64 // where the next record goes: everything before it is whole
	dirSynced bool  // the file's entry in its folder is on disk

	mu       sync.Mutex // guards the fields that follow
	queue    []entry    // appended, not yet durable
	appended uint64     // position of the last call of Append or Rewrite
	durable  uint64     // position up to which everything is on disk
	size     int64      // bytes on disk and in queue
	attempts uint64     // writes that have ended, well or badly
	covered  uint64     // highest position that the last failed attempt included
	err      error      // of the last attempt; nil when it went well
	changed  chan struct{}
	closed   bool
}

// entry is one step of the log: a record, or the replacement of all before it.
type entry struct {
	pos     uint64
	record  Record
	rewrite []Record // not nil for a replacement
	done    bool     // in the file already; only the position is to be made durable
}

// Append adds records to the end of the log and returns the position of the
// last of them, for Wait. It does not wait for the disk. The data must not be
// modified until the position is durable.
func (j *Journal) Append(records ...Record) (pos uint64) {
	j.mu.Lock()
	for _, r := range records {
		j.appended++
		j.queue = append(j.queue, entry{pos: j.appended, record: r})
		j.size += r.size()
	}
	pos = j.appended
	j.mu.Unlock()
	j.wake()
	return pos
}

// Rewrite replaces everything appended before it by records, which must mean
// the same. It does not wait for the disk; the position it returns is durable
// when everything before it is, in the one form or the other.
func (j *Journal) Rewrite(records []Record) (pos uint64) {
	if records == nil {
		records = []Record{}
	}
	j.mu.Lock()
	j.appended++
	pos = j.appended
	j.queue = append(j.queue, entry{pos: pos, rewrite: records})
	j.mu.Unlock()
	j.wake()
	return pos
}

func (j *Journal) wake() {
	select {
	case j.kick <- struct{}{}:
	default:
	}
}

// Wait returns nil when everything up to pos is on disk, and the error when an
// attempt to write it has failed. After an error the records are still queued,
// and Wait may be called again to make another attempt.
func (j *Journal) Wait(ctx context.Context, pos uint64) error {
	j.mu.Lock()
	seen := j.attempts
	retry := j.err != nil && j.durable < pos
	j.mu.Unlock()
	if retry {
		j.wake()
	}
	for {
		j.mu.Lock()
		durable, err, changed := j.durable >= pos, j.err, j.changed
		failed := err != nil && j.attempts > seen && j.covered >= pos
		j.mu.Unlock()
		switch {
		case durable:
			return nil
		case failed:
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-j.done:
			return j.ended(pos)
		}
	}
}

// ended says how a wait ends when the writing goroutine has.
func (j *Journal) ended(pos uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.durable >= pos {
		return nil
	}
	return errors.Join(ErrClosed, j.err)
}

// Durable returns the position up to which everything is on disk.
func (j *Journal) Durable() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.durable
}

// Err returns the error of the last attempt to write, or nil when it went well.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Size returns the number of bytes of the log, queued ones included.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Close writes what is queued, ends the writing goroutine and closes the file.
// It returns the error when something could not be written. Calling it again
// returns the same.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.wake()
	<-j.done
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}
