package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/mailbox"
	"runt/internal/kernel/zmtp"
	"runt/internal/trace"
)

const (
	dialPauseMin   = 2 * time.Millisecond
	dialPauseMax   = 20 * time.Millisecond
	heartbeatEvery = 10 * time.Second
	heartbeatLimit = 30 * time.Second
)

// incoming is what the channels put into the loop's mailbox.
type (
	received struct {
		channel string
		msg     jmsg.Message
	}
	tooLarge struct {
		channel string
		err     *zmtp.TooLargeError
	}
	channelEnded struct{ channel string }
	heartbeat    struct{ answered bool }
)

// channels are the connections to one kernel. Every channel but the heartbeat
// has a reader, and those that are written to have a writer with a mailbox.
type channels struct {
	codec  *jmsg.Codec
	log    *slog.Logger
	put    func(any) // into the loop's mailbox
	conns  map[string]*zmtp.Conn
	out    map[string]*mailbox.Box[[][]byte]
	hb     *zmtp.Conn
	heard  chan struct{} // closed when iopub has ended
	taking atomic.Bool   // a message of iopub is being read
	wg     sync.WaitGroup
	stop   context.CancelFunc
}

// dialChannels connects to a kernel that may not listen yet; ctx bounds the wait.
func dialChannels(ctx context.Context, c connection, identity string, log *slog.Logger, put func(any)) (*channels, error) {
	codec, err := jmsg.NewCodec(c.Scheme, c.Key)
	if err != nil {
		return nil, err
	}
	ch := &channels{codec: codec, log: log, put: put, conns: map[string]*zmtp.Conn{},
		out: map[string]*mailbox.Box[[][]byte]{}, heard: make(chan struct{}), stop: func() {}}
	for _, x := range []struct {
		name string
		kind zmtp.SocketType
		port int
	}{{chIOPub, zmtp.Sub, c.IOPub}, {chShell, zmtp.Dealer, c.Shell}, {chControl, zmtp.Dealer, c.Control}, {chStdin, zmtp.Dealer, c.Stdin}} {
		conn, err := dialPatiently(ctx, c.endpoint(x.port), zmtp.Options{Type: x.kind, Identity: []byte(identity)})
		if err != nil {
			ch.closeConns()
			return nil, fmt.Errorf("connect %s: %w", x.name, err)
		}
		ch.conns[x.name] = conn
	}
	if err := ch.conns[chIOPub].Subscribe(""); err != nil {
		ch.closeConns()
		return nil, fmt.Errorf("subscribe to iopub: %w", err)
	}
	if ch.hb, err = dialPatiently(ctx, c.endpoint(c.Heartbeat), zmtp.Options{Type: zmtp.Req}); err != nil {
		ch.closeConns()
		return nil, fmt.Errorf("connect heartbeat: %w", err)
	}
	ch.run()
	return ch, nil
}

// dialPatiently tries until the kernel listens.
func dialPatiently(ctx context.Context, endpoint string, o zmtp.Options) (*zmtp.Conn, error) {
	t := time.NewTimer(0)
	defer t.Stop()
	for pause := dialPauseMin; ; pause = min(pause+dialPauseMin, dialPauseMax) {
		conn, err := zmtp.Dial(ctx, endpoint, o)
		if err == nil || errors.Is(err, zmtp.ErrProtocol) {
			return conn, err
		}
		t.Reset(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

func (ch *channels) closeConns() {
	for _, c := range ch.conns {
		_ = c.Close()
	}
	if ch.hb != nil {
		_ = ch.hb.Close()
	}
}

func (ch *channels) run() {
	ctx, stop := context.WithCancel(context.Background())
	ch.stop = stop
	for name, conn := range ch.conns {
		ch.wg.Go(func() { ch.read(name, conn) })
		if name == chIOPub {
			continue
		}
		box := mailbox.New[[][]byte]()
		ch.out[name] = box
		ch.wg.Go(func() { ch.write(ctx, name, conn, box) })
	}
	ch.wg.Go(func() { ch.beat(ctx) })
}

// read puts every message of a channel into the mailbox and never waits for anything else.
func (ch *channels) read(name string, conn *zmtp.Conn) {
	taking := &atomic.Bool{}
	if name == chIOPub {
		taking = &ch.taking
		defer close(ch.heard)
	}
	for {
		err := conn.Await()
		taking.Store(true)
		var parts [][]byte
		if err == nil {
			parts, err = conn.Recv()
		}
		var large *zmtp.TooLargeError
		switch {
		case errors.As(err, &large):
			ch.put(tooLarge{name, large})
		case err != nil:
			ch.put(channelEnded{name})
			return
		default:
			ch.take(name, parts)
		}
		taking.Store(false)
	}
}

func (ch *channels) take(name string, parts [][]byte) {
	m, err := ch.codec.Decode(parts)
	if err != nil {
		ch.log.Warn("message of the kernel dropped", "channel", name, "error", err)
		return
	}
	ch.put(received{name, m})
}

func (ch *channels) write(ctx context.Context, name string, conn *zmtp.Conn, box *mailbox.Box[[][]byte]) {
	for {
		messages, ok := box.Take(ctx)
		if !ok {
			return
		}
		for _, parts := range messages {
			if err := conn.Send(parts...); err != nil {
				ch.log.Warn("cannot send to the kernel", "channel", name, "error", err)
				return // the reader of the channel reports its end
			}
			trace.Mark("host.sent", name)
		}
	}
}

// send queues a message for the kernel.
func (ch *channels) send(name string, m jmsg.Message) {
	parts, err := ch.codec.Encode(m)
	if err != nil {
		ch.log.Error("cannot encode a message to the kernel", "type", m.Header.Type, "error", err)
		return
	}
	ch.out[name].Put(parts)
}

// beat pings the kernel and reports when answers stop or come back.
func (ch *channels) beat(ctx context.Context) {
	t := time.NewTicker(heartbeatEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		if ch.hb.Send(nil, []byte("ping")) != nil {
			return
		}
		if ch.hb.SetDeadline(time.Now().Add(heartbeatLimit)) != nil {
			return
		}
		_, err := ch.hb.Recv()
		if err != nil && ctx.Err() != nil {
			return
		}
		ch.put(heartbeat{err == nil})
		if err != nil {
			return
		}
	}
}

// close ends the connections and waits for readers and writers.
func (ch *channels) close() {
	ch.stop()
	ch.closeConns()
	ch.wg.Wait()
}
