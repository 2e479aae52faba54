package present

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxSeries is how many values of a series are looked at.
const maxSeries = 1 << 20

// describeValues says in a few words what the values of a list are: how many,
// and their range, or the first of them.
func describeValues(v any) string {
	values, n := seriesOf(v)
	if n == 0 {
		return ""
	}
	numbers := make([]float64, 0, len(values))
	var words []string
	for _, x := range values {
		if f, ok := x.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
			numbers = append(numbers, f)
		} else if s, ok := x.(string); ok && len(words) < 4 {
			words = append(words, OneLine(s, 24))
		}
	}
	switch {
	case len(numbers) > 0:
		lo, hi := numbers[0], numbers[0]
		for _, f := range numbers {
			lo, hi = min(lo, f), max(hi, f)
		}
		if lo == hi {
			return number(lo)
		}
		return number(lo) + " to " + number(hi) + trend(numbers)
	case n > len(words) && len(words) > 1:
		last := ""
		if s, ok := values[len(values)-1].(string); ok {
			last = " … " + OneLine(s, 24)
		}
		return strings.Join(words[:min(len(words), 3)], ", ") + last
	}
	return strings.Join(words, ", ")
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
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
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
