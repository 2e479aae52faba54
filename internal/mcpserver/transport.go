package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/domain"
)

// Limits of the stdio transport.
const (
	maxLine    = 64 << 20        // longest line that is read
	drainGrace = 3 * time.Second // after the end of input, for calls to finish by themselves
	drainLimit = time.Second     // then, for calls that were told to answer with what they have
)

// stdio is an MCP transport over lines of JSON. Unlike the library's own it
// survives lines that are not JSON-RPC, answers everything it has read before it
// reports the end of input, and keeps request ids and progress tokens as they were written.
type stdio struct {
	in           io.Reader
	out          io.Writer
	logger       *slog.Logger
	onInitialize func(initialize) // called before the library sees the request; may be nil

	grace, limit time.Duration // of draining

	order    *order        // in which tools/call requests came
	draining chan struct{} // closed when calls should answer with what they have

	mu      sync.Mutex // guards the fields that follow
	conn    *lineConn
	aborted bool // nothing more is written
}

func newStdio(in io.Reader, out io.Writer, logger *slog.Logger) *stdio {
	return &stdio{in: in, out: out, logger: logger, grace: drainGrace, limit: drainLimit, order: newOrder(), draining: make(chan struct{})}
}

// Connect starts to read. It is called once.
func (t *stdio) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{
		t: t, incoming: make(chan jsonrpc.Message), closed: make(chan struct{}), idle: make(chan struct{}, 1),
		open: map[string]*request{}, byClientID: map[string]*request{}, resent: map[string]bool{},
		session: domain.RandomIDs{Rand: rand.Reader}.UUID(),
	}
	t.mu.Lock()
	t.conn = c
	aborted := t.aborted
	t.mu.Unlock()
	if aborted {
		return nil, errAborted
	}
	c.readers.Go(c.readLines)
	return c, nil
}

// errAborted is returned for what is to be written after abort.
var errAborted = errors.New("transport was aborted")

// abort ends the connection at once: nothing more is written, and calls that are
// under way are cancelled. Whoever sent them gets no answer from here.
func (t *stdio) abort() {
	t.mu.Lock()
	t.aborted = true
	c := t.conn
	t.mu.Unlock()
	if c == nil {
		return
	}
	if err := c.Close(); err != nil {
		t.logger.Debug("close input", "err", err)
	}
}

func (t *stdio) isAborted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aborted
}

// lineConn is the one connection of a stdio. Its reading goroutine ends with the
// input, or when Close closes an input that is an io.Closer; it is not waited
// for, because a read of a terminal or an inherited pipe cannot be interrupted.
type lineConn struct {
	t        *stdio
	readers  sync.WaitGroup
	incoming chan jsonrpc.Message // closed at the end of input
	closed   chan struct{}
	closing  sync.Once
	idle     chan struct{} // gets a token when open becomes empty

	writing sync.Mutex // held while a line is written

	mu         sync.Mutex // guards the fields that follow
	session    string     // first part of call ids: random, or what initialize brought
	last       uint64     // number of the latest request
	open       map[string]*request
	byClientID map[string]*request
	resent     map[string]bool // ids of requests that come again
}

// request is a request that has not been answered yet.
type request struct {
	inner    string          // the id that the library sees
	id       json.RawMessage // the id as the client wrote it
	progress json.RawMessage // its progress token, likewise; nil for none
	turn     uint64          // of a tools/call; 0 for others
	again    bool            // an earlier process had it
}

// Read returns the next message. After the end of input it waits until
// everything that was read has been answered, within limits, and returns io.EOF.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m, ok := <-c.incoming:
		if ok {
			return m, nil
		}
		c.drain(ctx)
		return nil, io.EOF
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drain waits for open calls, and hurries them when they take too long.
func (c *lineConn) drain(ctx context.Context) {
	if c.awaitIdle(ctx, c.t.grace) {
		return
	}
	close(c.t.draining)
	if !c.awaitIdle(ctx, c.t.limit) {
		c.t.logger.Warn("input ended with calls unanswered")
	}
}

func (c *lineConn) awaitIdle(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-c.idle:
		case <-timer.C:
			return false
		case <-c.closed:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// Write sends one message as one line.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := c.encode(m)
	if err != nil {
		return err
	}
	err = c.writeLine(line)
	if resp, ok := m.(*jsonrpc.Response); ok {
		c.answered(resp.ID)
	}
	return err
}

func (c *lineConn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.t.isAborted() {
		return errAborted
	}
	if _, err := c.t.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write line: %w", err)
	}
	return nil
}

// refuse answers a line that is no request. id is nil when the line's own id could not be read.
func (c *lineConn) refuse(code int64, message string, id json.RawMessage) {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, &jsonrpc.Error{Code: code, Message: message}})
	if err == nil {
		err = c.writeLine(line)
	}
	if err != nil {
		c.t.logger.Warn("cannot refuse a bad line", "err", err)
	}
}

// answered takes a request off the list of open ones.
func (c *lineConn) answered(id jsonrpc.ID) {
	inner, _ := id.Raw().(string)
	c.mu.Lock()
	r := c.open[inner]
	if r != nil {
		delete(c.open, inner)
		delete(c.byClientID, string(r.id))
	}
	empty := len(c.open) == 0
	c.mu.Unlock()
	if r != nil && r.turn > 0 {
		c.t.order.leave(r.turn)
	}
	if empty {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// Close ends the connection. It may be called twice.
func (c *lineConn) Close() error {
	var err error
	c.closing.Do(func() {
		close(c.closed)
		if closer, ok := c.t.in.(io.Closer); ok {
			err = closer.Close()
		}
	})
	return err
}

// SessionID is part of mcp.Connection; stdio has no session ids.
func (c *lineConn) SessionID() string { return "" }

// errLineTooLong is what nextLine returns for a line over the limit, whose rest it has skipped.
var errLineTooLong = errors.New("line too long")
