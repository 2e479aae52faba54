package automerge

import (
	"strings"
	"unicode/utf8"
)

// Positions in text are code points inside this package and on its borders.
// Everything that counts otherwise converts here.

// CodePointLen returns the number of code points in s.
func CodePointLen(s string) int { return utf8.RuneCountInString(s) }

// UTF16Len returns the number of UTF-16 code units in s, which is what
// browsers call the length of a string.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16Width(r)
	}
	return n
}

// ByteOffset returns the byte offset of code point number cp in s. A position
// beyond the end gives len(s), a negative one 0.
func ByteOffset(s string, cp int) int {
	if cp <= 0 {
		return 0
	}
	for i := range s {
		if cp == 0 {
			return i
		}
		cp--
	}
	return len(s)
}

// CodePointOfByte returns how many code points of s begin before byte offset b.
func CodePointOfByte(s string, b int) int {
	return utf8.RuneCountInString(s[:min(max(b, 0), len(s))])
}

// CodePointOfUTF16 returns the code point position of UTF-16 position u in s.
// A position inside a surrogate pair counts as the one before the pair.
func CodePointOfUTF16(s string, u int) int {
	n := 0
	for _, r := range s {
		u -= utf16Width(r)
		if u < 0 {
			return n
		}
		n++
	}
	return n
}

// UTF16OfCodePoint returns the UTF-16 position of code point position cp in s.
func UTF16OfCodePoint(s string, cp int) int {
	u := 0
	for _, r := range s {
		if cp <= 0 {
			return u
		}
		cp--
		u += utf16Width(r)
	}
	return u
}

func utf16Width(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// validText returns s with everything that is not UTF-8 replaced, since the
// crate takes nothing else.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// spliceText replaces del code points of s at code point pos by ins. ok is
// false when the range lies outside s.
func spliceText(s string, pos, del int, ins string) (out string, ok bool) {
	from := ByteOffset(s, pos)
	if pos < 0 || del < 0 || (from == len(s) && utf8.RuneCountInString(s[:from]) != pos) {
		return s, false
	}
	tail := s[from:]
	to := ByteOffset(tail, del)
	if to == len(tail) && utf8.RuneCountInString(tail) != del {
		return s, false
	}
	return s[:from] + ins + tail[to:], true
}

// textPatches tells how the text at path came from was to be now: one run of
// code points deleted and one inserted, as short as possible.
func textPatches(path []any, was, now string) []Patch {
	head := commonPrefix(was, now)
	tail := commonSuffix(was[head:], now[head:])
	pos := CodePointLen(was[:head])
	at := append(path[:len(path):len(path)], pos)
	var ps []Patch
	if gone := was[head : len(was)-tail]; gone != "" {
		ps = append(ps, Patch{Action: PatchDelete, Path: at, Length: CodePointLen(gone)})
	}
	if ins := now[head : len(now)-tail]; ins != "" {
		ps = append(ps, Patch{Action: PatchSplice, Path: at, Value: Text(ins), Length: CodePointLen(ins)})
	}
	return ps
}

// commonPrefix returns the length in bytes of the longest common beginning of a
// and b that ends between code points.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

// commonSuffix is commonPrefix from the other end.
func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}
