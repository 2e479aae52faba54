package rpcline

import (
	"errors"
	"io"
	"sync"
	"time"
)

// batchBytes is how much of small lines is gathered into one write.
const batchBytes = 64 << 10

// ErrClosed is returned by Send after Close, or after a write has failed.
var ErrClosed = errors.New("the writer is closed")

// Writer writes lines to a stream from a goroutine of its own.
type Writer struct {
	w       io.Writer
	onError func(error)
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex // guards what follows
	wake   *sync.Cond // something changed
	queue  [][]byte
	bytes  int // in queue and in the write under way
	closed bool
	free   bool // WaitBelow does not wait
	err    error
}

// NewWriter starts a Writer on w. onError, if set, is called once, from the
// writer's goroutine, when a write fails.
func NewWriter(w io.Writer, onError func(error)) *Writer {
	wr := &Writer{w: w, onError: onError, done: make(chan struct{})}
	wr.wake = sync.NewCond(&wr.mu)
	go wr.run()
	return wr
}

// Send queues a line (without its newline). It never waits.
func (w *Writer) Send(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.err != nil {
		return ErrClosed
	}
	w.queue = append(w.queue, line)
	w.bytes += len(line)
	w.wake.Broadcast()
	return nil
}

// Queued returns how many bytes are waiting to be written.
func (w *Writer) Queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// WaitBelow waits until fewer than limit bytes are queued, or the writer is
// closed, broken or unbound.
func (w *Writer) WaitBelow(limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.bytes >= limit && !w.closed && !w.free && w.err == nil {
		w.wake.Wait()
	}
}

// Unbound lets WaitBelow wait no more: at the end nobody may be held up by a slow reader.
func (w *Writer) Unbound() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free = true
	w.wake.Broadcast()
}

// Close refuses further lines and waits up to limit until what is queued has
// been written. It returns whether that was reached; if not, the caller must
// close the stream to free the goroutine.
func (w *Writer) Close(limit time.Duration) bool {
	w.mu.Lock()
	w.closed = true
	w.wake.Broadcast()
	w.mu.Unlock()
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-w.done:
		return true
	case <-t.C:
		return false
	}
}

// Done is closed when the writer's goroutine has ended.
func (w *Writer) Done() <-chan struct{} { return w.done }

func (w *Writer) run() {
	defer close(w.done)
	var buf []byte
	for {
		lines, ok := w.next()
		if !ok {
			return
		}
		size := 0
		for _, l := range lines {
			size += len(l)
		}
		var err error
		buf, err = w.write(buf, lines)
		w.wrote(size, err)
		if err != nil {
			if w.onError != nil {
				w.onError(err)
			}
			return
		}
	}
}

// next waits for lines. It returns false when there will be no more.
func (w *Writer) next() ([][]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 {
		if w.closed {
			return nil, false
		}
		w.wake.Wait()
	}
	lines := w.queue
	w.queue = nil
	return lines, true
}

func (w *Writer) wrote(size int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes -= size
	if err != nil {
		w.err, w.queue, w.bytes = err, nil, 0
	}
	w.wake.Broadcast()
}

// write puts lines and newlines out, small ones together. It returns buf for reuse.
func (w *Writer) write(buf []byte, lines [][]byte) ([]byte, error) {
	buf = buf[:0]
	for _, l := range lines {
		if len(buf) > 0 && len(buf)+len(l) > batchBytes {
			if _, err := w.w.Write(buf); err != nil {
				return buf, err
			}
			buf = buf[:0]
		}
		if len(l) > batchBytes {
			if _, err := w.w.Write(l); err != nil {
				return buf, err
			}
			l = nil
		}
		buf = append(append(buf, l...), '\n')
	}
	_, err := w.w.Write(buf)
	return buf, err
}
