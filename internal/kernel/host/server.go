package host

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"runt/internal/kernel/link"
	"runt/internal/kernel/mailbox"
	"runt/internal/kernel/spool"
)

const (
	helloLimit = 5 * time.Second
	writeLimit = 30 * time.Second // for a daemon to take one batch
	batchSize  = 256 << 10

	acceptPause = 100 * time.Millisecond
)

// daemon is one connection of a daemon. Its reader puts commands into the loop's
// mailbox; its sender writes replies and events.
type daemon struct {
	conn    net.Conn
	hello   link.Command
	replies *mailbox.Box[link.Reply]
	cancel  context.CancelFunc // ends the sender without handing out the rest
	sent    chan struct{}      // closed when the sender has ended
}

// serve accepts daemons until the listener is closed.
func (h *host) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			h.log.Warn("cannot accept a daemon", "error", err)
			<-time.After(acceptPause) // out of descriptors, most likely
			continue
		}
		h.wg.Go(func() { h.read(conn) })
	}
}

// read takes hello, then every command, until the connection ends.
func (h *host) read(conn net.Conn) {
	d := &daemon{conn: conn, replies: mailbox.New[link.Reply](), cancel: func() {}, sent: make(chan struct{})}
	defer func() { _ = conn.Close() }()
	if uid, ok := peerUID(conn); ok && uid != os.Getuid() {
		h.log.Warn("connection of another user refused", "uid", uid)
		return
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	if conn.SetReadDeadline(time.Now().Add(helloLimit)) != nil {
		return
	}
	cmd, err := readCommand(r)
	if err != nil || cmd.Op != link.OpHello || cmd.MinVersion > link.Version || cmd.Version < link.MinVersion {
		h.log.Warn("connection without a proper hello", "error", err, "min", cmd.MinVersion, "version", cmd.Version)
		return
	}
	if conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	d.hello = cmd
	if !h.box.Put(joined{d}) {
		return
	}
	defer h.box.Put(left{d})
	for {
		cmd, err := readCommand(r)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				h.log.Warn("connection of the daemon ended", "error", err)
			}
			return
		}
		if cmd.Op == link.OpAck {
			if err := h.spool.Ack(cmd.Seq); err != nil {
				h.log.Warn("cannot remove acknowledged events", "error", err)
			}
		}
		h.box.Put(commanded{d, cmd})
	}
}

func readCommand(r io.Reader) (link.Command, error) {
	t, b, err := link.ReadFrame(r)
	if err != nil || t != link.FrameCommand {
		return link.Command{}, err
	}
	return link.DecodeCommand(b)
}

// join makes d the daemon, in place of the one before it.
func (h *host) join(d *daemon) {
	if old := h.daemon; old != nil {
		old.replies.Put(link.Reply{Displaced: true})
		old.replies.Close()
	}
	h.daemon = d
	w := h.core.welcome()
	w.PID, w.Last = os.Getpid(), h.seq
	w.First = max(d.hello.Seq, h.spool.Acked()) + 1
	d.replies.Put(link.Reply{ID: d.hello.ID, Welcome: w})
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	reader := h.spool.ReadAfter(d.hello.Seq)
	h.wg.Go(func() {
		defer close(d.sent)
		defer cancel()
		d.send(ctx, reader)
	})
}

// leave notes that the connection is gone.
func (h *host) leave(d *daemon) {
	d.cancel()
	d.replies.Close()
	if h.daemon != d {
		return
	}
	h.daemon, h.goneAt = nil, time.Now()
	h.watchOrphan(h.launch.OrphanAfter)
}

// answerTo returns where the reply to a command goes; nil when none is wanted.
func (h *host) answerTo(d *daemon, id uint64) answer {
	if id == 0 {
		return nil
	}
	return func(r link.Reply) {
		r.ID = id
		d.replies.Put(r)
	}
}

// send writes replies and events, in batches, until the spool is closed and
// everything was written, another daemon took over, or the connection fails.
func (d *daemon) send(ctx context.Context, r *spool.Reader) {
	defer func() { _ = d.conn.Close() }() // ends the reading side too
	defer r.Close()
	for {
		out, wait, err := d.batch(r)
		if len(out) > 0 && !d.write(out) {
			return
		}
		if err != nil {
			return
		}
		if wait == nil {
			continue
		}
		select {
		case <-wait:
		case <-d.replies.Ready():
		case <-ctx.Done():
			return
		}
	}
}

// batch collects what can be written now. wait is nil when there is more; err says that this was the last.
func (d *daemon) batch(r *spool.Reader) (out net.Buffers, wait <-chan struct{}, err error) {
	replies, open := d.replies.Grab()
	for _, x := range replies {
		b, err := link.EncodeReply(x)
		if err != nil {
			b, err = link.EncodeReply(link.Reply{ID: x.ID, Error: err.Error()})
		}
		if err == nil {
			out = append(out, link.AppendFrameHead(nil, link.FrameReply, len(b)), b)
		}
	}
	if !open {
		return out, nil, io.EOF
	}
	for size := 0; size < batchSize; {
		_, data, ok, wait, err := r.Poll()
		if err != nil || !ok {
			return out, wait, err
		}
		out = append(out, link.AppendFrameHead(nil, link.FrameEvent, len(data)), data)
		size += len(data)
	}
	return out, nil, nil
}

func (d *daemon) write(out net.Buffers) bool {
	if d.conn.SetWriteDeadline(time.Now().Add(writeLimit)) != nil {
		return false
	}
	_, err := out.WriteTo(d.conn)
	return err == nil
}

// closeAfter lets the sender hand out the rest, which the closed spool ends, for at most limit.
func (d *daemon) closeAfter(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-d.sent:
	case <-t.C:
		d.cancel()
		_ = d.conn.Close()
	}
}
