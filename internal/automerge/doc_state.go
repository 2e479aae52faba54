package automerge

import (
	"log/slog"
	"sync"
)

// Doc is one document. It is safe for concurrent use, see the package comment.
type Doc struct {
	shard *Shard

	mu      sync.Mutex // guards all below; taken before Shard.mu and vm.mu
	actor   string
	vm      *vm // where the document is loaded; nil = nowhere
	id      uint32
	closed  bool
	peers   map[*Peer]struct{}
	hist    history
	frames  frameCache
	resyncs int // how often patches did not fit the mirror: a fault, counted for tests

	state sync.RWMutex // guards all below; they are written with mu held too
	heads []Hash       // sorted; replaced, never changed in place
	set   map[Hash]struct{}
	root  map[string]any
}

// Update tells what a call changed. Everything in it may be shared: read only.
type Update struct {
	Before, Heads []Hash  // sorted
	Changes       []byte  // raw new changes, one after another; nil if none
	Hashes        []Hash  // their hashes, in the same order
	Patches       []Patch // what became different in the state
}

func newDoc(s *Shard, saved []byte, actor string) *Doc {
	return &Doc{
		shard: s, actor: actor, hist: history{snapshot: saved}, peers: map[*Peer]struct{}{},
		set: map[Hash]struct{}{}, root: map[string]any{},
	}
}

func (d *Doc) log() *slog.Logger { return d.shard.e.o.Logger }

// call performs op on the document's machine, loading the document first where
// that is needed. mu must be held. The document is as before when an error is
// returned.
func (d *Doc) call(op, arg uint32, read func(*decoder), parts ...[]byte) error {
	if err := d.attach(); err != nil {
		return err
	}
	v := d.vm
	err := v.call(op, d.id, arg, read, parts...)
	return d.settle(v, err)
}

// settle turns an error of a call into one for the caller, and sees to it that
// the document is loaded again when it may have been damaged.
func (d *Doc) settle(v *vm, err error) error {
	switch {
	case err == nil:
		return nil
	case isTrap(err):
		d.log().Error("automerge trapped", "err", err)
		d.shard.quarantine(v)
		d.detach()
	case isBroken(err):
		_ = v.call(callFree, d.id, 0, nil)
		d.detach()
		return refusedOf(err)
	}
	return err
}

// detach forgets where the document was loaded; its peers' library states are gone too.
func (d *Doc) detach() {
	d.vm = nil
	for p := range d.peers {
		p.lost()
	}
}

// attach loads the document on the shard's machine unless it is there already.
func (d *Doc) attach() error {
	if d.closed {
		return ErrClosed
	}
	v, err := d.shard.machine()
	if err != nil {
		return err
	}
	if d.vm == v {
		return nil
	}
	if d.vm != nil {
		if err := d.vm.call(callFree, d.id, 0, nil); err == nil {
			d.freePeers()
		}
		d.detach()
	}
	if err := d.load(v); err != nil {
		if isTrap(err) {
			d.shard.quarantine(v)
		}
		return err
	}
	d.vm = v
	return nil
}

func (d *Doc) freePeers() {
	for p := range d.peers {
		p.free()
	}
}

// load makes the document on v from what Go keeps.
func (d *Doc) load(v *vm) error {
	if d.hist.empty() {
		return v.call(callNew, 0, 0, func(r *decoder) { d.id = uint32(r.u32()) }, []byte(d.actor))
	}
	var l loaded
	head := appendString(nil, d.actor)
	parts := append([][]byte{head}, d.hist.parts()...)
	if err := v.call(callLoad, 0, 0, l.read, parts...); err != nil {
		return err
	}
	d.id = l.id
	d.state.Lock()
	defer d.state.Unlock()
	if d.root != nil && len(d.set) > 0 && SameHeads(l.heads, d.heads) {
		return nil // a move or a recovery: the mirror is right already
	}
	d.heads, d.root = l.heads, l.root
	d.set = make(map[Hash]struct{}, len(l.all))
	for _, h := range l.all {
		d.set[h] = struct{}{}
	}
	return nil
}

// loaded is the answer to callLoad.
type loaded struct {
	id    uint32
	heads []Hash
	all   []Hash
	root  map[string]any
}

func (l *loaded) read(r *decoder) {
	l.id = uint32(r.u32())
	l.heads = sortHashes(r.hashes())
	l.all = r.hashes()
	l.root, _ = r.value(0).(map[string]any)
	if l.root == nil {
		l.root = map[string]any{}
	}
}

// move loads the document where its shard is now.
func (d *Doc) move() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	return d.attach()
}

// Close frees the document and closes its peers. Later calls fail with
// ErrClosed; what was read from it stays valid.
func (d *Doc) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	if d.vm != nil {
		d.freePeers()
		_ = d.vm.call(callFree, d.id, 0, nil)
	}
	d.closed, d.vm = true, nil
	for p := range d.peers {
		p.closed = true
	}
	clear(d.peers)
	d.shard.forget(d)
}
