package automerge

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	batchPlain byte = 1 << iota
	batchAtHeads
	batchMessage
)

type applyOptions struct {
	message string
	time    int64
	atHeads []Hash
}

// ApplyOption changes how Apply makes its change.
type ApplyOption func(*applyOptions)

// WithMessage gives the change a message.
func WithMessage(text string) ApplyOption { return func(o *applyOptions) { o.message = text } }

// WithTime gives the change a time in Unix seconds; without it the time is 0.
func WithTime(sec int64) ApplyOption { return func(o *applyOptions) { o.time = sec } }

// WithAtHeads makes the batch see the document as it was at heads and its
// change concurrent to all that came after them.
func WithAtHeads(heads []Hash) ApplyOption { return func(o *applyOptions) { o.atHeads = heads } }

// SetActor makes later changes be written as actor.
func (d *Doc) SetActor(actor string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(callSetActor, 0, nil, []byte(actor)); err != nil {
		return err
	}
	d.actor = actor
	return nil
}

// Apply makes one change of the operations in b. When one of them fails the
// document stays as it is and the error is an *OpError. A batch that changes
// nothing makes no change: Update.Changes is nil then.
func (d *Doc) Apply(b *Batch, opts ...ApplyOption) (Update, error) {
	if b.err != nil {
		return Update{}, b.err
	}
	var o applyOptions
	for _, opt := range opts {
		opt(&o)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if o.atHeads != nil && !d.Has(o.atHeads...) {
		return Update{}, ErrUnknownHeads
	}
	var n news
	if err := d.call(callApply, 0, n.read, o.header(b.plain), b.ops); err != nil {
		return Update{}, err
	}
	return d.take(&n, nil)
}

func (o *applyOptions) header(plain bool) []byte {
	var flags byte
	if plain {
		flags |= batchPlain
	}
	if o.message != "" {
		flags |= batchMessage
	}
	if o.atHeads != nil {
		flags |= batchAtHeads
	}
	b := binary.LittleEndian.AppendUint64([]byte{flags}, uint64(o.time))
	if o.message != "" {
		b = appendString(b, o.message)
	}
	if o.atHeads != nil {
		b = appendHashes(b, o.atHeads)
	}
	return b
}

// ApplyChanges applies raw changes, one after another in raw. Changes that are
// there already are skipped. When some build on changes that are missing, those
// that do not are applied, the others kept aside, and the error wraps
// ErrMissingDeps; the Update is valid then.
func (d *Doc) ApplyChanges(raw []byte) (Update, error) {
	cs, pure, err := parseChanges(raw)
	if err != nil {
		return Update{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	up, err := d.applyRaw(raw, cs, pure, nil)
	if err != nil {
		return up, err
	}
	for _, c := range cs {
		if !d.Has(c.hash) {
			return up, fmt.Errorf("apply change %v: %w", c.hash, ErrMissingDeps)
		}
	}
	return up, nil
}

// applyRaw applies the changes cs, whose bytes are raw. pure says that raw
// holds nothing else. mu must be held.
func (d *Doc) applyRaw(raw []byte, cs []change, pure bool, from *Peer) (Update, error) {
	fresh := d.fresh(cs)
	if pure && len(fresh) == 0 {
		return Update{Before: d.heads, Heads: d.heads}, nil
	}
	if pure && len(fresh) < len(cs) {
		raw = joinRaw(fresh)
	}
	var n news
	if err := d.call(callApplyChanges, 0, n.read, raw); err != nil {
		return Update{}, err
	}
	return d.take(&n, from)
}

// news is the answer of a call that brings changes in: those that the document
// has now and did not have before.
type news struct {
	heads   []Hash
	raw     []byte
	patches []Patch
}

func (n *news) read(r *decoder) {
	n.heads = sortHashes(r.hashes())
	n.raw = r.bytes()
	n.patches = r.patches()
}

// take commits what a call brought in. mu must be held.
func (d *Doc) take(n *news, from *Peer) (Update, error) {
	cs, _, err := parseChanges(n.raw)
	if err != nil {
		return Update{}, d.giveUp(fmt.Errorf("read changes back: %w", err))
	}
	return d.commit(cs, n.heads, n.patches, from), nil
}

// fresh returns those of cs that are new, without repetitions.
func (d *Doc) fresh(cs []change) []change {
	var out []change
	seen := make(map[Hash]struct{}, len(cs))
	for _, c := range cs {
		if _, again := seen[c.hash]; again || d.Has(c.hash) {
			continue
		}
		seen[c.hash] = struct{}{}
		out = append(out, c)
	}
	return out
}

// complete reports whether each of cs depends only on changes that are there or
// come before it.
func (d *Doc) complete(cs []change) bool {
	seen := make(map[Hash]struct{}, len(cs))
	for _, c := range cs {
		for _, dep := range c.deps {
			if _, ok := seen[dep]; !ok && !d.Has(dep) {
				return false
			}
		}
		seen[c.hash] = struct{}{}
	}
	return true
}

// changesSince asks the machine for the changes that are not ancestors of heads.
func (d *Doc) changesSince(heads []Hash) (raw []byte, err error) {
	err = d.call(callChangesSince, 0, func(r *decoder) { raw = r.bytes() }, appendHashes(nil, heads))
	return raw, err
}

// commit takes over what a call did inside the machine. mu must be held.
func (d *Doc) commit(cs []change, heads []Hash, ps []Patch, from *Peer) Update {
	up := Update{Before: d.heads, Heads: heads}
	d.state.Lock()
	d.heads = heads
	for _, c := range cs {
		d.set[c.hash] = struct{}{}
		up.Hashes = append(up.Hashes, c.hash)
	}
	var err error
	up.Patches, err = applyPatches(d.root, ps)
	d.state.Unlock()
	for _, c := range cs {
		d.hist.add(c.raw, from)
	}
	up.Changes = joinRaw(cs)
	if err != nil {
		d.resync(err)
	}
	if d.hist.wantsCompaction() {
		d.compact()
	}
	return up
}

// resync reads the whole state anew. It should never be needed.
func (d *Doc) resync(cause error) {
	d.resyncs++
	d.log().Error("mirror is read anew", "err", cause)
	root, found, err := d.valueAt(nil, nil)
	m, ok := root.(map[string]any)
	if err != nil || !found || !ok {
		d.log().Error("mirror cannot be read", "err", err)
		return
	}
	d.state.Lock()
	d.root = m
	d.state.Unlock()
}

// compact takes a new snapshot; a failure only means that the log grows on.
func (d *Doc) compact() {
	saved, err := d.save()
	if err != nil {
		d.log().Warn("snapshot not taken", "err", err)
		return
	}
	d.hist.compact(saved)
}

// giveUp throws the loaded document away after a call whose result cannot be
// used, so that it is loaded as it was before, and returns err for the caller.
func (d *Doc) giveUp(err error) error {
	if d.vm != nil {
		d.freePeers()
		_ = d.vm.call(callFree, d.id, 0, nil)
		d.detach()
	}
	return err
}

func joinRaw(cs []change) []byte {
	if len(cs) == 1 {
		return cs[0].raw
	}
	var raw []byte
	for _, c := range cs {
		raw = append(raw, c.raw...)
	}
	return raw
}

func isTrap(err error) bool   { return errors.Is(err, ErrTrap) }
func isBroken(err error) bool { return errors.Is(err, errBroken) }

// refusedOf hides errBroken from callers: the document is whole for them.
func refusedOf(err error) error { return fmt.Errorf("%w: %s", ErrRefused, err.Error()) }
