package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// openTimeout bounds the opening of a notebook whose context has no earlier
// end. Large files take their time.
const openTimeout = 60 * time.Second

// OpenOptions are wishes for a notebook that is opened from its file.
type OpenOptions struct {
	KeepAlive *time.Duration // how long the notebook stays open without peers; nil: the daemon's default
	Kernel    string         // kernelspec to start; "" as the notebook says
}

// CreateOptions describe a new notebook.
type CreateOptions struct {
	ID           domain.NotebookID // "": the daemon chooses
	Runtime      string            // "": "python"
	Kernel       string            // kernelspec; "": the runtime's
	WorkingDir   string
	Ephemeral    bool // nothing is kept once it is closed
	Dependencies []string
	KeepAlive    *time.Duration
}

// Open opens the notebook of a file and returns when it can be worked on. A
// file that does not exist becomes a new notebook at that path.
func Open(ctx context.Context, o Options, path string, oo OpenOptions) (*Handle, error) {
	return open(ctx, o, wire.Handshake{
		Channel: wire.ChannelOpen, Path: path,
		KeepAliveSecs: seconds(oo.KeepAlive), KernelName: oo.Kernel,
	}, domain.CodeFileUnreadable)
}

// Create makes a notebook and returns when it can be worked on.
func Create(ctx context.Context, o Options, co CreateOptions) (*Handle, error) {
	runtime := co.Runtime
	if runtime == "" {
		runtime = "python"
	}
	return open(ctx, o, wire.Handshake{
		Channel: wire.ChannelCreate, NotebookID: string(co.ID), Runtime: runtime, WorkingDir: co.WorkingDir,
		Ephemeral: co.Ephemeral, Dependencies: co.Dependencies,
		KeepAliveSecs: seconds(co.KeepAlive), KernelName: co.Kernel,
	}, domain.CodeInvalidArgument)
}

// Join connects to a notebook that the daemon has or can load by its id, and
// returns when it can be worked on. It never makes one: an unknown id is
// refused with notebook_unavailable.
func Join(ctx context.Context, o Options, id domain.NotebookID) (*Handle, error) {
	return open(ctx, o, wire.Handshake{
		Channel: wire.ChannelNotebookSync, NotebookID: string(id), Protocol: wire.ProtocolName,
	}, domain.CodeNotebookUnavailable)
}

func seconds(d *time.Duration) *int {
	if d == nil {
		return nil
	}
	s := int(d.Round(time.Second) / time.Second)
	return &s
}

// open connects with the given handshake. A refusal for which the daemon gives
// no code is of the kind refused.
func open(ctx context.Context, o Options, handshake wire.Handshake, refused domain.Code) (*Handle, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	handshake.TypedBootstrap = true
	handshake.Label = o.Label
	handshake.Extensions = wire.Extensions
	handshake.Operator = o.Operator + ":" + o.uuid()[:8]
	hello, err := wire.EncodeHandshake(handshake)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "the daemon cannot be told that: %w", err)
	}
	nc, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	h, err := start(ctx, o, nc, hello)
	if err != nil {
		return nil, err
	}
	if err := h.bootstrap(ctx, handshake, refused); err != nil {
		h.discard()
		return nil, err
	}
	return h, nil
}

// start makes a handle on a new connection and says hello. The documents are
// made while the daemon prepares its answer.
func start(ctx context.Context, o Options, nc net.Conn, hello []byte) (*Handle, error) {
	h := newHandle(o, wire.NewConn(nc, wire.ConnOptions{Logger: o.Logger}))
	err := h.conn.SendRaw(wire.Preamble[:])
	if err == nil {
		err = h.conn.SendUntyped(hello)
	}
	if err == nil {
		err = h.makeDocuments()
	}
	if err != nil {
		h.discard()
		return nil, fmt.Errorf("start connection: %w", err)
	}
	return h, nil
}

// makeDocuments makes empty replicas. Nobody but the daemon writes the runtime state.
func (h *Handle) makeDocuments() error {
	var err error
	if h.shard, err = h.o.Engine.NewShard(); err != nil {
		return err
	}
	if h.nb, err = notebook.Blank(h.shard, h.o.uuid()); err != nil {
		return err
	}
	if h.rt, err = runtimestate.Blank(h.shard, h.o.uuid()); err != nil {
		return err
	}
	h.nbSync = newReplica(h.nb.Engine(), wire.FrameNotebookSync, h.conn, h.nb.Receive)
	h.rtSync = newReplica(h.rt.Engine(), wire.FrameRuntimeSync, h.conn, (*automerge.Peer).Receive)
	return nil
}

// bootstrap reads the daemon's answer, starts the goroutines and waits until
// both documents are there.
func (h *Handle) bootstrap(ctx context.Context, hs wire.Handshake, refused domain.Code) error {
	info, err := h.readInfo(ctx)
	if err != nil {
		return err
	}
	if info.Error != "" {
		return refusal(info.Error, info.ErrorCode, info.ErrorHint, refused)
	}
	h.info = info
	h.id = domain.NotebookID(info.NotebookID)
	if h.id == "" {
		h.id = domain.NotebookID(hs.NotebookID)
	}
	if info.ActorLabel != "" {
		if err := h.nb.Engine().SetActor(info.ActorLabel); err != nil {
			return fmt.Errorf("take actor label: %w", err)
		}
	}
	h.run()
	if err := h.awaitReady(ctx); err != nil {
		return err
	}
	h.noteOnDisk(h.nb.Engine().Heads()) // it was loaded, or is on its way to the disk by now
	return h.carryOver()
}

func (h *Handle) readInfo(ctx context.Context) (wire.ConnectionInfo, error) {
	stop := context.AfterFunc(ctx, h.closeConn)
	defer stop()
	for {
		frame, err := h.conn.Reader().ReadFrame()
		if ctx.Err() != nil {
			return wire.ConnectionInfo{}, timeoutOf(ctx, "open the notebook")
		}
		if err != nil {
			return wire.ConnectionInfo{}, lostError(err)
		}
		if frame.Type != wire.FrameControl {
			continue
		}
		control, err := wire.DecodeControl(frame.Body)
		if err != nil {
			return wire.ConnectionInfo{}, err
		}
		if control.Info != nil {
			return *control.Info, nil
		}
	}
}

// awaitReady waits until the daemon has said that both documents are whole.
func (h *Handle) awaitReady(ctx context.Context) error {
	err := h.wait(ctx, func() bool {
		s := h.Status()
		return s.Ready() || s.InitialLoad.Phase == wire.PhaseFailed
	})
	switch s := h.Status(); {
	case err != nil && ctx.Err() != nil:
		return timeoutOf(ctx, "open the notebook")
	case err != nil:
		return err
	case s.InitialLoad.Phase == wire.PhaseFailed:
		return domain.Errorf(domain.CodeFileUnreadable, "the notebook's file could not be loaded: %s", s.InitialLoad.Reason).
			WithHint("Repair the file, or open another one.")
	}
	return nil
}

// carryOver takes along what a lost handle has and the daemon may not have: what
// was edited there, and what the daemon passed on from others and lost when it
// died, because it was not on disk yet. The daemon's document must still be the
// one that was edited, which is so if it has a state that it once was known to
// have. A notebook without those edits is better than none, so a failure does not
// keep it from being opened.
func (h *Handle) carryOver() error {
	old := h.o.Carry
	h.o.Carry = nil
	if old == nil || old.id != h.id {
		return nil
	}
	for _, known := range [][]automerge.Hash{old.nbSync.peer.TheirHeads(), old.onDisk()} {
		if len(known) == 0 || !h.nb.Engine().Has(known...) {
			continue
		}
		changes, err := old.nb.Engine().ChangesSince(known)
		if err == nil && len(changes) > 0 {
			_, err = h.nb.Engine().ApplyChanges(changes)
		}
		if err != nil {
			h.o.Logger.Warn("edits not taken along", "notebook", h.id, "error", err)
			return nil
		}
		return h.nbSync.push()
	}
	return nil
}

// onDisk is the latest state that the daemon is known to have on its disk.
func (h *Handle) onDisk() []automerge.Hash {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.durable
}

func (h *Handle) noteOnDisk(heads []automerge.Hash) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.durable = heads
}

// discard releases what an opening that failed has made.
func (h *Handle) discard() {
	err := h.Close()
	if err != nil && !errors.Is(err, wire.ErrClosed) {
		h.o.Logger.Debug("closing failed connection", "error", err)
	}
}
