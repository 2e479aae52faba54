package notebook

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// DefaultPosition is the position of a cell that has none: the middle of everything.
const DefaultPosition = "80"

// terminator ends every position that this package makes. A position that ends
// in it has room on both sides, so something always fits between two of them.
const terminator = 0x80

// ValidPosition says whether s is a position that can be counted with: the
// upper case hexadecimal form of at least one byte.
func ValidPosition(s string) bool {
	if s == "" || len(s)%2 != 0 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// Between returns a position behind a and in front of b. An empty a or b means
// that side is open. It returns false when nothing fits, as between two equal
// positions, or when either is not a valid position. Sixty-four appends in a row
// make positions of one length, the next eight thousand are two characters longer.
func Between(a, b string) (string, bool) {
	switch {
	case a != "" && !ValidPosition(a), b != "" && !ValidPosition(b):
		return "", false
	case a == "" && b == "":
		return DefaultPosition, true
	case b == "":
		return encodePosition(after(decodePosition(a))), true
	}
	p, ok := between(decodePosition(a), decodePosition(b))
	if a == "" {
		p, ok = before(decodePosition(b))
	}
	if !ok {
		return "", false
	}
	return encodePosition(p), true
}

// Spread returns n positions in rising order behind a and in front of b, all of
// about the same length. It returns false when nothing fits there.
func Spread(a, b string, n int) ([]string, bool) {
	middle, ok := Between(a, b)
	if !ok || n == 0 {
		return nil, ok
	}
	if n == 1 {
		return []string{middle}, true
	}
	const digits = 0xFE // 01 to FE: room stays on both sides
	width := 1
	for reach := digits; reach < n; reach *= digits {
		width++
	}
	positions := make([]string, n)
	for i := range positions {
		suffix := make([]byte, width+1)
		suffix[width] = terminator
		for j, rest := width-1, i; j >= 0; j-- {
			suffix[j] = byte(1 + rest%digits)
			rest /= digits
		}
		positions[i] = middle + encodePosition(suffix)
	}
	return positions, true
}

func decodePosition(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

func encodePosition(b []byte) string { return strings.ToUpper(hex.EncodeToString(b)) }

// after counts up in the leading bytes, which are a number whose own first
// byte says how many of them belong to it: one byte below C0, two below E0,
// three below F0, four below F8. Past that it goes deeper byte by byte.
func after(a []byte) []byte {
	if len(a) == 0 {
		return []byte{terminator}
	}
	width := 0
	switch first := a[0]; {
	case first < terminator:
		return []byte{terminator, terminator}
	case first < 0xC0:
		width = 1
	case first < 0xE0:
		width = 2
	case first < 0xF0:
		width = 3
	case first < 0xF8:
		width = 4
	default:
		return deeper(a)
	}
	number := append(bytes.Clone(a[:min(width, len(a))]), bytes.Repeat([]byte{terminator}, width)...)[:width]
	for i := width - 1; i >= 0; i-- {
		number[i]++
		if number[i] != 0 {
			break
		}
	}
	return append(number, terminator)
}

// deeper returns the shortest position behind a that steps by one in its first byte that can step.
func deeper(a []byte) []byte {
	for i, c := range a {
		switch {
		case c < terminator:
			return append(bytes.Clone(a[:i]), terminator)
		case c < 0xFF:
			return append(bytes.Clone(a[:i]), c+1, terminator)
		}
	}
	return append(bytes.Clone(a), terminator)
}

func before(b []byte) ([]byte, bool) {
	for i, c := range b {
		switch {
		case c > terminator:
			return append(bytes.Clone(b[:i]), terminator), true
		case c > 0:
			return append(bytes.Clone(b[:i]), c-1, terminator), true
		}
	}
	return nil, false
}

func between(a, b []byte) ([]byte, bool) {
	if bytes.Compare(a, b) >= 0 {
		return nil, false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	prefix := bytes.Clone(b[:i])
	if i == len(a) {
		suffix, ok := before(b[i:])
		return append(prefix, suffix...), ok
	}
	if gap := b[i] - a[i]; gap > 1 {
		return append(prefix, a[i]+gap/2, terminator), true
	}
	return append(append(prefix, a[i]), deeper(a[i+1:])...), true
}
