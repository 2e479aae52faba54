package rpcline

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is forwarded.
const MaxLine = 64 << 20

// ErrTooLong is returned by Reader.Next for a line above the limit. The line has
// been skipped; the next call returns the one after it.
var ErrTooLong = errors.New("the line is too long")

// Reader cuts a stream into lines. It is not safe for concurrent use.
type Reader struct {
	r     *bufio.Reader
	limit int
	err   error // what the stream said, once its last line has been given out
}

// NewReader returns a Reader of r that refuses lines longer than limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Next returns the next line that is not blank, without its newline, in memory
// of its own. A last line without a newline counts. The error is ErrTooLong, or
// what the stream said, io.EOF at its end.
func (r *Reader) Next() ([]byte, error) {
	for r.err == nil {
		line, err := r.line()
		if errors.Is(err, ErrTooLong) {
			return nil, err
		}
		r.err = err
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
	return nil, r.err
}

func (r *Reader) line() ([]byte, error) {
	var line []byte
	size := 0
	for {
		part, err := r.r.ReadSlice('\n')
		size += len(part)
		if size <= r.limit+1 {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if size > r.limit+1 || len(line) > r.limit {
			r.err = err
			return nil, fmt.Errorf("a line of %d bytes, the limit is %d: %w", size, r.limit, ErrTooLong)
		}
		return line[:len(line):len(line)], err
	}
}
