package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/session"
	"runt/internal/wire"
)

// Options say how to reach the daemon, and for whom.
type Options struct {
	Socket      string
	Engine      *automerge.Engine
	StartDaemon func(context.Context) error // starts a daemon if none runs, and returns when it listens; nil: none is started
	Version     string                      // of this program; a daemon of the same one is no reason to be replaced
	Logger      *slog.Logger
}

// Dialer reaches the daemon on behalf of one MCP client.
type Dialer struct {
	o Options

	mu       sync.Mutex // guards the fields that follow
	operator string
	label    string
}

// New returns a Dialer. SetIdentity should be called before it is used.
func New(o Options) *Dialer { return &Dialer{o: o, operator: "agent:runt", label: "runt"} }

// SetIdentity says who the notebooks are opened for: operator is the kind and
// name that authorship shows, label is what other peers see.
func (d *Dialer) SetIdentity(operator, label string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.operator, d.label = operator, label
}

// Label is what other peers see.
func (d *Dialer) Label() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.label
}

func (d *Dialer) options(carry session.Handle) client.Options {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := client.Options{Socket: d.o.Socket, Engine: d.o.Engine, Operator: d.operator, Label: d.label, Logger: d.o.Logger}
	if lost, ok := carry.(*Handle); ok {
		o.Carry = lost.Handle
	}
	return o
}

// Dial implements session.Dialer. A notebook that was saved under another name
// without our hearing of it is found by its id, for as long as it is open.
func (d *Dialer) Dial(ctx context.Context, t session.Target, carry session.Handle) (session.Handle, error) {
	var h *client.Handle
	var err error
	if t.Path != "" && t.ID != "" {
		t.Path = cmp.Or(d.Locate(ctx, session.Target{ID: t.ID}).Path, t.Path)
	}
	if t.Path != "" {
		h, err = client.Open(ctx, d.options(carry), t.Path, client.OpenOptions{})
	} else {
		h, err = client.Join(ctx, d.options(carry), t.ID)
	}
	return wrap(h, err)
}

// Create implements session.Dialer. Doing it again with the same id finds the
// notebook that the first time made.
func (d *Dialer) Create(ctx context.Context, spec session.CreateSpec) (session.Handle, error) {
	h, err := client.Create(ctx, d.options(nil), client.CreateOptions{
		ID: spec.ID, Kernel: spec.Kernel, WorkingDir: spec.WorkingDir, Ephemeral: spec.Ephemeral, Dependencies: spec.Dependencies,
	})
	if err != nil || spec.Path == "" || h.Path() == spec.Path {
		return wrap(h, err)
	}
	if _, err := Save(ctx, h, spec.Path, false); err != nil {
		d.discard(ctx, h)
		return nil, err
	}
	return wrap(h, nil)
}

// discard ends a notebook whose file could not be made.
func (d *Dialer) discard(ctx context.Context, h *client.Handle) {
	if err := h.Close(); err != nil {
		d.o.Logger.Debug("close notebook", "err", err)
	}
	if _, err := client.ShutdownNotebook(ctx, d.o.Socket, h.ID()); err != nil {
		d.o.Logger.Warn("cannot discard notebook", "notebook", h.ID(), "err", err)
	}
}

// Locate implements session.Dialer.
func (d *Dialer) Locate(ctx context.Context, t session.Target) session.Target {
	rooms, err := client.ListRooms(ctx, d.o.Socket)
	if err != nil {
		return t
	}
	for _, r := range rooms {
		if id := domain.NotebookID(r.NotebookID); id == t.ID || t.Path != "" && r.NotebookPath == t.Path {
			return session.Target{ID: id, Path: cmp.Or(r.NotebookPath, t.Path)}
		}
	}
	return t
}

// Wake implements session.Dialer. A daemon that takes the connection and does
// not answer may be about to end, so that whoever starts daemons looks again.
func (d *Dialer) Wake(ctx context.Context) error {
	_, err := client.Ping(ctx, d.o.Socket)
	if err == nil || d.o.StartDaemon == nil || ctx.Err() != nil {
		return err
	}
	return d.o.StartDaemon(ctx)
}

// Handle is a joined notebook.
type Handle struct{ *client.Handle }

func wrap(h *client.Handle, err error) (session.Handle, error) {
	if err != nil {
		return nil, translate(err)
	}
	return &Handle{h}, nil
}

// translate recognises that nothing listens on the socket.
func translate(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("%w: %w", session.ErrNoDaemon, err)
	}
	return err
}

// Save asks for the notebook to be written, to path if it is not empty. The
// error says why it was not.
func Save(ctx context.Context, h *client.Handle, path string, overwrite bool) (Saved, error) {
	resp, err := h.Request(ctx, wire.Request{
		Action: wire.ActionSaveNotebook, Path: path, Overwrite: overwrite,
		RequiredHeads: automerge.HashStrings(h.Notebook().Engine().Heads()),
	})
	if err != nil {
		return Saved{}, err
	}
	switch resp.Result {
	case wire.ResultNotebookSaved, wire.ResultNotebookCurrent:
		var body wire.NotebookSaved
		if err := resp.Decode(&body); err != nil {
			return Saved{}, err
		}
		return Saved{Path: body.Path, Heads: body.ExportedHeads, Current: resp.Result == wire.ResultNotebookCurrent}, nil
	case wire.ResultSaveBlocked:
		var body wire.SaveBlocked
		if err := resp.Decode(&body); err != nil {
			return Saved{}, err
		}
		return Saved{}, blocked(body, cmp.Or(path, h.Path()))
	}
	return Saved{}, domain.Errorf(domain.CodeInternal, "The daemon answered save_notebook with %q.", resp.Result)
}

// Saved says what a save did.
type Saved struct {
	Path    string
	Heads   []string
	Current bool // there was nothing to write
}

func blocked(b wire.SaveBlocked, path string) *domain.Error {
	e := &domain.Error{Code: domain.Code(b.Code), Message: b.Reason.Message, Hint: b.Hint}
	switch b.Reason.Type {
	case wire.BlockedPathOpen:
		e.Code = cmp.Or(e.Code, domain.CodeSaveConflict)
		e.Message = cmp.Or(e.Message, fmt.Sprintf("%s is open as notebook %s.", cmp.Or(b.Reason.Path, path), b.Reason.UUID))
		e.Hint = cmp.Or(e.Hint, "Call save_notebook with another path, or connect_notebook to that one.")
	case wire.BlockedSourceConflict:
		e.Code = cmp.Or(e.Code, domain.CodeSaveConflict)
		e.Hint = cmp.Or(e.Hint, "Call save_notebook with another path, or with overwrite=true.")
	default:
		e.Code = cmp.Or(e.Code, domain.CodeSaveFailed)
		e.Hint = cmp.Or(e.Hint, "Call save_notebook with another path; the notebook itself is safe.")
	}
	e.Message = cmp.Or(e.Message, fmt.Sprintf("%s could not be written (%s).", path, b.Reason.Type))
	return e
}
