package ipynb

import (
	"encoding/json"
	"math"
	"strconv"
)

// EqualValues says that two JSON values mean the same: numbers are compared by
// value whatever their Go type, and a json.Number that was carried as a string
// equals that string.
func EqualValues(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		x, ok := b.(bool)
		return ok && a == x
	case string:
		switch b := b.(type) {
		case string:
			return a == b
		case json.Number:
			return a == string(b)
		}
		return false
	case map[string]any:
		x, ok := b.(map[string]any)
		return ok && equalMaps(a, x)
	case []any:
		x, ok := b.([]any)
		return ok && equalLists(a, x)
	}
	return equalNumbers(a, b)
}

func equalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		x, ok := b[k]
		if !ok || !EqualValues(v, x) {
			return false
		}
	}
	return true
}

func equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !EqualValues(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalNumbers compares numbers of any Go type, and a json.Number with a string.
func equalNumbers(a, b any) bool {
	if n, ok := a.(json.Number); ok {
		if s, ok := b.(string); ok {
			return string(n) == s
		}
	}
	x, ok := numberText(a)
	if !ok {
		return false
	}
	y, ok := numberText(b)
	return ok && x == y
}

// numberText writes a number so that equal numbers have equal texts.
func numberText(v any) (string, bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case int:
		return strconv.Itoa(v), true
	case int32:
		return strconv.FormatInt(int64(v), 10), true
	case uint32:
		return strconv.FormatUint(uint64(v), 10), true
	case uint:
		return strconv.FormatUint(uint64(v), 10), true
	case float32:
		return numberText(float64(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return strconv.FormatInt(int64(v), 10), true
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	case json.Number:
		if parsed := number(string(v)); parsed != v {
			return numberText(parsed)
		}
		return string(v), true
	}
	return "", false
}
