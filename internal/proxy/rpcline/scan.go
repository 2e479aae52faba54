package rpcline

import (
	"errors"
	"fmt"
)

// maxDepth is how deep values may nest, the same bound as encoding/json has.
const maxDepth = 10000

var errEnd = errors.New("unexpected end of the line")

// scanner walks over one JSON text. It is strict: what it accepts,
// encoding/json accepts, and the other way round.
type scanner struct {
	b     []byte
	i     int
	depth int
}

// visit is told each member of an object: the key with its quotes, and the value.
type visit func(key, value []byte)

func (s *scanner) bad(what string) error {
	if s.i >= len(s.b) {
		return errEnd
	}
	return fmt.Errorf("unexpected %q at byte %d, %s", s.b[s.i], s.i+1, what)
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next byte that is not space, or 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i >= len(s.b) {
		return 0
	}
	return s.b[s.i]
}

// end says whether nothing but space is left.
func (s *scanner) end() bool {
	s.space()
	return s.i >= len(s.b)
}

func (s *scanner) take(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// value steps over one value and returns its bytes.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.i
	var err error
	switch {
	case c == '{':
		err = s.object(nil)
	case c == '[':
		err = s.array(nil)
	case c == '"':
		err = s.str()
	case c == '-' || c >= '0' && c <= '9':
		err = s.number()
	case c == 't':
		err = s.word("true")
	case c == 'f':
		err = s.word("false")
	case c == 'n':
		err = s.word("null")
	default:
		err = s.bad("where a value must begin")
	}
	return s.b[start:s.i], err
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("values nested more than %d deep", maxDepth)
	}
	s.i++ // the bracket
	return nil
}

// object steps over an object whose brace is next.
func (s *scanner) object(v visit) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	if s.peek() == '}' {
		s.i++
		return nil
	}
	for {
		if err := s.member(v); err != nil {
			return err
		}
		if c := s.peek(); c == '}' {
			s.i++
			return nil
		} else if c != ',' {
			return s.bad("where an object goes on with , or }")
		}
		s.i++
	}
}

func (s *scanner) member(v visit) error {
	if s.peek() != '"' {
		return s.bad("where a member's name must begin")
	}
	start := s.i
	if err := s.str(); err != nil {
		return err
	}
	key := s.b[start:s.i]
	if s.peek() != ':' {
		return s.bad("where a : must follow the member's name")
	}
	s.i++
	value, err := s.value()
	if err == nil && v != nil {
		v(key, value)
	}
	return err
}

// array steps over an array whose bracket is next and tells each element.
func (s *scanner) array(each func(value []byte)) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer func() { s.depth-- }()
	if s.peek() == ']' {
		s.i++
		return nil
	}
	for {
		value, err := s.value()
		if err != nil {
			return err
		}
		if each != nil {
			each(value)
		}
		if c := s.peek(); c == ']' {
			s.i++
			return nil
		} else if c != ',' {
			return s.bad("where an array goes on with , or ]")
		}
		s.i++
	}
}

// plain marks the bytes that a string may hold as they are.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// str steps over a string whose quote is next.
func (s *scanner) str() error {
	b, i := s.b, s.i+1
	for {
		for i < len(b) && plain[b[i]] {
			i++
		}
		s.i = i
		if i >= len(b) {
			return errEnd
		}
		switch b[i] {
		case '"':
			s.i++
			return nil
		case '\\':
			if err := s.escape(); err != nil {
				return err
			}
			i = s.i
		default:
			return s.bad("inside a string, where control characters must be escaped")
		}
	}
}

func (s *scanner) escape() error {
	s.i++ // the backslash
	if s.i >= len(s.b) {
		return errEnd
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i++
		return nil
	case 'u':
		s.i++
		for range 4 {
			if s.i >= len(s.b) || !isHex(s.b[s.i]) {
				return s.bad("where a \\u escape has a hex digit")
			}
			s.i++
		}
		return nil
	}
	return s.bad("after a backslash")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() error {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return s.bad("where a number has a digit")
	}
	if s.take('.') && !s.digits() {
		return s.bad("where a fraction has a digit")
	}
	if s.take('e') || s.take('E') {
		_ = s.take('+') || s.take('-')
		if !s.digits() {
			return s.bad("where an exponent has a digit")
		}
	}
	return nil
}

func (s *scanner) word(w string) error {
	for i := range len(w) {
		if !s.take(w[i]) {
			return s.bad("inside the word " + w)
		}
	}
	return nil
}
