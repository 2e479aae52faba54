package automerge

// Generate returns the next message for the remote peer, or nil when there is
// nothing to say. The message may be shared between peers: do not change it.
// It counts as sent: when it does not reach the remote, call Reset.
func (p *Peer) Generate() ([]byte, error) {
	d := p.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	if p.live {
		if msg, ok := p.generateLive(); ok {
			return msg, nil
		}
		p.restart()
	}
	return p.generateLibrary()
}

// generateLive frames the changes since the last message. ok is false when
// some of them are not kept any more.
func (p *Peer) generateLive() (msg []byte, ok bool) {
	d := p.d
	last := d.hist.last()
	if p.sent == last && p.told != nil && SameHeads(p.told, d.heads) {
		return nil, true
	}
	if p.deaf {
		msg = appendMessage(nil, d.heads, nil, p.frameFlags())
	} else {
		es, ok := d.hist.since(p.sent)
		if !ok {
			return nil, false
		}
		msg = d.frames.get(p, es, last, d.heads)
	}
	p.sent, p.told = last, d.heads
	return msg, true
}

// frameFlags are the flags of a message made in Go.
func (p *Peer) frameFlags() byte {
	if p.strip {
		return flagReadOnly
	}
	return 0
}

func (p *Peer) generateLibrary() ([]byte, error) {
	d := p.d
	if err := p.ensureState(); err != nil {
		return nil, err
	}
	var msg []byte
	err := d.call(callGenerate, p.state, func(r *decoder) {
		if r.u8() != 0 {
			msg = r.rest()
		}
	})
	if err == nil && msg != nil {
		p.told = d.heads
	}
	return msg, err
}

// frameCache holds the message that was framed last, so that all peers that
// are due the same changes share one.
type frameCache struct {
	from, to uint64
	flags    byte
	msg      []byte
}

// get returns the message with the changes es, the last of which is number to,
// less those that p sent itself.
func (c *frameCache) get(p *Peer, es []entry, to uint64, heads []Hash) []byte {
	flags := p.frameFlags()
	var raw []byte
	size, own := 0, false
	for _, e := range es {
		size += len(e.raw)
		own = own || e.from == p
	}
	if !own && c.msg != nil && c.from == p.sent && c.to == to && c.flags == flags {
		return c.msg
	}
	raw = make([]byte, 0, size)
	for _, e := range es {
		if e.from != p {
			raw = append(raw, e.raw...)
		}
	}
	msg := appendMessage(make([]byte, 0, len(raw)+64*len(heads)+32), heads, raw, flags)
	if !own {
		*c = frameCache{from: p.sent, to: to, flags: flags, msg: msg}
	}
	return msg
}
