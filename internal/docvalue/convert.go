package docvalue

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"runt/internal/automerge"
)

// MaxDepth is how deeply nested a value may be. Deeper ones are refused by FromJSON.
const MaxDepth = 200

// FromJSON returns v as a value to write into a document: whole numbers are
// int64, those above it unsigned, others float64, strings are scalar strings.
// It takes what encoding/json decodes to, with or without UseNumber, raw JSON,
// and anything that encoding/json can encode.
func FromJSON(v any) (any, error) { return fromJSON(v, MaxDepth) }

func fromJSON(v any, depth int) (any, error) {
	if depth == 0 {
		return nil, fmt.Errorf("value nested deeper than %d", MaxDepth)
	}
	switch v := v.(type) {
	case nil, bool, string, int64, float64, []byte, automerge.Text, automerge.Uint:
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		return number(strconv.FormatUint(v, 10))
	case json.Number:
		return number(string(v))
	case json.RawMessage:
		return fromRaw(v, depth)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			var err error
			if list[i], err = fromJSON(e, depth-1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if m[k], err = fromJSON(e, depth-1); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return fromRaw(raw, depth)
}

func fromRaw(raw []byte, depth int) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var decoded any
	if err := d.Decode(&decoded); err != nil {
		return nil, fmt.Errorf("decode JSON value: %w", err)
	}
	return fromJSON(decoded, depth)
}

func number(s string) (any, error) {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return automerge.Uint(u), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("read number: %w", err)
	}
	return f, nil
}

// ToJSON returns a deep copy of a value read from a document, made only of nil,
// bool, string, int64, uint64, float64, []any and map[string]any.
func ToJSON(v any) any {
	switch v := v.(type) {
	case automerge.Text:
		return string(v)
	case automerge.Uint:
		return uint64(v)
	case automerge.Counter:
		return int64(v)
	case int:
		return int64(v)
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = ToJSON(e)
		}
		return list
	case map[string]any:
		return Map(v)
	}
	return v
}

// Map is ToJSON for a map. It returns an empty map for nil.
func Map(m map[string]any) map[string]any {
	c := make(map[string]any, len(m))
	for k, e := range m {
		c[k] = ToJSON(e)
	}
	return c
}

// Text returns the text of v, which is a Text or a scalar string, and whether it is either.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case automerge.Text:
		return string(v), true
	}
	return "", false
}

// Int returns the whole number v, whichever of the scalar types it has.
func Int(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case uint64:
		return int64(v), v <= 1<<63-1
	case automerge.Uint:
		return int64(v), v <= 1<<63-1
	case automerge.Counter:
		return int64(v), true
	case float64:
		return int64(v), v == float64(int64(v))
	}
	return 0, false
}
