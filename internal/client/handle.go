package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/runtimestate"
	"runt/internal/trace"
	"runt/internal/wire"
)

// flushTimeout is how long Close lets the last edits go out.
const flushTimeout = 2 * time.Second

// Handle is one connection to one notebook. See the package comment for
// ordering, blocking, ownership and loss.
type Handle struct {
	o      Options
	conn   *wire.Conn
	info   wire.ConnectionInfo // set before the goroutines start
	id     domain.NotebookID   // set before the goroutines start
	shard  *automerge.Shard
	nb     *notebook.Doc
	rt     *runtimestate.Doc
	nbSync *replica
	rtSync *replica

	changed signal
	lost    chan struct{} // closed when the connection is over
	loop    sync.WaitGroup
	closing sync.Once

	mu      sync.Mutex // guards the fields that follow
	status  wire.SyncStatus
	err     error                           // why the connection is over
	pending map[string]chan<- wire.Response // by request id
	runs    map[string][]*Execution         // that somebody waits for, by execution id
	unasked []wire.ExecutionDone            // told directly before anybody asked; oldest first
	others  map[string]PeerInfo             // by peer id
	focus   domain.CellID                   // that the other peers were shown last
	durable []automerge.Hash                // heads of the latest state that the daemon is known to have on disk
	timers  map[*Execution]*time.Timer      // of executions that the document shows as over
}

func newHandle(o Options, conn *wire.Conn) *Handle {
	return &Handle{
		o: o, conn: conn, lost: make(chan struct{}),
		pending: map[string]chan<- wire.Response{}, runs: map[string][]*Execution{},
		others: map[string]PeerInfo{}, timers: map[*Execution]*time.Timer{},
	}
}

// ID returns the id of the notebook.
func (h *Handle) ID() domain.NotebookID { return h.id }

// Path returns the path of the notebook's file, "" while it has none.
func (h *Handle) Path() string {
	if path := h.rt.Path(); path != "" {
		return path
	}
	return h.info.NotebookPath
}

// Info returns what the daemon said at the beginning.
func (h *Handle) Info() wire.ConnectionInfo { return h.info }

// Extended says whether the daemon knows the additions of runt.
func (h *Handle) Extended() bool { return h.info.Runt != nil && h.info.Runt.Extensions >= 1 }

// Notebook returns the replica of the notebook document. Edit it through the
// handle, so that the daemon gets to know.
func (h *Handle) Notebook() *notebook.Doc { return h.nb }

// Runtime returns the replica of the runtime state, which is for reading.
func (h *Handle) Runtime() *runtimestate.Doc { return h.rt }

// Status returns how far the documents were loaded when the daemon last said so.
func (h *Handle) Status() wire.SyncStatus {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Done is closed when the connection is over, by loss or by Close.
func (h *Handle) Done() <-chan struct{} { return h.lost }

// Err says why the connection is over; nil while it stands.
func (h *Handle) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// Changed returns a channel that is closed at the next change of what the
// handle shows. Get it before looking, so that no change falls in between.
func (h *Handle) Changed() <-chan struct{} { return h.changed.wait() }

// WaitFor waits until cond, which is asked at every change, says true. When the
// connection is lost before that, it returns why.
func (h *Handle) WaitFor(ctx context.Context, cond func() bool) error {
	if err := h.wait(ctx, cond); err != nil {
		if ctx.Err() != nil {
			return timeoutOf(ctx, "wait for the notebook")
		}
		return err
	}
	return nil
}

func (h *Handle) wait(ctx context.Context, cond func() bool) error {
	for {
		changed := h.changed.wait()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-h.lost:
			if cond() {
				return nil
			}
			return h.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Edit applies an edit to the notebook here and sends it on its way. It
// returns the heads after it, by which a request can name it. The notebook
// stays as it is while fn runs; see notebook.Doc.Edit. On an error of code
// session_disconnected the edit may be applied here without having been sent.
func (h *Handle) Edit(ctx context.Context, fn func(*notebook.Tx) error, opts ...automerge.ApplyOption) ([]automerge.Hash, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := h.Err(); err != nil {
		return nil, err
	}
	trace.Mark("client.edit", string(h.id))
	update, err := h.nb.Edit(fn, opts...)
	switch {
	case err == nil:
	case errors.Is(err, automerge.ErrClosed) && h.Err() != nil:
		return nil, h.Err()
	case errors.Is(err, automerge.ErrTrap): // the engine has forgotten what the daemon knows
		return nil, errors.Join(err, h.nbSync.push())
	default:
		return nil, err
	}
	if update.Changes == nil {
		return update.Heads, nil
	}
	h.changed.notify()
	if err := h.nbSync.push(); err != nil {
		return update.Heads, h.broken(err)
	}
	trace.Mark("client.edited", string(h.id))
	return update.Heads, nil
}

// Close sends what is queued, ends the connection and releases the documents.
// It waits until the goroutines are gone.
func (h *Handle) Close() error {
	var err error
	h.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		err = h.conn.CloseAfterFlush(ctx)
		h.fail(domain.Errorf(domain.CodeSessionDisconnected, "the connection to the notebook was closed here").
			WithHint("Connect to the notebook again."))
		h.loop.Wait()
		if h.shard != nil {
			h.shard.Close()
		}
	})
	return err
}

// run starts the goroutines.
func (h *Handle) run() {
	h.loop.Go(h.read)
	h.loop.Go(h.beat)
}

// read takes the daemon's frames until the connection ends.
func (h *Handle) read() {
	err := h.readFrames()
	if why := h.conn.Err(); why != nil {
		err = why
	}
	h.closeConn()
	h.fail(lostError(err))
}

func (h *Handle) readFrames() error {
	for {
		frame, err := h.conn.Reader().ReadFrame()
		if err != nil {
			return err
		}
		if err := h.handle(frame); err != nil {
			return err
		}
		if err := h.nbSync.release(); err != nil {
			return err
		}
	}
}

// handle acts on one frame. An error ends the connection.
func (h *Handle) handle(frame wire.Frame) error {
	switch frame.Type {
	case wire.FrameNotebookSync:
		if err := h.nbSync.receive(frame.Body); err != nil {
			return err
		}
	case wire.FrameRuntimeSync:
		if err := h.rtSync.receive(frame.Body); err != nil {
			return err
		}
		trace.Mark("client.state", string(h.id))
		h.checkRuns()
	case wire.FrameResponse:
		return h.answered(frame.Body)
	case wire.FrameExecution:
		return h.told(frame.Body)
	case wire.FrameControl:
		control, err := wire.DecodeControl(frame.Body)
		if err != nil {
			return err
		}
		if control.SyncStatus == nil {
			return nil
		}
		h.mu.Lock()
		h.status = *control.SyncStatus
		h.mu.Unlock()
	case wire.FramePresence:
		h.present(frame.Body)
	default:
		return nil
	}
	h.changed.notify()
	return nil
}

func (h *Handle) closeConn() {
	// What ended the connection is told by Err; closing it adds nothing.
	_ = h.conn.Close()
}

// fail ends the handle for the reason err: all who wait are told. Only the first call counts.
func (h *Handle) fail(err error) {
	h.mu.Lock()
	if h.err != nil {
		h.mu.Unlock()
		return
	}
	h.err = err
	runs := h.runs
	h.runs = map[string][]*Execution{}
	for _, t := range h.timers {
		t.Stop()
	}
	clear(h.timers)
	h.mu.Unlock()
	close(h.lost)
	for _, waiting := range runs {
		for _, e := range waiting {
			e.finish(wire.ExecutionDone{}, err)
		}
	}
	h.changed.notify()
}

// broken ends the handle because something could not be sent, and says why it
// is over. No error of code session_disconnected is returned while the handle still
// counts as connected: who gets one asks for the next handle, and would be given
// this one again until the reader notices.
func (h *Handle) broken(err error) error {
	h.fail(lostError(err))
	h.closeConn()
	return h.Err()
}

// lostError says that the connection broke, and why.
func lostError(err error) error {
	var known *domain.Error
	if errors.As(err, &known) {
		return known
	}
	what := "the connection to the daemon was lost"
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, wire.ErrClosed):
	case errors.Is(err, wire.ErrSlowPeer):
		what = "the daemon took no data for too long"
	default:
		what = fmt.Sprintf("the connection to the daemon broke (%v)", err)
	}
	return (&domain.Error{Code: domain.CodeSessionDisconnected, Message: what, Err: err}).
		WithHint("It is rejoined by itself when the daemon is back; call again, or connect to the notebook once more.")
}
