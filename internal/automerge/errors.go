package automerge

import (
	"errors"
	"fmt"
)

var (
	// ErrTrap reports that the crate panicked. The call changed nothing; the
	// document has been, or will be, loaded again by itself.
	ErrTrap = errors.New("automerge trapped")
	// ErrClosed reports that the engine, the shard, the document or the peer is closed.
	ErrClosed = errors.New("automerge is closed")
	// ErrRefused reports that the crate did not accept the arguments; the text tells why.
	ErrRefused = errors.New("automerge refused")
	// ErrCorrupt reports bytes that are no valid save, change or sync message.
	ErrCorrupt = errors.New("corrupt automerge data")
	// ErrMissingDeps reports changes that build on changes which the document
	// lacks. They are kept aside until those arrive.
	ErrMissingDeps = errors.New("changes depend on changes that are missing")
	// ErrForeignActor reports a change by an actor that the peer may not write as.
	ErrForeignActor = errors.New("change by a foreign actor")
	// ErrUnknownHeads reports heads that are not in the document.
	ErrUnknownHeads = errors.New("heads are not in the document")

	// errBroken says that the document inside the machine may have changed in
	// part; it never leaves the package, see Doc.call.
	errBroken = errors.New("automerge document is broken")
)

// OpError reports which operation of a batch failed. The transaction was rolled back.
type OpError struct {
	Index  int    // number of the operation in the batch, from 0
	Reason string // what was wrong with it
}

// Error returns index and reason on one line.
func (e *OpError) Error() string { return fmt.Sprintf("operation %d: %s", e.Index, e.Reason) }
