package spool

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// The sizes that apply when Options leaves them zero.
const (
	DefaultSegmentSize = 8 << 20
	DefaultMemory      = 4 << 20
)

// Options sets sizes in bytes; zero values mean the defaults.
type Options struct {
	SegmentSize int64 // a segment that has reached it is closed and the next begun
	Memory      int   // how much of the end is also kept in memory
}

type record struct {
	seq    uint64
	data   []byte
	onDisk bool
}

// Spool is the writing end. Make one with Open.
type Spool struct {
	dir  string
	o    Options
	file *os.File // the segment being written; used by the appending goroutine only
	size int64    // of file, up to the last whole record; used by the appending goroutine only

	mu       sync.Mutex // guards the fields that follow
	segments []uint64   // first numbers; the last one is being written
	tail     []record   // the end of the spool, in order
	tailSize int
	last     uint64 // number of the last record
	acked    uint64
	sizes    []int64       // of segments, in step with them
	changed  chan struct{} // closed and replaced when a record is appended
	closed   bool
}

// Open makes an empty spool in dir, a folder that does not exist or is empty.
func Open(dir string, o Options) (*Spool, error) {
	if o.SegmentSize == 0 {
		o.SegmentSize = DefaultSegmentSize
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make spool: %w", err)
	}
	if old, err := segmentsIn(dir); err != nil || len(old) > 0 {
		return nil, fmt.Errorf("spool %s has %d segments of another writer: %w", dir, len(old), errors.Join(os.ErrExist, err))
	}
	return &Spool{dir: dir, o: o, changed: make(chan struct{})}, nil
}

// Append stores data under the next number, which must be seq. The record can be read at
// once, also when the error says that it could not be written to disk: then it is kept in memory.
func (s *Spool) Append(seq uint64, data []byte) error {
	err := s.AppendQuietly(seq, data)
	s.Wake()
	return err
}

// Wake tells waiting readers that something was appended.
func (s *Spool) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// AppendQuietly is Append for a record that readers need not have before the next one, or the next Wake.
func (s *Spool) AppendQuietly(seq uint64, data []byte) error {
	err := s.write(seq, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = seq
	s.tail = append(s.tail, record{seq, data, err == nil})
	s.tailSize += len(data)
	if err == nil {
		s.sizes[len(s.sizes)-1] = s.size
	}
	s.trimLocked()
	return err
}

// trimLocked takes out of memory what is acknowledged, and what is too much and on disk.
func (s *Spool) trimLocked() {
	n := 0
	for n < len(s.tail) {
		r := s.tail[n]
		tooMuch := s.tailSize > s.o.Memory && r.onDisk && n < len(s.tail)-1
		if r.seq > s.acked && !tooMuch {
			break
		}
		s.tailSize -= len(r.data)
		s.tail[n] = record{}
		n++
	}
	s.tail = s.tail[n:]
}

// write puts the record into the current segment. Part of a record that could not be written is cut off again.
func (s *Spool) write(seq uint64, data []byte) error {
	if s.file == nil || s.size >= s.o.SegmentSize {
		if err := s.rotate(seq); err != nil {
			return err
		}
	}
	buf := recordHead(seq, data)
	var err error
	if len(data) <= 64<<10 {
		_, err = s.file.Write(append(buf, data...))
	} else if _, err = s.file.Write(buf); err == nil {
		_, err = s.file.Write(data)
	}
	if err == nil {
		s.size += int64(headSize + len(data))
		return nil
	}
	err = fmt.Errorf("write spool: %w", err)
	if e := errors.Join(s.file.Truncate(s.size), seekTo(s.file, s.size)); e != nil {
		err = errors.Join(err, e, s.closeFile()) // what is torn stays the last of its segment
	}
	return err
}

func seekTo(f *os.File, at int64) error {
	_, err := f.Seek(at, 0)
	return err
}

func (s *Spool) rotate(first uint64) error {
	if err := s.closeFile(); err != nil {
		return err
	}
	f, err := os.OpenFile(segmentPath(s.dir, first), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make segment: %w", err)
	}
	s.file, s.size = f, 0
	s.mu.Lock()
	s.segments, s.sizes = append(s.segments, first), append(s.sizes, 0)
	gone := s.forgetLocked()
	s.mu.Unlock()
	return s.remove(gone)
}

func (s *Spool) closeFile() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// forgetLocked takes the segments that are acknowledged whole out of the list and returns them.
func (s *Spool) forgetLocked() []uint64 {
	n := 0
	for n+1 < len(s.segments) && s.segments[n+1] <= s.acked+1 {
		n++
	}
	gone := slices.Clone(s.segments[:n])
	s.segments, s.sizes = s.segments[n:], s.sizes[n:]
	return gone
}

func (s *Spool) remove(gone []uint64) error {
	var errs []error
	for _, first := range gone {
		errs = append(errs, os.Remove(segmentPath(s.dir, first)))
	}
	return errors.Join(errs...)
}

// Ack says that no reader needs records up to number n any more. Segments with nothing else are removed.
func (s *Spool) Ack(n uint64) error {
	s.mu.Lock()
	s.acked = max(s.acked, min(n, s.last))
	s.trimLocked()
	gone := s.forgetLocked()
	s.mu.Unlock()
	return s.remove(gone)
}

// Acked returns the number up to which records are acknowledged.
func (s *Spool) Acked() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

// Last returns the number of the last record, 0 when there is none.
func (s *Spool) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Backlog returns about how many bytes the spool holds.
func (s *Spool) Backlog() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var n int64
	for _, x := range s.sizes {
		n += x
	}
	return n
}

// Close closes the file and ends every reader. What was written stays.
func (s *Spool) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.mu.Unlock()
	return s.closeFile()
}
