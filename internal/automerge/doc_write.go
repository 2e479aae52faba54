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
	var a answerApply
	if err := d.call(callApply, 0, a.read, o.header(b.plain), b.ops); err != nil {
		return Update{}, err
	}
	var cs []change
	if a.change != nil {
		var err error
		if cs, _, err = parseChanges(a.change); err != nil {
			return Update{}, d.giveUp(fmt.Errorf("read own change: %w", err))
		}
	}
	return d.commit(cs, a.heads, a.patches, nil), nil
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

type answerApply struct {
	heads   []Hash
	change  []byte
	patches []Patch
}

func (a *answerApply) read(r *decoder) {
	a.heads = sortHashes(r.hashes())
	a.change = r.bytes()
	a.patches = r.patches()
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
	fresh, complete := d.fresh(cs)
	if pure && len(fresh) == 0 {
		return Update{Before: d.heads, Heads: d.heads}, nil
	}
	if pure && len(fresh) < len(cs) {
		raw = joinRaw(fresh)
	}
	before := d.heads
	var a answerChanges
	var isLinear uint32
	if pure && linear(before, fresh) {
		isLinear = 1
	}
	if err := d.call(callApplyChanges, isLinear, a.read, raw); err != nil {
		return Update{}, err
	}
	if !pure || !complete || !SameHeads(a.heads, headsAfter(before, fresh)) {
		var err error
		if fresh, err = d.changesSince(before); err != nil {
			return Update{}, d.giveUp(err)
		}
	}
	return d.commit(fresh, a.heads, a.patches, from), nil
}

type answerChanges struct {
	heads   []Hash
	patches []Patch
}

func (a *answerChanges) read(r *decoder) {
	a.heads = sortHashes(r.hashes())
	a.patches = r.patches()
}

// fresh returns those of cs that are new, without repetitions. complete says
// that each depends only on changes that are there or come before it.
func (d *Doc) fresh(cs []change) (fresh []change, complete bool) {
	complete = true
	seen := make(map[Hash]struct{}, len(cs))
	for _, c := range cs {
		if _, again := seen[c.hash]; again || d.Has(c.hash) {
			continue
		}
		seen[c.hash] = struct{}{}
		for _, dep := range c.deps {
			if _, ok := seen[dep]; !ok && !d.Has(dep) {
				complete = false
			}
		}
		fresh = append(fresh, c)
	}
	return fresh, complete
}

// linear reports whether each change builds on all that is there before it, so
// that none is concurrent to anything.
func linear(heads []Hash, cs []change) bool {
	for i, c := range cs {
		if i > 0 {
			heads = []Hash{cs[i-1].hash}
		}
		if !SameHeads(heads, c.deps) {
			return false
		}
	}
	return true
}

// headsAfter returns the heads once fresh is added to a document with these heads.
func headsAfter(heads []Hash, fresh []change) []Hash {
	covered := map[Hash]struct{}{}
	for _, c := range fresh {
		for _, dep := range c.deps {
			covered[dep] = struct{}{}
		}
	}
	var out []Hash
	add := func(h Hash) {
		if _, ok := covered[h]; !ok {
			out = append(out, h)
		}
	}
	for _, h := range heads {
		add(h)
	}
	for _, c := range fresh {
		add(c.hash)
	}
	return sortHashes(out)
}

// changesSince asks the machine for the changes that are not ancestors of heads.
func (d *Doc) changesSince(heads []Hash) ([]change, error) {
	var raw []byte
	err := d.call(callChangesSince, 0, func(r *decoder) { raw = r.bytes() }, appendHashes(nil, heads))
	if err != nil {
		return nil, err
	}
	cs, _, err := parseChanges(raw)
	return cs, err
}

// commit takes over what a call did inside the machine. mu must be held.
func (d *Doc) commit(cs []change, heads []Hash, ps []Patch, from *Peer) Update {
	up := Update{Before: d.heads, Heads: heads, Patches: ps}
	d.state.Lock()
	d.heads = heads
	for _, c := range cs {
		d.set[c.hash] = struct{}{}
		up.Hashes = append(up.Hashes, c.hash)
	}
	err := applyPatches(d.root, ps)
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
