package present

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxSeries is how many values of a series are looked at.
const maxSeries = 1 << 20

// describeValues says in a few words what the values of a list are: the range of
// numbers, how often something is true, or the first of the words.
func describeValues(v any) string {
	values, n := seriesOf(v)
	if n == 0 {
		return ""
	}
	numbers := numbersOf(values)
	if len(numbers) > 0 {
		lo, hi := rangeOf(numbers)
		if lo == hi {
			return number(lo)
		}
		return number(lo) + " to " + number(hi)
	}
	if s := describeBools(values); s != "" {
		return s
	}
	return describeWords(values)
}

// numbersOf returns the finite numbers among values.
func numbersOf(values []any) []float64 {
	numbers := make([]float64, 0, len(values))
	for _, x := range values {
		if f, ok := x.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
			numbers = append(numbers, f)
		}
	}
	return numbers
}

func rangeOf(numbers []float64) (lo, hi float64) {
	lo, hi = numbers[0], numbers[0]
	for _, f := range numbers {
		lo, hi = min(lo, f), max(hi, f)
	}
	return lo, hi
}

func describeBools(values []any) string {
	yes, all := 0, 0
	for _, x := range values {
		if b, ok := x.(bool); ok {
			all++
			if b {
				yes++
			}
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("true %s of %s", thousands(int64(yes)), thousands(int64(all)))
}

// describeWords names the different words, if they are few, else the first ones and the last.
func describeWords(values []any) string {
	const few, shown = 12, 4
	var distinct []string
	last, count := "", 0
	for _, x := range values {
		s, ok := x.(string)
		if !ok {
			continue
		}
		count++
		if last = OneLine(s, 24); len(distinct) <= few && !slices.Contains(distinct, last) {
			distinct = append(distinct, last)
		}
	}
	switch {
	case len(distinct) <= few && len(distinct) < count:
		names := strings.Join(distinct[:min(len(distinct), shown)], ", ")
		if len(distinct) > shown {
			names += " …"
		}
		if len(distinct) == 1 {
			return names
		}
		return fmt.Sprintf("%s (%d different)", names, len(distinct))
	case len(distinct) > shown:
		return strings.Join(distinct[:shown-1], ", ") + " … " + last
	}
	return strings.Join(distinct, ", ")
}

// along returns whether y rises or falls along x, for a trace whose points come
// in the order of x: anything else would say something about their order only.
func along(x, y any) string {
	if xs, n := seriesOf(x); n > 0 && !ascending(xs) {
		return ""
	}
	values, _ := seriesOf(y)
	return trend(numbersOf(values))
}

// ascending says whether values are numbers or dates that never go down.
func ascending(values []any) bool {
	for i, v := range values {
		switch v := v.(type) {
		case float64:
			if i > 0 {
				if before, ok := values[i-1].(float64); !ok || before > v {
					return false
				}
			}
		case string:
			if v == "" || v[0] < '0' || v[0] > '9' {
				return false
			}
			if i > 0 {
				if before, ok := values[i-1].(string); !ok || before > v {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// trend says whether numbers rise or fall all in all: by more than a twentieth
// of their range from the first tenth to the last one.
func trend(v []float64) string {
	if len(v) < 3 {
		return ""
	}
	k := max(len(v)/10, 1)
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x / float64(len(v))
		}
		return m
	}
	lo, hi := rangeOf(v)
	switch d := mean(v[len(v)-k:]) - mean(v[:k]); {
	case d > (hi-lo)/20:
		return ", rising"
	case d < (lo-hi)/20:
		return ", falling"
	}
	return ""
}

// number returns f with at most five digits that count.
func number(f float64) string {
	if a := math.Abs(f); f == math.Trunc(f) && a < 1e12 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 5, 64)
}

// seriesOf returns the values of a list, which may be a typed array of Plotly,
// and how many there are. Of a list of lists it returns the inner values.
func seriesOf(v any) (values []any, n int) {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			if _, ok := v[0].([]any); ok {
				for _, row := range v {
					inner, k := seriesOf(row)
					n += k
					if len(values) < maxSeries {
						values = append(values, inner...)
					}
				}
				return values, n
			}
		}
		return v[:min(len(v), maxSeries)], len(v)
	case map[string]any:
		if str(v["bdata"]) != "" {
			return typedArray(str(v["dtype"]), str(v["bdata"]))
		}
	}
	return nil, 0
}

// typedArray decodes the numbers that Plotly keeps as base64.
func typedArray(dtype, data string) (values []any, n int) {
	width := map[string]int{"i1": 1, "u1": 1, "i2": 2, "u2": 2, "i4": 4, "u4": 4, "f4": 4, "f8": 8}[dtype]
	if width == 0 {
		return nil, 0
	}
	n = (base64.StdEncoding.DecodedLen(len(data)) - strings.Count(data[max(len(data)-2, 0):], "=")) / width
	raw, err := base64.StdEncoding.DecodeString(data[:min(len(data), maxSeries*width/3*4)])
	if err != nil {
		return nil, n
	}
	for i := 0; i+width <= len(raw); i += width {
		values = append(values, decodeNumber(dtype, raw[i:i+width]))
	}
	return values, n
}

func decodeNumber(dtype string, b []byte) float64 {
	le := binary.LittleEndian
	switch dtype {
	case "i1":
		return float64(int8(b[0]))
	case "u1":
		return float64(b[0])
	case "i2":
		return float64(int16(le.Uint16(b)))
	case "u2":
		return float64(le.Uint16(b))
	case "i4":
		return float64(int32(le.Uint32(b)))
	case "u4":
		return float64(le.Uint32(b))
	case "f4":
		return float64(math.Float32frombits(le.Uint32(b)))
	}
	return math.Float64frombits(le.Uint64(b))
}

// points returns "1 point" or "n points".
func points(n int) string {
	if n == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%s points", thousands(int64(n)))
}
