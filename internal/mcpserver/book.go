package mcpserver

import (
	"context"
	"fmt"
	"time"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/runtimestate"
	"runt/internal/session"
	"runt/internal/session/peer"
	"runt/internal/wire"
)

// Bounds of what a call waits for besides executions.
const (
	confirmLimit = 30 * time.Second // until the daemon has an edit on disk
	queueLimit   = 30 * time.Second // until the daemon has accepted an execution
	catchUpLimit = 2 * time.Second  // until the daemon has sent what it had
	maxRejoins   = 5                // times that one step of a call is tried on a new connection
)

// book is the notebook that a call is about.
type book struct {
	k   *call
	ref *session.Ref
	s   *session.Session
}

// h is the connection of now. It changes when the notebook is joined again.
func (b *book) h() *client.Handle { return b.s.Handle.(*peer.Handle).Handle }

func (b *book) doc() *notebook.Doc { return b.h().Notebook() }

func (b *book) runtime() *runtimestate.Doc { return b.h().Runtime() }

// cell returns the cell that the call names by cell_id.
func (b *book) cell(ctx context.Context) (notebook.Cell, error) {
	return b.cellByID(ctx, b.k.args.text("cell_id"))
}

// cellByID returns a cell, or an error that names near ones. A cell that another
// client has just made may be on its way here, so the daemon is asked for what it
// has before the cell is said not to exist.
func (b *book) cellByID(ctx context.Context, id string) (notebook.Cell, error) {
	if c, ok := b.doc().Cell(domain.CellID(id)); ok {
		return c, nil
	}
	b.catchUp(ctx)
	if c, ok := b.doc().Cell(domain.CellID(id)); ok {
		return c, nil
	}
	return notebook.Cell{}, b.notFound(id)
}

// catchUp waits until all changes that the daemon has now are here. When that
// takes too long, the call goes on with what is here.
func (b *book) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	if err := b.h().Confirm(ctx); err != nil { // its answer comes after the changes
		b.k.c.srv.o.Logger.Debug("not caught up", "notebook", b.h().ID(), "err", err)
	}
}

// notFound is the error about a cell that does not exist. It names near ones.
func (b *book) notFound(id string) error {
	_, err := b.doc().Edit(func(tx *notebook.Tx) error { return missing(tx, domain.CellID(id)) })
	return err
}

// missing is notFound for use within an edit.
func missing(tx *notebook.Tx, id domain.CellID) error {
	if err := tx.SpliceSource(id, 0, 0, ""); err != nil { // which changes nothing
		return err
	}
	return domain.Errorf(domain.CodeCellNotFound, "no cell %q in this notebook", id).WithHint("Call get_all_cells to see the ids.")
}

// edit makes an edit as one change, gives the turn back, and returns once the
// daemon has it on disk. fn must be a function of the document as the tx shows it,
// because it is called again when the edit was lost with a connection.
func (b *book) edit(ctx context.Context, fn func(tx *notebook.Tx) error) error {
	heads, err := b.apply(ctx, fn)
	b.ref.Yield()
	if err != nil || heads == nil {
		return err
	}
	return b.confirm(ctx, fn, heads)
}

// mark is the message of the changes that the call makes.
func (b *book) mark() string { return "runt:" + b.k.id }

// made says whether an earlier process has made the edit of this call and died
// before it could say so.
func (b *book) made() (bool, error) {
	if !b.k.again {
		return false, nil
	}
	made, err := b.doc().Engine().Said(b.mark())
	if err != nil {
		return false, fmt.Errorf("look for an earlier edit: %w", err)
	}
	return made, nil
}

// apply makes an edit here and sends it on its way.
func (b *book) apply(ctx context.Context, fn func(tx *notebook.Tx) error) ([]automerge.Hash, error) {
	for try := 0; ; try++ {
		heads, err := b.h().Edit(ctx, fn, automerge.WithMessage(b.mark()))
		if err == nil || !isLost(err) || try == maxRejoins {
			return heads, err
		}
		if err := b.s.Again(ctx); err != nil {
			return nil, err
		}
		if heads != nil && b.doc().Engine().Has(heads...) {
			return heads, nil
		}
	}
}

// confirm waits until the daemon has the heads on disk. When the connection
// breaks, the next one takes the edit along; if it did not, the edit is made again.
func (b *book) confirm(ctx context.Context, fn func(tx *notebook.Tx) error, heads []automerge.Hash) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmLimit)
	defer cancel()
	for try := 0; ; try++ {
		err := b.h().Confirm(ctx)
		if err == nil || !isLost(err) || try == maxRejoins {
			return err
		}
		if err := b.s.Again(ctx); err != nil {
			return err
		}
		if !b.doc().Engine().Has(heads...) {
			if heads, err = b.apply(ctx, fn); err != nil {
				return err
			}
		}
	}
}

// request asks the daemon for something that may be asked for twice.
func (b *book) request(ctx context.Context, r wire.Request) (wire.Response, error) {
	for try := 0; ; try++ {
		resp, err := b.h().Request(ctx, r)
		if err == nil || !isLost(err) || try == maxRejoins {
			return resp, err
		}
		if err := b.s.Again(ctx); err != nil {
			return wire.Response{}, err
		}
	}
}

// heads names the state of the document that a request builds on.
func (b *book) heads() []string { return automerge.HashStrings(b.doc().Engine().Heads()) }
