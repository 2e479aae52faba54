package ipynb

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values. Python's reader gives up a little below it.
const maxDepth = 1000

// span is a piece of the data.
type span struct{ start, end int }

func (s span) of(data []byte) []byte { return data[s.start:s.end] }

// member is one key with its value in an object.
type member struct {
	key        string
	keySpan    span // with its quotes
	value      span
	afterValue int // offset of the comma or the closing brace
}

// skipSpace returns the offset of the first byte at or after pos that is not JSON white space.
func skipSpace(data []byte, pos int) int {
	for pos < len(data) {
		switch data[pos] {
		case ' ', '\t', '\r', '\n':
			pos++
		default:
			return pos
		}
	}
	return pos
}

// skipValue returns the end of the value that starts at pos. It checks the
// structure; the content of strings is checked when they are decoded.
func skipValue(data []byte, pos, depth int) (int, *fault) {
	if pos >= len(data) {
		return pos, faultf(pos, "unexpected end of file")
	}
	switch data[pos] {
	case '{':
		return eachMember(data, pos, depth, nil)
	case '[':
		return eachElement(data, pos, depth, nil)
	case '"':
		return skipString(data, pos)
	}
	if end := literal(data, pos); end > pos {
		return end, nil
	}
	return skipNumber(data, pos)
}

// skipString returns the end of the string whose opening quote is at pos.
func skipString(data []byte, pos int) (int, *fault) {
	for i := pos + 1; ; {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data), faultf(pos, "string without an end")
		}
		end := i + n
		backslashes := 0
		for j := end - 1; j > pos && data[j] == '\\'; j-- {
			backslashes++
		}
		if backslashes%2 == 0 {
			return end + 1, nil
		}
		i = end + 1
	}
}

// literals are the words of JSON, and those that Python writes although they are not JSON.
var literals = []struct {
	word   string
	value  any
	strict bool
}{
	{"true", true, true}, {"false", false, true}, {"null", nil, true},
	{"NaN", "NaN", false}, {"Infinity", "Infinity", false}, {"-Infinity", "-Infinity", false},
}

// literal returns the end of the word at pos, or pos when there is none.
func literal(data []byte, pos int) int {
	for _, l := range literals {
		if bytes.HasPrefix(data[pos:], []byte(l.word)) {
			return pos + len(l.word)
		}
	}
	return pos
}

// skipNumber returns the end of the number at pos.
func skipNumber(data []byte, pos int) (int, *fault) {
	i := pos
	digits := func() bool {
		from := i
		for i < len(data) && data[i] >= '0' && data[i] <= '9' {
			i++
		}
		return i > from
	}
	next := func(set string) bool {
		if i < len(data) && bytes.IndexByte([]byte(set), data[i]) >= 0 {
			i++
			return true
		}
		return false
	}
	next("-")
	if !next("0") && !digits() {
		return pos, faultf(i, "unexpected %s", describe(data, i))
	}
	if next(".") && !digits() {
		return pos, faultf(i, "number without digits after the point")
	}
	if next("eE") {
		next("+-")
		if !digits() {
			return pos, faultf(i, "number without digits in the exponent")
		}
	}
	return i, nil
}

// eachMember calls f, when it is set, for every member of the object at pos, and returns the end of the object.
func eachMember(data []byte, pos, depth int, f func(member) *fault) (int, *fault) {
	if depth >= maxDepth {
		return pos, faultf(pos, "more than %d levels of nesting", maxDepth)
	}
	pos = skipSpace(data, pos+1)
	if pos < len(data) && data[pos] == '}' {
		return pos + 1, nil
	}
	for {
		var m member
		if pos >= len(data) || data[pos] != '"' {
			return pos, faultf(pos, "expected a key in double quotes, found %s", describe(data, pos))
		}
		end, err := skipString(data, pos)
		if err != nil {
			return pos, err
		}
		m.keySpan = span{pos, end}
		pos = skipSpace(data, end)
		if pos >= len(data) || data[pos] != ':' {
			return pos, faultf(pos, "expected a colon, found %s", describe(data, pos))
		}
		m.value.start = skipSpace(data, pos+1)
		if m.value.end, err = skipValue(data, m.value.start, depth+1); err != nil {
			return pos, err
		}
		m.afterValue = skipSpace(data, m.value.end)
		if f != nil {
			if err := f(m); err != nil {
				return pos, err
			}
		}
		var done bool
		if pos, done, err = separator(data, m.afterValue, '}'); done || err != nil {
			return pos, err
		}
	}
}

// eachElement calls f, when it is set, for every element of the array at pos, and returns the end of the array.
func eachElement(data []byte, pos, depth int, f func(span) *fault) (int, *fault) {
	if depth >= maxDepth {
		return pos, faultf(pos, "more than %d levels of nesting", maxDepth)
	}
	pos = skipSpace(data, pos+1)
	if pos < len(data) && data[pos] == ']' {
		return pos + 1, nil
	}
	for {
		end, err := skipValue(data, pos, depth+1)
		if err != nil {
			return pos, err
		}
		if f != nil {
			if err := f(span{pos, end}); err != nil {
				return pos, err
			}
		}
		var done bool
		if pos, done, err = separator(data, skipSpace(data, end), ']'); done || err != nil {
			return pos, err
		}
	}
}

// separator expects a comma or the closing byte at pos. It returns the start
// of the next item, or the end of the container and true.
func separator(data []byte, pos int, closing byte) (int, bool, *fault) {
	switch {
	case pos < len(data) && data[pos] == closing:
		return pos + 1, true, nil
	case pos < len(data) && data[pos] == ',':
		next := skipSpace(data, pos+1)
		if next < len(data) && data[next] == closing {
			return pos, false, faultf(pos, "comma before the closing %q", string(closing))
		}
		return next, false, nil
	}
	return pos, false, faultf(pos, "expected a comma or %q, found %s", string(closing), describe(data, pos))
}

// describe names what is at pos for an error message.
func describe(data []byte, pos int) string {
	if pos >= len(data) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(data[pos:])
	return strconv.QuoteRune(r)
}
