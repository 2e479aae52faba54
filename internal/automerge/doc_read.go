package automerge

// Heads returns the hashes of the changes that no other change builds on.
func (d *Doc) Heads() []Hash {
	d.state.RLock()
	defer d.state.RUnlock()
	return d.heads
}

// Has reports whether all changes hs are in the document.
func (d *Doc) Has(hs ...Hash) bool {
	d.state.RLock()
	defer d.state.RUnlock()
	for _, h := range hs {
		if _, ok := d.set[h]; !ok {
			return false
		}
	}
	return true
}

// View calls f with the document's state. f must not keep or change root or
// anything in it, and must not call methods of the same Doc.
func (d *Doc) View(f func(root map[string]any)) {
	d.state.RLock()
	defer d.state.RUnlock()
	f(d.root)
}

// Get returns a copy of the value at path: string keys of maps and int indexes
// of lists. An empty path gives the whole document.
func (d *Doc) Get(path ...any) (any, bool) {
	d.state.RLock()
	defer d.state.RUnlock()
	v, ok := Lookup(d.root, path...)
	if !ok {
		return nil, false
	}
	return Clone(v), true
}

// Lookup returns the value at path below v, without copying it.
func Lookup(v any, path ...any) (any, bool) {
	for _, p := range path {
		switch x := v.(type) {
		case map[string]any:
			key, isKey := p.(string)
			next, there := x[key]
			if !isKey || !there {
				return nil, false
			}
			v = next
		case []any:
			i, isIndex := p.(int)
			if !isIndex || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// GetAt returns the value at path as it was at heads, or as it is now when
// heads is nil; found is false when there was none.
func (d *Doc) GetAt(heads []Hash, path ...any) (v any, found bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.Has(heads...) {
		return nil, false, ErrUnknownHeads
	}
	return d.valueAt(heads, path)
}

// valueAt reads from the machine. mu must be held.
func (d *Doc) valueAt(heads []Hash, path []any) (v any, found bool, err error) {
	var at byte
	if heads != nil {
		at = 1
	}
	b, err := appendPath(appendHashes([]byte{at}, heads), path)
	if err != nil {
		return nil, false, err
	}
	err = d.call(callValueAt, 0, func(r *decoder) {
		if found = r.u8() != 0; found {
			v = r.value(0)
		}
	}, b)
	return v, found, err
}

// Conflicts returns all values that stand at path, the one that is shown last.
// Without a conflict that is one value, and none when there is nothing.
func (d *Doc) Conflicts(path ...any) ([]any, error) {
	b, err := appendPath(nil, path)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var vs []any
	err = d.call(callConflicts, 0, func(r *decoder) {
		vs = make([]any, r.count(1))
		for i := range vs {
			vs[i] = r.value(0)
		}
	}, b)
	return vs, err
}

// Save returns the document in compact form, to be opened with Shard.Load.
func (d *Doc) Save() ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	saved, err := d.save()
	if err != nil {
		return nil, err
	}
	d.hist.compact(saved)
	return saved, nil
}

// save asks the machine. mu must be held.
func (d *Doc) save() (saved []byte, err error) {
	err = d.call(callSave, 0, func(r *decoder) { saved = r.rest() })
	return saved, err
}

// ChangesSince returns, one after another, the raw changes that are not
// ancestors of heads; nil heads give all.
func (d *Doc) ChangesSince(heads []Hash) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.Has(heads...) {
		return nil, ErrUnknownHeads
	}
	return d.changesSince(heads)
}
