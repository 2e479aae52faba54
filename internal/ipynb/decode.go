package ipynb

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// aliasFrom is the length from which a string shares the bytes of the file
// instead of copying them. Shorter ones are copied, so that they do not keep a
// whole file in memory.
const aliasFrom = 4096

// decoder turns JSON that skipValue accepted into Go values.
type decoder struct {
	data       []byte
	loose      []span   // NaN, Infinity, -Infinity
	surrogates int      // halves of pairs that became U+FFFD
	duplicates []string // keys that came twice in one object
}

// value decodes the value at pos and returns its end.
func (d *decoder) value(pos int) (any, int, *fault) {
	switch d.data[pos] {
	case '{':
		return d.object(pos)
	case '[':
		return d.array(pos)
	case '"':
		return d.boxedString(pos)
	}
	for _, l := range literals {
		if bytes.HasPrefix(d.data[pos:], []byte(l.word)) {
			end := pos + len(l.word)
			if !l.strict {
				d.loose = append(d.loose, span{pos, end})
			}
			return l.value, end, nil
		}
	}
	end, err := skipNumber(d.data, pos)
	if err != nil {
		return nil, end, err
	}
	return number(string(d.data[pos:end])), end, nil
}

func (d *decoder) object(pos int) (any, int, *fault) {
	m := map[string]any{}
	pos = skipSpace(d.data, pos+1)
	for d.data[pos] != '}' {
		key, end, err := d.string(pos)
		if err != nil {
			return nil, end, err
		}
		pos = skipSpace(d.data, skipSpace(d.data, end)+1) // the colon
		if _, twice := m[key]; twice {
			d.duplicates = append(d.duplicates, key)
		}
		if m[key], pos, err = d.value(pos); err != nil {
			return nil, pos, err
		}
		pos = d.next(pos)
	}
	return m, pos + 1, nil
}

func (d *decoder) array(pos int) (any, int, *fault) {
	list := []any{}
	pos = skipSpace(d.data, pos+1)
	for d.data[pos] != ']' {
		v, end, err := d.value(pos)
		if err != nil {
			return nil, end, err
		}
		list = append(list, v)
		pos = d.next(end)
	}
	return list, pos + 1, nil
}

// next skips the comma after a value, if there is one, and returns the start of what follows.
func (d *decoder) next(pos int) int {
	pos = skipSpace(d.data, pos)
	if d.data[pos] == ',' {
		pos = skipSpace(d.data, pos+1)
	}
	return pos
}

// number decodes a number whose grammar was checked.
func number(s string) any {
	if !strings.ContainsAny(s, ".eE") {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return u
		}
		return json.Number(s)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f == 0 && vanished(s) {
		return json.Number(s)
	}
	return f
}

// vanished says that a number written s is not zero.
func vanished(s string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return strings.ContainsAny(mantissa, "123456789")
}

func (d *decoder) boxedString(pos int) (any, int, *fault) {
	s, end, err := d.string(pos)
	return s, end, err
}

// string decodes the string at pos and returns its end.
func (d *decoder) string(pos int) (string, int, *fault) {
	end, err := skipString(d.data, pos)
	if err != nil {
		return "", end, err
	}
	raw := d.data[pos+1 : end-1]
	if err := checkText(raw, pos+1); err != nil {
		return "", end, err
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		out, err := d.unescape(make([]byte, 0, len(raw)), raw, pos+1)
		return unsafe.String(unsafe.SliceData(out), len(out)), end, err
	}
	if len(raw) < aliasFrom {
		return string(raw), end, nil
	}
	return unsafe.String(unsafe.SliceData(raw), len(raw)), end, nil
}

// checkText refuses control characters and bytes that are not UTF-8.
func checkText(raw []byte, offset int) *fault {
	for i, c := range raw {
		if c < ' ' {
			return faultf(offset+i, "control character %q in a string", rune(c))
		}
	}
	if utf8.Valid(raw) {
		return nil
	}
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return faultf(offset+i, "byte 0x%02x is not UTF-8", raw[i])
		}
		i += n
	}
	return nil
}

// escapes maps the byte after a backslash to what it means.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape appends raw, which begins at offset, with its escapes replaced.
func (d *decoder) unescape(out, raw []byte, offset int) ([]byte, *fault) {
	for i := 0; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '\\')
		if n < 0 {
			out = append(out, raw[i:]...)
			break
		}
		out = append(out, raw[i:i+n]...)
		i += n
		if raw[i+1] != 'u' {
			c := escapes[raw[i+1]]
			if c == 0 {
				return out, faultf(offset+i, "unknown escape \\%c", raw[i+1])
			}
			out = append(out, c)
			i += 2
			continue
		}
		r, ok := hex4(raw[i:])
		if !ok {
			return out, faultf(offset+i, "\\u without four hexadecimal digits")
		}
		i += 6
		if utf16.IsSurrogate(r) {
			low, _ := hex4(raw[i:])
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				d.surrogates++
			} else {
				i += 6
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

// text decodes the value at pos, and joins it when it is a list of strings. A
// list is ragged when a part before its last one does not end a line.
func (d *decoder) text(pos int) (v any, ragged bool, f *fault) {
	if d.data[pos] != '[' {
		v, _, f = d.value(pos)
		return v, false, f
	}
	onlyText := true
	end, f := eachElement(d.data, pos, 0, func(s span) *fault {
		onlyText = onlyText && d.data[s.start] == '"'
		return nil
	})
	if f != nil || !onlyText {
		v, _, f = d.value(pos)
		return v, false, f
	}
	out := make([]byte, 0, (end-pos)/2)
	open := false
	_, f = eachElement(d.data, pos, 0, func(s span) *fault {
		ragged = ragged || open
		raw := d.data[s.start+1 : s.end-1]
		if f := checkText(raw, s.start+1); f != nil {
			return f
		}
		var f *fault
		before := len(out)
		out, f = d.unescape(out, raw, s.start+1)
		if len(out) > before {
			open = !endsLine(out[before:])
		}
		return f
	})
	return string(out), ragged, f
}

// endsLine says that SplitLines splits after part.
func endsLine(part []byte) bool {
	r, _ := utf8.DecodeLastRune(part)
	return strings.ContainsRune("\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029", r)
}

// hex4 reads an escape \uXXXX at the start of raw.
func hex4(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}
