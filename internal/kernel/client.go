package kernel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"runt/internal/domain"
	"runt/internal/kernel/link"
	"runt/internal/kernel/mailbox"
	"runt/internal/kernel/spool"
)

const (
	dialLimit  = 10 * time.Second
	writeLimit = 30 * time.Second
	redials    = 5 // after a lost connection to a host that still runs
	redialWait = 50 * time.Millisecond
)

// ErrClosed is returned by every method of a Host that was closed or whose host is gone.
var ErrClosed = errors.New("kernel host is not connected")

// Host is the daemon's end of one kernel host. Its methods may be called by
// several goroutines at once.
type Host struct {
	dir    string
	log    *slog.Logger
	events chan Event
	inbox  *mailbox.Box[Event]
	ctx    context.Context // of its goroutines
	stop   context.CancelFunc
	wg     sync.WaitGroup
	ended  chan struct{} // closed when no event will be added to inbox any more
	wake   chan struct{} // holds a token when there is something to write

	mu      sync.Mutex // guards the fields that follow
	conn    net.Conn   // nil while there is none
	orders  []order    // to be written
	open    []order    // executions written and not accepted yet, to be written again after a reconnection
	replies map[uint64]chan link.Reply
	lastID  uint64
	seq     uint64 // number of the last event that arrived
	ack     uint64 // to be sent
	acked   uint64 // sent
	welcome Welcome
	over    error // why no order is taken any more; nil while they are
}

// order is a command that is to be written.
type order struct {
	packet []byte
	id     string // of the execution, for OpExecute
	reply  uint64 // number of the reply it wants
}

func newOrder(cmd link.Command) (order, error) {
	packet, err := link.EncodeCommand(cmd)
	o := order{packet: packet, reply: cmd.ID}
	if cmd.Op == link.OpExecute {
		o.id = cmd.Execute.ID
	}
	return o, err
}

func newHost(dir string, from uint64, log *slog.Logger) *Host {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Host{dir: dir, log: log, events: make(chan Event), inbox: mailbox.New[Event](), ctx: ctx, stop: stop,
		ended: make(chan struct{}), wake: make(chan struct{}, 1), replies: map[uint64]chan link.Reply{}, seq: from}
}

// run starts the goroutines. Without a connection only what is in the inbox is handed out.
func (h *Host) run(c *hostConn) {
	h.wg.Go(h.pump)
	if c == nil {
		close(h.ended)
		return
	}
	h.wg.Go(func() { h.read(c) })
	h.wg.Go(h.write)
}

// hostConn is a connection whose welcome was read.
type hostConn struct {
	net.Conn
	r *bufio.Reader
}

// dial connects, says hello, and makes the connection the current one.
func (h *Host) dial(ctx context.Context) (*hostConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := dialSocket(ctx, h.dir)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	c := &hostConn{conn, bufio.NewReaderSize(conn, 64<<10)}
	w, err := h.greet(c)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	h.mu.Lock()
	h.conn, h.welcome = conn, *w
	h.orders, h.open, h.acked = append(h.open, h.orders...), nil, 0
	h.mu.Unlock()
	if h.ctx.Err() != nil { // Close may have come before there was a connection to close
		return nil, errors.Join(ErrClosed, conn.Close())
	}
	h.poke()
	return c, nil
}

func (h *Host) greet(c *hostConn) (*Welcome, error) {
	h.mu.Lock()
	seq := h.seq
	h.mu.Unlock()
	hello, err := newOrder(link.Command{Op: link.OpHello, Seq: seq, MinVersion: link.MinVersion, Version: link.Version})
	if err == nil {
		err = writeOrders(c, []order{hello})
	}
	if err != nil {
		return nil, fmt.Errorf("greet kernel host: %w", err)
	}
	t, b, err := link.ReadFrame(c.r)
	if err != nil {
		return nil, fmt.Errorf("read welcome of kernel host: %w", err)
	}
	r, err := link.DecodeReply(b)
	if err != nil || t != link.FrameReply || r.Welcome == nil {
		return nil, fmt.Errorf("read welcome of kernel host: frame type %d: %w", t, errors.Join(err, link.ErrMalformed))
	}
	return r.Welcome, nil
}

// pump hands events to the receiver.
func (h *Host) pump() {
	defer close(h.events)
	for {
		events, ok := h.inbox.Take(h.ctx)
		if !ok {
			return
		}
		for _, e := range events {
			select {
			case h.events <- e:
			case <-h.ctx.Done():
				return
			}
		}
	}
}

// read takes frames until the host says that it is over, or is lost.
func (h *Host) read(c *hostConn) {
	defer close(h.ended)
	for {
		last, err := h.readFrames(c)
		_ = c.Close()
		h.mu.Lock()
		h.conn = nil
		h.mu.Unlock()
		if last {
			h.end(ErrClosed)
			h.inbox.Close()
			return
		}
		if h.ctx.Err() != nil {
			return
		}
		h.forgetRequests()
		if c = h.redial(err); c == nil {
			return
		}
	}
}

// redial connects again if the host still runs, else it ends the events with what the host left on disk.
func (h *Host) redial(cause error) *hostConn {
	t := time.NewTimer(0)
	defer t.Stop()
	for try := 0; try < redials && alive(h.dir); try++ {
		h.log.Warn("connection to kernel host lost, host runs", "dir", h.dir, "error", cause)
		c, err := h.dial(h.ctx)
		if err == nil {
			return c
		}
		cause = err
		t.Reset(redialWait)
		select {
		case <-t.C:
		case <-h.ctx.Done():
			return nil
		}
	}
	h.replayAndLose()
	return nil
}

// replayAndLose adds the events that the host left on disk, and Lost unless they have an end.
func (h *Host) replayAndLose() {
	last := false
	err := spool.ReadDir(filepath.Join(h.dir, link.SpoolFolder), h.lastSeq(), func(_ uint64, data []byte) error {
		e, err := link.DecodeEvent(data)
		if err == nil && e.Seq > h.lastSeq() {
			last = h.take(e)
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.log.Warn("cannot read what the kernel host left", "dir", h.dir, "error", err)
	}
	if !last && alive(h.dir) {
		h.lose("the kernel host does not answer")
	} else if !last {
		h.lose("the kernel host process is gone")
	}
	h.end(ErrClosed)
	h.inbox.Close()
}

func (h *Host) lose(reason string) {
	exit := &Exit{Code: -1, Reason: reason}
	if b, err := os.ReadFile(filepath.Join(h.dir, link.LogFile)); err == nil {
		exit.Stderr = string(lastBytes(b))
	}
	h.inbox.Put(Event{Kind: EventLost, At: time.Now(), Exit: exit})
}

func (h *Host) lastSeq() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// readFrames reads until the connection ends; last says that no other event can follow.
func (h *Host) readFrames(c *hostConn) (last bool, err error) {
	for {
		t, b, err := link.ReadFrame(c.r)
		if err != nil {
			return last, err
		}
		switch t {
		case link.FrameEvent:
			e, err := link.DecodeEvent(b)
			if err != nil {
				return last, err
			}
			if e.Seq > h.lastSeq() {
				last = h.take(e)
			}
		case link.FrameReply:
			r, err := link.DecodeReply(b)
			if err != nil {
				return last, err
			}
			if r.Displaced {
				h.lose("another daemon took over the kernel host")
				return true, nil
			}
			h.replied(r)
		}
	}
}

// take adds an event; it returns whether it is the last.
func (h *Host) take(e Event) bool {
	last := e.Kind == EventDied || e.Kind == EventFailed
	if last {
		h.end(ErrClosed)
	}
	h.mu.Lock()
	h.seq = e.Seq
	if e.Kind == EventAccepted {
		for i, o := range h.open {
			if o.id == e.ExecutionID {
				h.open = slices.Delete(h.open, i, i+1)
				break
			}
		}
	}
	h.mu.Unlock()
	h.inbox.Put(e)
	return last
}

func (h *Host) replied(r link.Reply) {
	h.mu.Lock()
	ch := h.replies[r.ID]
	delete(h.replies, r.ID)
	h.mu.Unlock()
	if ch != nil {
		ch <- r // has room for its one reply
	}
}

// forgetRequests answers everybody who waits for a reply: with the connection it is lost.
func (h *Host) forgetRequests() {
	h.mu.Lock()
	lost := h.replies
	h.replies = map[uint64]chan link.Reply{}
	h.orders = slices.DeleteFunc(h.orders, func(o order) bool { return o.reply != 0 })
	h.mu.Unlock()
	for _, ch := range lost {
		ch <- link.Reply{Error: "the connection to the kernel host was lost, ask again"} // has room
	}
}

// end refuses orders from now on.
func (h *Host) end(why error) {
	h.mu.Lock()
	if h.over == nil {
		h.over = why
	}
	h.mu.Unlock()
}

func (h *Host) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// write sends orders and acknowledgements.
func (h *Host) write() {
	for {
		select {
		case <-h.wake:
		case <-h.ended:
			return
		case <-h.ctx.Done():
			return
		}
		conn, orders := h.outgoing()
		if conn == nil || len(orders) == 0 {
			continue
		}
		if err := conn.SetWriteDeadline(time.Now().Add(writeLimit)); err == nil {
			if err = writeOrders(conn, orders); err != nil {
				_ = conn.Close() // the reader notices and connects again
			}
		}
	}
}

// outgoing takes what is to be written, while there is a connection.
func (h *Host) outgoing() (net.Conn, []order) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil {
		return nil, nil
	}
	out := h.orders
	h.orders = nil
	for _, o := range out {
		if o.id != "" {
			h.open = append(h.open, o)
		}
	}
	if h.ack > h.acked {
		h.acked = h.ack
		if ack, err := newOrder(link.Command{Op: link.OpAck, Seq: h.ack}); err == nil {
			out = append(out, ack)
		}
	}
	return h.conn, out
}

func writeOrders(conn net.Conn, orders []order) error {
	var out net.Buffers
	for _, o := range orders {
		out = append(out, link.AppendFrameHead(nil, link.FrameCommand, len(o.packet)), o.packet)
	}
	_, err := out.WriteTo(conn)
	return err
}

// order queues a command.
func (h *Host) order(cmd link.Command) error {
	o, err := newOrder(cmd)
	if err != nil {
		return domain.Errorf(domain.CodeInvalidArgument, "cannot ask the kernel for that: %w.", err)
	}
	h.mu.Lock()
	err = h.over
	if cmd.Op == link.OpShutdown && h.ctx.Err() == nil {
		err = nil // the host outlives its kernel until somebody has heard of its end
	}
	if err == nil {
		h.orders = append(h.orders, o)
	}
	h.mu.Unlock()
	if err != nil {
		return domain.Errorf(domain.CodeKernelUnavailable, "the kernel is not running: %w.", err).WithHint("Restart the kernel.")
	}
	h.poke()
	return nil
}
