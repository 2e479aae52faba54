package client

import (
	"errors"
	"fmt"
	"sync"

	"runt/internal/automerge"
	"runt/internal/wire"
)

// backlog is how many frames may wait to be written before edits are held
// back, to be sent together once the daemon has caught up.
const backlog = 256

// maxTraps is how often in a row the engine may fail at the daemon's messages
// before the connection is given up.
const maxTraps = 3

// replica keeps one document in step with the daemon's.
type replica struct {
	peer  *automerge.Peer
	take  func(p *automerge.Peer, message []byte, o automerge.ReceiveOptions) (automerge.Received, error)
	frame wire.FrameType
	conn  *wire.Conn
	traps int // in a row; of the reading goroutine

	order sync.Mutex // held from making a message to queueing it, which does not wait; guards held
	held  bool       // there may be something to send that has been held back
}

// newReplica syncs doc, whose messages are taken in by take.
func newReplica(doc *automerge.Doc, frame wire.FrameType, conn *wire.Conn, take func(*automerge.Peer, []byte, automerge.ReceiveOptions) (automerge.Received, error)) *replica {
	return &replica{peer: doc.NewPeer(), take: take, frame: frame, conn: conn}
}

// receive takes a message of the daemon's and sends what it calls for. It is
// for the reading goroutine. After a trap the engine has rebuilt the document
// and forgotten what the daemon knows, so an answer is all that is needed.
func (r *replica) receive(message []byte) error {
	_, err := r.take(r.peer, message, automerge.ReceiveOptions{})
	switch {
	case err == nil:
		r.traps = 0
	case errors.Is(err, automerge.ErrTrap) && r.traps < maxTraps:
		r.traps++
	default:
		return fmt.Errorf("take sync message %s: %w", r.frame, err)
	}
	return r.push()
}

// push sends what the daemon does not have yet, unless it is far behind.
func (r *replica) push() error {
	r.order.Lock()
	defer r.order.Unlock()
	frames, _ := r.conn.Queued()
	if r.held = frames > backlog; r.held {
		return nil
	}
	message, err := r.peer.Generate()
	if err != nil {
		return fmt.Errorf("make sync message %s: %w", r.frame, err)
	}
	if message == nil {
		return nil
	}
	return r.conn.Send(r.frame, message)
}

// release sends what was held back, if anything was. It is called whenever the
// daemon shows that it reads.
func (r *replica) release() error {
	r.order.Lock()
	held := r.held
	r.order.Unlock()
	if !held {
		return nil
	}
	return r.push()
}
