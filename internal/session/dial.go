package session

import (
	"context"
	"errors"

	"runt/internal/domain"
)

// Handle is a joined notebook: a peer connection to its room. The session layer
// needs only to know whom it reaches and whether it still does; what tools
// do with it is theirs. ID, Path and Done must not block: they are asked under a lock.
type Handle interface {
	ID() domain.NotebookID
	Path() string          // "" while untitled; follows save-as
	Done() <-chan struct{} // closed when the connection is gone
	Close() error          // leaves the room and frees what was read of it; takes a second or so at most, and may be called twice
}

// Dialer reaches the daemon on behalf of one client.
type Dialer interface {
	// Dial opens the file or joins the notebook by id, as the target says. It
	// creates no notebook. It returns ErrNoDaemon when nothing listens. carry is a
	// lost handle of the same notebook whose unsent edits are to be taken along, or nil.
	Dial(ctx context.Context, t Target, carry Handle) (Handle, error)
	// Create makes a notebook. It returns ErrNoDaemon when nothing listens.
	Create(ctx context.Context, spec CreateSpec) (Handle, error)
	// Locate says what is known about an open notebook: its id and path. It
	// returns t as it is when nothing more is known.
	Locate(ctx context.Context, t Target) Target
	// Wake makes sure that a daemon runs, and starts one if need be.
	Wake(ctx context.Context) error
}

// ErrNoDaemon is what a Dialer returns when no daemon listens.
var ErrNoDaemon = errors.New("no daemon listens")

// CreateSpec says what notebook to create.
type CreateSpec struct {
	ID           domain.NotebookID // derived from the call; "" lets the daemon choose
	Path         string            // canonical; "" for an untitled notebook
	Kernel       string            // kernelspec name; "" for the default
	Dependencies []string
	WorkingDir   string
	Ephemeral    bool
}
