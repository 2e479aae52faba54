package ipynb

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// writer appends JSON in one style. Its zero error state means that everything could be written.
type writer struct {
	buf   []byte
	style style
	err   error // the first value that JSON cannot hold
}

// gap starts a new item, or the closing bracket, at a depth.
func (w *writer) gap(depth int) {
	if w.style.newline == "" {
		return
	}
	w.buf = append(w.buf, w.style.newline...)
	for range depth {
		w.buf = append(w.buf, w.style.indent...)
	}
}

// comma ends an item that is not the last one.
func (w *writer) comma() {
	if w.style.newline == "" {
		w.buf = append(w.buf, w.style.comma...)
		return
	}
	w.buf = append(w.buf, ',')
}

// value writes v as a new part: keys sorted, strings as Python's json writes them.
func (w *writer) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
		w.buf = append(w.buf, "null"...)
	case bool:
		w.buf = strconv.AppendBool(w.buf, v)
	case string:
		w.string(v)
	case map[string]any:
		w.object(v, depth)
	case []any:
		w.array(len(v), depth, func(i int) { w.value(v[i], depth+1) })
	case []string:
		w.array(len(v), depth, func(i int) { w.string(v[i]) })
	case float64:
		w.float(v)
	case float32:
		w.float(float64(v))
	case json.Number:
		if end, err := skipNumber([]byte(v), 0); err != nil || end != len(v) {
			w.string(string(v))
			return
		}
		w.buf = append(w.buf, v...)
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		w.buf = fmt.Append(w.buf, v)
	default:
		if w.err == nil {
			w.err = fmt.Errorf("render value: a %T is not JSON", v)
		}
	}
}

func (w *writer) object(m map[string]any, depth int) {
	if len(m) == 0 {
		w.buf = append(w.buf, "{}"...)
		return
	}
	w.buf = append(w.buf, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			w.comma()
		}
		w.gap(depth + 1)
		w.key(key)
		w.value(m[key], depth+1)
	}
	w.gap(depth)
	w.buf = append(w.buf, '}')
}

func (w *writer) key(key string) {
	w.string(key)
	w.buf = append(w.buf, w.style.colon...)
}

func (w *writer) array(n, depth int, element func(i int)) {
	if n == 0 {
		w.buf = append(w.buf, "[]"...)
		return
	}
	w.buf = append(w.buf, '[')
	for i := range n {
		if i > 0 {
			w.comma()
		}
		w.gap(depth + 1)
		element(i)
	}
	w.gap(depth)
	w.buf = append(w.buf, ']')
}

// float writes f as Python's repr does; what JSON has not becomes a string.
func (w *writer) float(f float64) {
	switch {
	case math.IsNaN(f):
		w.string("NaN")
	case math.IsInf(f, 1):
		w.string("Infinity")
	case math.IsInf(f, -1):
		w.string("-Infinity")
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e16):
		w.buf = strconv.AppendFloat(w.buf, f, 'e', -1, 64)
	default:
		s := strconv.FormatFloat(f, 'f', -1, 64)
		w.buf = append(w.buf, s...)
		if !strings.Contains(s, ".") {
			w.buf = append(w.buf, ".0"...)
		}
	}
}

const hexDigits = "0123456789abcdef"

// string writes s with the escapes that JSON demands and no others.
func (w *writer) string(s string) {
	w.buf = append(w.buf, '"')
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		w.buf = append(w.buf, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			w.buf = append(w.buf, '\\', c)
		case '\n':
			w.buf = append(w.buf, `\n`...)
		case '\r':
			w.buf = append(w.buf, `\r`...)
		case '\t':
			w.buf = append(w.buf, `\t`...)
		case '\b':
			w.buf = append(w.buf, `\b`...)
		case '\f':
			w.buf = append(w.buf, `\f`...)
		default:
			w.buf = append(w.buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	w.buf = append(w.buf, s[from:]...)
	w.buf = append(w.buf, '"')
}
