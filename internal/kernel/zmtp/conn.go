package zmtp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// The limits that apply when Options leaves them zero.
const (
	DefaultMaxMessage       = 512 << 20
	DefaultMaxParts         = 4096
	DefaultHandshakeTimeout = 10 * time.Second
)

// Options says what this side is and what it accepts. Zero values mean the defaults.
type Options struct {
	Type             SocketType
	Identity         []byte // routing id towards a ROUTER; at most 255 bytes
	MaxMessage       uint64 // bytes of all frames of a message
	MaxParts         int    // frames of a message
	HandshakeTimeout time.Duration
}

// Conn is one connection to one peer. See the package comment for what may be
// called at the same time.
type Conn struct {
	nc       net.Conn
	r        *bufio.Reader
	out      []byte // scratch of Send
	maxBytes uint64
	maxParts int
}

// Dial connects to an endpoint such as tcp://127.0.0.1:5555 or ipc:///path and
// shakes hands. It does not retry: the caller knows how long to wait for a peer
// that does not listen yet.
func Dial(ctx context.Context, endpoint string, o Options) (*Conn, error) {
	network, address, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", endpoint, err)
	}
	c, err := NewConn(ctx, nc, o)
	if err != nil {
		_ = nc.Close() // the handshake error is the one that matters
		return nil, fmt.Errorf("shake hands with %s: %w", endpoint, err)
	}
	return c, nil
}

// NewConn shakes hands over nc, which it owns from then on if it succeeds.
func NewConn(ctx context.Context, nc net.Conn, o Options) (*Conn, error) {
	if len(o.Identity) > 255 {
		return nil, fmt.Errorf("identity of %d bytes: %w", len(o.Identity), ErrProtocol)
	}
	c := &Conn{nc: nc, r: bufio.NewReaderSize(nc, 64<<10), maxBytes: o.MaxMessage, maxParts: o.MaxParts}
	if c.maxBytes == 0 {
		c.maxBytes = DefaultMaxMessage
	}
	if c.maxParts == 0 {
		c.maxParts = DefaultMaxParts
	}
	timeout := o.HandshakeTimeout
	if timeout == 0 {
		timeout = DefaultHandshakeTimeout
	}
	if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, fmt.Errorf("set deadline: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	err := c.handshake(o.Type, o.Identity)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c, nc.SetDeadline(time.Time{})
}

func splitEndpoint(endpoint string) (network, address string, err error) {
	scheme, address, ok := strings.Cut(endpoint, "://")
	switch {
	case ok && scheme == "tcp" && address != "":
		return "tcp", address, nil
	case ok && scheme == "ipc" && address != "":
		return "unix", address, nil
	}
	return "", "", fmt.Errorf("endpoint %q: want tcp://HOST:PORT or ipc://PATH: %w", endpoint, ErrProtocol)
}

// Send writes one message. It must not be called by two goroutines at once.
func (c *Conn) Send(parts ...[]byte) error {
	if len(parts) == 0 {
		return fmt.Errorf("message without a frame: %w", ErrProtocol)
	}
	out := c.out[:0]
	for i, p := range parts {
		var flags byte
		if i < len(parts)-1 {
			flags = flagMore
		}
		out = append(appendFrameHead(out, flags, len(p)), p...)
	}
	if c.out = out; cap(out) > trustedLength {
		c.out = nil // one large message must not pin its memory
	}
	_, err := c.nc.Write(out)
	return err
}

// Subscribe asks a publisher for every message whose first frame starts with prefix.
func (c *Conn) Subscribe(prefix string) error {
	return c.Send(append([]byte{1}, prefix...))
}

// Await blocks until the first byte of the next message is there, without taking it. It is for the goroutine that calls Recv.
func (c *Conn) Await() error {
	_, err := c.r.Peek(1)
	return err
}

// Recv returns the frames of the next message. It blocks until one is there,
// the peer closes (io.EOF) or Close is called. It must not be called by two
// goroutines at once.
func (c *Conn) Recv() ([][]byte, error) {
	return readMessage(c.r, c.maxBytes, c.maxParts)
}

// SetDeadline bounds later calls of Send and Recv; the zero time removes the bound.
func (c *Conn) SetDeadline(t time.Time) error { return c.nc.SetDeadline(t) }

// Close ends the connection. Calls in progress return an error.
func (c *Conn) Close() error { return c.nc.Close() }
