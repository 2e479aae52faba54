package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Reasons why a Conn is closed, as Err returns them.
var (
	ErrSlowPeer = errors.New("wire: peer reads too slowly")
	ErrClosed   = errors.New("wire: connection closed")
)

// Defaults of ConnOptions.
const (
	DefaultQueueFrames  = 1024
	DefaultQueueBytes   = 128 * mib
	DefaultWriteTimeout = 30 * time.Second
)

const (
	// droppableShare is the part of a lane, one in so many, that may be filled
	// before droppable frames are dropped.
	droppableShare = 4
	// writeStep is how much is written under one deadline.
	writeStep = mib
	// coalesce is the size up to which frames are put into one write.
	coalesce = 64 * kib
)

// ConnOptions sets the limits of a Conn. The zero value means the defaults.
type ConnOptions struct {
	Logger       *slog.Logger  // nil: none
	QueueFrames  int           // frames that may wait for a slow peer
	QueueBytes   int           // bytes that may wait; a single frame always may
	WriteTimeout time.Duration // how long a peer may take nothing
}

// Conn is the socket of one peer, on either side. See the package comment for
// ordering, blocking, ownership and shutdown.
type Conn struct {
	nc      net.Conn
	reader  *Reader
	log     *slog.Logger
	frames  int
	bytes   int
	timeout time.Duration

	wake chan struct{} // of capacity 1: something is queued, or flushing began
	quit chan struct{} // closed with the first error
	done chan struct{} // closed when the writer is gone and the socket closed

	mu       sync.Mutex // guards the fields that follow; held for no IO
	queue    []message
	queued   int   // bytes in queue and in the batch that is being written
	waiting  int   // messages in queue and in that batch
	flushing bool  // no more sends; close when the queue is empty
	flushed  bool  // all was written before the connection closed
	err      error // why the connection ended
	closeErr error // of closing the socket
}

type message struct {
	head [5]byte
	n    int // bytes of head in use
	body []byte
}

func (m message) size() int { return m.n + len(m.body) }

// NewConn takes over nc and starts the goroutine that writes to it. The caller
// must call Close or CloseAfterFlush in the end.
func NewConn(nc net.Conn, o ConnOptions) *Conn {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.QueueFrames <= 0 {
		o.QueueFrames = DefaultQueueFrames
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = DefaultQueueBytes
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	c := &Conn{
		nc: nc, reader: NewReader(nc), log: o.Logger,
		frames: o.QueueFrames, bytes: o.QueueBytes, timeout: o.WriteTimeout,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go c.write()
	return c
}

// Reader returns the reader of the connection, always the same one. It is for
// one goroutine of the caller's.
func (c *Conn) Reader() *Reader { return c.reader }

// Send queues a typed frame and returns at once. The body must not be changed
// afterwards. An error other than a *LimitError means the connection is over.
func (c *Conn) Send(t FrameType, body []byte) error {
	if err := checkSize(t, len(body)); err != nil {
		return err
	}
	return c.push(frameMessage(t, body))
}

// SendUntyped queues a message without a type, like Send.
func (c *Conn) SendUntyped(body []byte) error {
	if err := checkUntyped(body); err != nil {
		return err
	}
	m := message{n: 4, body: body}
	binary.BigEndian.PutUint32(m.head[:], uint32(len(body)))
	return c.push(m)
}

// SendRaw queues bytes as they are, such as the Preamble, like Send.
func (c *Conn) SendRaw(b []byte) error { return c.push(message{body: b}) }

// SendDroppable queues a frame that the peer can do without, and says whether
// it did: not when a quarter of the lane is full or the connection is over.
func (c *Conn) SendDroppable(t FrameType, body []byte) bool {
	if checkSize(t, len(body)) != nil {
		return false
	}
	m := frameMessage(t, body)
	c.mu.Lock()
	ok := c.err == nil && !c.flushing &&
		c.waiting < c.frames/droppableShare && c.queued+m.size() <= c.bytes/droppableShare
	if ok {
		c.addLocked(m)
	}
	c.mu.Unlock()
	if ok {
		c.signal()
	}
	return ok
}

func frameMessage(t FrameType, body []byte) message {
	m := message{n: 5, body: body}
	binary.BigEndian.PutUint32(m.head[:], uint32(len(body)+1))
	m.head[4] = byte(t)
	return m
}

func (c *Conn) push(m message) error {
	c.mu.Lock()
	var err error
	switch {
	case c.err != nil:
		err = c.err
	case c.flushing:
		err = ErrClosed
	case c.waiting > 0 && (c.waiting >= c.frames || c.queued+m.size() > c.bytes):
		err = ErrSlowPeer
	default:
		c.addLocked(m)
	}
	frames, bytes := c.waiting, c.queued
	c.mu.Unlock()
	switch err {
	case nil:
		c.signal()
	case ErrSlowPeer:
		if c.fail(err) {
			c.log.Warn("peer dropped: it reads too slowly", "frames", frames, "bytes", bytes)
		}
	}
	return err
}

func (c *Conn) addLocked(m message) {
	c.queue = append(c.queue, m)
	c.queued += m.size()
	c.waiting++
}

func (c *Conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// fail ends the connection for the reason err, and says whether it was the
// first to do so. It does not wait. The deadline in the past ends reads and
// writes that are blocked; it is set after quit is closed, see writeAll.
func (c *Conn) fail(err error) bool {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
		close(c.quit)
	}
	c.mu.Unlock()
	if first {
		// An error here means that the socket is closed already.
		_ = c.nc.SetDeadline(time.Unix(1, 0))
	}
	return first
}

// Close ends the connection without sending what is queued, and waits until
// its goroutine is gone.
func (c *Conn) Close() error {
	c.fail(ErrClosed)
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closeErr
}

// CloseAfterFlush refuses further sends, waits until what is queued has been
// written or ctx is over, and closes the connection. It returns nil when all
// was written.
func (c *Conn) CloseAfterFlush(ctx context.Context) error {
	c.mu.Lock()
	c.flushing = true
	c.mu.Unlock()
	c.signal()
	select {
	case <-c.done:
	case <-ctx.Done():
		c.fail(fmt.Errorf("flush connection: %w", context.Cause(ctx)))
		<-c.done
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushed {
		return nil
	}
	return c.err
}

// Done is closed when the connection is over and its goroutine gone.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection ended: ErrClosed when somebody here closed it,
// ErrSlowPeer, or the error of a write. It is nil while the connection stands.
// That the peer closed its end is for the reader to find out.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Queued returns how many frames and bytes wait to be written.
func (c *Conn) Queued() (frames, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting, c.queued
}

// write is the goroutine of the connection.
func (c *Conn) write() {
	defer close(c.done)
	var scratch []byte
	for {
		batch, over := c.take()
		if over {
			break
		}
		if len(batch) == 0 {
			select {
			case <-c.wake:
			case <-c.quit:
			}
			continue
		}
		var err error
		if scratch, err = c.writeBatch(scratch, batch); err != nil {
			c.fail(fmt.Errorf("write frame: %w", err))
			break
		}
		if cap(scratch) > 4*kib {
			scratch = nil
		}
	}
	c.fail(ErrClosed)
	err := c.nc.Close()
	c.mu.Lock()
	c.queue, c.queued, c.waiting = nil, 0, 0
	c.closeErr = err
	c.mu.Unlock()
}

// take returns what is queued. over means that the connection is to be closed.
func (c *Conn) take() (batch []message, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, true
	}
	batch, c.queue = c.queue, nil
	c.flushed = len(batch) == 0 && c.flushing
	return batch, c.flushed
}

// writeBatch writes messages in order, small ones together, and returns the
// scratch space for the next batch.
func (c *Conn) writeBatch(scratch []byte, batch []message) ([]byte, error) {
	scratch = scratch[:0]
	pending, pendingSize := 0, 0
	flush := func() error {
		err := c.writeAll(scratch)
		scratch = scratch[:0]
		c.written(pending, pendingSize)
		pending, pendingSize = 0, 0
		return err
	}
	for _, m := range batch {
		if len(scratch) > 0 && len(scratch)+m.size() > coalesce {
			if err := flush(); err != nil {
				return scratch, err
			}
		}
		scratch = append(scratch, m.head[:m.n]...)
		pending, pendingSize = pending+1, pendingSize+m.size()
		if m.size() <= coalesce {
			scratch = append(scratch, m.body...)
			continue
		}
		err := c.writeAll(scratch)
		scratch = scratch[:0]
		if err == nil {
			err = c.writeAll(m.body)
		}
		c.written(pending, pendingSize)
		pending, pendingSize = 0, 0
		if err != nil {
			return scratch, err
		}
	}
	return scratch, flush()
}

func (c *Conn) written(frames, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting -= frames
	c.queued -= bytes
}

// writeAll writes b in steps with a deadline each. quit is looked at after the
// deadline is set: either fail closes quit before, and the write is left out,
// or fail sets its own deadline after this one, and the write ends by it.
func (c *Conn) writeAll(b []byte) error {
	for len(b) > 0 {
		if err := c.nc.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return err
		}
		select {
		case <-c.quit:
			return ErrClosed
		default:
		}
		n, err := c.nc.Write(b[:min(len(b), writeStep)])
		b = b[n:]
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return ErrSlowPeer
		}
		if err != nil {
			return err
		}
	}
	return nil
}
