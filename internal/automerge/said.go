package automerge

import "fmt"

// Said says whether some change of the document has this message. It looks at
// the whole history, which takes time.
func (d *Doc) Said(message string) (bool, error) {
	raw, err := d.ChangesSince(nil)
	if err != nil {
		return false, err
	}
	chunks, err := parseChunks(raw)
	if err != nil {
		return false, err
	}
	for _, c := range chunks {
		said, err := messageOf(c)
		if err != nil {
			return false, err
		}
		if string(said) == message {
			return true, nil
		}
	}
	return false, nil
}

// messageOf reads the message of a change, which is the last part of its header
// that concerns us.
func messageOf(c chunk) ([]byte, error) {
	body := c.body
	if c.kind == chunkCompressed {
		var err error
		if body, err = inflate(body); err != nil {
			return nil, err
		}
	}
	r := leb{b: body}
	r.hashes()
	r.bytes() // actor
	r.uint()  // its number of the change
	r.uint()  // number of the first operation
	r.signed()
	said := r.bytes()
	if r.bad {
		return nil, fmt.Errorf("%w: header of a change", ErrCorrupt)
	}
	return said, nil
}

// signed skips a signed number, the time.
func (r *leb) signed() {
	for i, b := range r.b {
		if b < 0x80 {
			r.b = r.b[i+1:]
			return
		}
	}
	r.fail()
}
