package automerge

import "sync"

// Shard is the place of one room's documents. It is safe for concurrent use.
type Shard struct {
	e *Engine

	mu        sync.Mutex // guards all below; taken after Doc.mu
	vm        *vm
	docs      map[*Doc]struct{}
	dedicated bool // asked for by Dedicate, or put alone after a trap
	closed    bool
}

// New makes an empty document that is written as actor. An empty actor stands
// for a random one.
func (s *Shard) New(actor string) (*Doc, error) {
	return s.open(nil, actor)
}

// Load opens a document from a save, or from a save followed by changes. Bytes
// that are no document give an error and leave nothing behind.
func (s *Shard) Load(saved []byte, actor string) (*Doc, error) {
	if _, _, err := parseChanges(saved); err != nil {
		return nil, err
	}
	return s.open(append([]byte{}, saved...), actor)
}

func (s *Shard) open(saved []byte, actor string) (*Doc, error) {
	d := newDoc(s, saved, actor)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.attach(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.docs[d] = struct{}{}
	return d, nil
}

// Dedicate moves the documents to a virtual machine of their own. Peers that
// are not live at that moment start their sync anew.
func (s *Shard) Dedicate() error {
	s.mu.Lock()
	if s.closed || s.dedicated {
		defer s.mu.Unlock()
		if s.closed {
			return ErrClosed
		}
		return nil
	}
	old := s.vm
	v, err := s.e.acquire(true)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.vm, s.dedicated = v, true
	docs := s.list()
	s.mu.Unlock()
	for _, d := range docs {
		if derr := d.move(); err == nil {
			err = derr
		}
	}
	s.e.release(old)
	return err
}

// Close closes the documents and gives the place back.
func (s *Shard) Close() {
	s.mu.Lock()
	docs, v, closed := s.list(), s.vm, s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return
	}
	for _, d := range docs {
		d.Close()
	}
	s.e.release(v)
}

func (s *Shard) list() []*Doc {
	docs := make([]*Doc, 0, len(s.docs))
	for d := range s.docs {
		docs = append(docs, d)
	}
	return docs
}

func (s *Shard) forget(d *Doc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.docs, d)
}

// machine returns the shard's virtual machine; one that trapped is replaced.
func (s *Shard) machine() (*vm, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if s.vm.alive() {
		return s.vm, nil
	}
	v, err := s.e.acquire(s.dedicated)
	if err != nil {
		return nil, err
	}
	s.e.release(s.vm)
	s.vm = v
	return v, nil
}

// quarantine notes that a call of this shard ended v. From now on the shard has
// a machine of its own, so that a document that traps again disturbs nobody.
func (s *Shard) quarantine(v *vm) {
	s.e.retire(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dedicated = true
}
