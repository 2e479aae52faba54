package automerge

import (
	"fmt"
	"slices"
)

// Peer is the sync session of a document with one remote peer. Its methods are
// safe for concurrent use, but messages must be received in the order in which
// they were sent, and sent in the order in which they were generated.
type Peer struct {
	d *Doc

	// All below is guarded by d.mu.
	closed   bool
	hasState bool // the library's state exists on d.vm
	state    uint32
	live     bool
	strip    bool   // the remote may not write
	deaf     bool   // the remote takes no changes
	sent     uint64 // live: number of the last change that the remote has or was sent
	told     []Hash // heads of the last message to the remote; nil = it needs one
	their    []Hash // heads of the last message from the remote
	stuck    int    // messages in a row whose heads stayed unknown
	pure     bool   // tests: never go live, as a peer that has only the library
}

// ReceiveOptions says what the remote peer may do.
type ReceiveOptions struct {
	// StripChanges ignores the message's changes and tells the remote that we
	// take none.
	StripChanges bool
	// Allow, if set, is asked for the actor of every new change. If it says no,
	// nothing of the message is applied and Receive fails with ErrForeignActor.
	Allow func(actor string) bool
}

// Received tells what a message brought.
type Received struct {
	Update
	HadChanges bool // the message carried changes, new or not
	HeadsKnown bool // all heads that the message names are in the document now
}

const (
	receiveReadOnly uint32 = 1 << iota
	receiveAskResend
)

// stuckLimit is how many messages in a row may leave heads unknown before the
// remote is asked to send again what it believes to have sent.
const stuckLimit = 3

// NewPeer begins a sync session with a remote peer. Close it when the
// connection ends.
func (d *Doc) NewPeer() *Peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &Peer{d: d, closed: d.closed}
	if !d.closed {
		d.peers[p] = struct{}{}
	}
	return p
}

// Live reports whether the peer is on the fast path.
func (p *Peer) Live() bool {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.live
}

// TheirHeads returns the heads that the remote named last; nil before its first message.
func (p *Peer) TheirHeads() []Hash {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	return p.their
}

// Reset begins the session anew, as after a message was lost.
func (p *Peer) Reset() {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	p.restart()
}

// Close ends the session.
func (p *Peer) Close() {
	p.d.mu.Lock()
	defer p.d.mu.Unlock()
	if p.closed {
		return
	}
	p.free()
	p.closed = true
	delete(p.d.peers, p)
}

// free gives the library's state back.
func (p *Peer) free() {
	if p.hasState && p.d.vm != nil {
		_ = p.d.vm.call(callPeerFree, p.state, 0, nil)
	}
	p.hasState = false
}

// lost notes that the machine with the library's state is gone. A live peer has none.
func (p *Peer) lost() {
	p.hasState = false
	if !p.live {
		p.told = nil
	}
}

func (p *Peer) restart() {
	p.free()
	p.live, p.told, p.stuck = false, nil, 0
}

// Receive applies a message from the remote peer.
func (p *Peer) Receive(msg []byte, o ReceiveOptions) (Received, error) {
	m, err := parseMessage(msg)
	if err != nil {
		return Received{}, err
	}
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.closed {
		return Received{}, ErrClosed
	}
	if o.StripChanges != p.strip {
		p.strip = o.StripChanges
		p.restart()
	}
	in, err := p.inspect(m, o)
	if err != nil {
		return Received{}, err
	}
	if p.live {
		return p.receiveLive(msg, m, in)
	}
	return p.receiveLibrary(msg, m)
}

// incoming is what a message's chunks hold.
type incoming struct {
	changes []change
	known   bool // changes is all there is, see inspect
}

// inspect reads the changes of a message and asks Allow about the new ones. A
// whole document, which the library sends instead of changes when those are
// much of it, is expanded where somebody needs to see them: for Allow, or so
// that a live peer can stay live.
func (p *Peer) inspect(m message, o ReceiveOptions) (incoming, error) {
	in := incoming{known: true}
	if o.StripChanges {
		return in, nil
	}
	for _, c := range m.chunks {
		cs, pure, err := parseChanges(c)
		if err != nil {
			return in, err
		}
		if !pure {
			if o.Allow == nil && !p.live {
				in.known = false
				continue
			}
			if cs, err = p.d.expand(c); err != nil {
				return in, err
			}
		}
		in.changes = append(in.changes, cs...)
	}
	if o.Allow == nil {
		return in, nil
	}
	for _, c := range in.changes {
		if !p.d.Has(c.hash) && !o.Allow(c.actor) {
			return in, fmt.Errorf("receive change of actor %q: %w", c.actor, ErrForeignActor)
		}
	}
	return in, nil
}

// expand turns a whole document into its changes without applying them.
func (d *Doc) expand(doc []byte) ([]change, error) {
	var raw []byte
	if err := d.call(callExpand, 0, func(r *decoder) { raw = r.rest() }, doc); err != nil {
		return nil, err
	}
	cs, _, err := parseChanges(raw)
	return cs, err
}

// receiveLive handles a message without the library where it can.
func (p *Peer) receiveLive(msg []byte, m message, in incoming) (Received, error) {
	d := p.d
	if !p.regular(m, in) {
		p.restart()
		return p.receiveLibrary(msg, m)
	}
	rec := Received{Update: Update{Before: d.heads, Heads: d.heads}, HadChanges: len(m.chunks) > 0}
	if len(in.changes) > 0 {
		up, err := d.applyRaw(joinRaw(in.changes), in.changes, true, p)
		if err != nil {
			p.restart()
			return Received{}, err
		}
		rec.Update = up
	}
	p.their = m.heads
	if rec.HeadsKnown = d.Has(m.heads...); rec.HeadsKnown {
		return rec, nil
	}
	// The remote believes that we have a change which we do not have, for
	// instance because its Bloom filter was wrong. Only an answer of the
	// library asks for it.
	p.restart()
	lib, err := p.receiveLibrary(msg, m)
	lib.Update = joinUpdates(rec.Update, lib.Update)
	return lib, err
}

// regular reports whether a live peer's message is one of the steady state.
func (p *Peer) regular(m message, in incoming) bool {
	if m.version != messageV2 || len(m.need) > 0 || len(m.heads) == 0 || !in.known {
		return false
	}
	if !m.flagged || m.flags&flagReset != 0 || p.deaf != (m.flags&flagReadOnly != 0) {
		return false
	}
	if p.strip && len(m.chunks) > 0 {
		return false
	}
	for _, h := range m.have {
		for _, hash := range h.lastSync { // among them may be what the message brings
			if !p.d.Has(hash) && !slices.ContainsFunc(in.changes, func(c change) bool { return c.hash == hash }) {
				return false
			}
		}
	}
	return p.d.complete(in.changes)
}

// receiveLibrary lets the library handle a message and looks whether the peer
// can go live after it.
func (p *Peer) receiveLibrary(msg []byte, m message) (Received, error) {
	d := p.d
	before := d.heads
	flags := p.flags()
	if p.stuck+1 >= stuckLimit && !d.Has(m.heads...) {
		flags |= receiveAskResend
		p.stuck = 0
	}
	if err := p.ensureState(); err != nil {
		return Received{}, err
	}
	var n news
	if err := d.call(callReceive, p.state, n.read, appendU32(nil, int(flags)), msg); err != nil {
		p.restart()
		return Received{}, err
	}
	rec := Received{Update: Update{Before: before, Heads: n.heads}, HadChanges: len(m.chunks) > 0}
	if !SameHeads(before, n.heads) {
		var err error
		if rec.Update, err = d.take(&n, p); err != nil {
			return Received{}, err
		}
	}
	p.their = m.heads
	p.deaf = m.flags&flagReadOnly != 0
	p.judge(m, &rec)
	return rec, nil
}

// judge decides after a message of the library whether the peer is live now.
func (p *Peer) judge(m message, rec *Received) {
	d := p.d
	if rec.HeadsKnown = d.Has(m.heads...); !rec.HeadsKnown {
		p.stuck++
		return
	}
	p.stuck = 0
	if m.flagged && !p.pure && len(m.need) == 0 && len(m.heads) > 0 && slices.Equal(m.heads, d.heads) {
		p.free()
		p.live, p.sent = true, d.hist.last()
	}
}

func (p *Peer) flags() uint32 {
	if p.strip {
		return receiveReadOnly
	}
	return 0
}

// ensureState makes the library's state on the machine where the document is.
func (p *Peer) ensureState() error {
	if err := p.d.attach(); err != nil || p.hasState {
		return err
	}
	err := p.d.call(callPeerNew, p.flags(), func(r *decoder) { p.state = uint32(r.u32()) })
	p.hasState = err == nil
	return err
}

func joinUpdates(a, b Update) Update {
	if b.Heads == nil {
		return a
	}
	b.Before = a.Before
	b.Changes = append(a.Changes[:len(a.Changes):len(a.Changes)], b.Changes...)
	b.Hashes = append(a.Hashes[:len(a.Hashes):len(a.Hashes)], b.Hashes...)
	b.Patches = append(a.Patches[:len(a.Patches):len(a.Patches)], b.Patches...)
	return b
}
