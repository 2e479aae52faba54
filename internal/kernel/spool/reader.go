package spool

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
)

// Reader reads records in order, waiting for those that are not written yet.
// It belongs to one goroutine.
type Reader struct {
	s    *Spool
	next uint64 // the number it wants
	file *os.File
	r    *bufio.Reader
	seg  uint64 // first number of the segment in file
}

// ReadAfter returns a reader of the records after number n, or from the first that is still there.
func (s *Spool) ReadAfter(n uint64) *Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Reader{s: s, next: max(n, s.acked) + 1}
}

// Next returns the next record, waiting for it if need be. It returns io.EOF
// when the spool is closed and everything was read.
func (r *Reader) Next(ctx context.Context) (uint64, []byte, error) {
	for {
		seq, data, ok, wait, err := r.Poll()
		if err != nil || ok {
			return seq, data, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}
}

// Poll returns the next record, or, when it is not there yet, a channel that is
// closed at the next append. It returns io.EOF like Next.
func (r *Reader) Poll() (seq uint64, data []byte, ok bool, wait <-chan struct{}, err error) {
	for try := 0; ; try++ {
		rec, segment, wait, err := r.locate()
		switch {
		case err != nil || wait != nil:
			return 0, nil, false, wait, err
		case rec.seq != 0:
			r.closeFile()
			r.next = rec.seq + 1
			return rec.seq, rec.data, true, nil, nil
		}
		seq, data, err = r.fromDisk(segment)
		if err == nil {
			r.next = seq + 1
			return seq, data, true, nil, nil
		}
		r.closeFile() // the segment was removed by an Ack, or written anew after a failed write
		if try > 0 {
			return 0, nil, false, nil, err
		}
	}
}

// locate returns the wanted record when it is in memory, or the segment that has it, or what to wait for.
func (r *Reader) locate() (rec record, segment uint64, wait <-chan struct{}, err error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.next = max(r.next, r.s.acked+1)
	if r.next > r.s.last {
		if r.s.closed {
			return rec, 0, nil, io.EOF
		}
		return rec, 0, r.s.changed, nil
	}
	if tail := r.s.tail; len(tail) > 0 && r.next >= tail[0].seq {
		return tail[r.next-tail[0].seq], 0, nil, nil
	}
	for i, first := range r.s.segments {
		if first <= r.next || i == 0 {
			segment = first
		}
	}
	return rec, segment, nil, nil
}

// fromDisk reads the record with the wanted number from its segment.
func (r *Reader) fromDisk(segment uint64) (uint64, []byte, error) {
	if r.file == nil || r.seg != segment {
		r.closeFile()
		f, err := os.Open(segmentPath(r.s.dir, segment))
		if err != nil {
			return 0, nil, fmt.Errorf("open segment: %w", err)
		}
		r.file, r.r, r.seg = f, bufio.NewReaderSize(f, 256<<10), segment
	}
	for {
		seq, data, err := readRecord(r.r)
		if err != nil {
			return 0, nil, fmt.Errorf("read record %d of segment %d: %w", r.next, segment, err)
		}
		if seq >= r.next {
			return seq, data, nil
		}
	}
}

func (r *Reader) closeFile() {
	if r.file != nil {
		_ = r.file.Close() // opened for reading
		r.file, r.r = nil, nil
	}
}

// Close lets go of the file.
func (r *Reader) Close() { r.closeFile() }
