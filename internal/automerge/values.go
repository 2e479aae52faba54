package automerge

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The types that stand in documents besides nil, bool, int64, uint64, float64,
// string (a scalar string), []byte, map[string]any and []any.
type (
	// Text is a collaborative text, merged character by character. A plain
	// string is a scalar: the last writer wins.
	Text string
	// Uint writes an unsigned integer; reading gives uint64.
	Uint uint64
	// Counter is an integer that merges by adding up; see Batch.Increment.
	Counter int64
	// Timestamp is a time in milliseconds since 1970.
	Timestamp int64
	// Map is a map to be written in the order given.
	Map []Entry
	// List is a list.
	List = []any
	// Unknown is a scalar of a type that this version does not know.
	Unknown struct {
		Type  byte
		Bytes []byte
	}
)

// Entry is one key of a Map.
type Entry struct {
	Key   string
	Value any
}

const (
	tagNull byte = iota
	tagFalse
	tagTrue
	tagInt
	tagUint
	tagFloat
	tagString
	tagText
	tagBytes
	tagCounter
	tagTimestamp
	tagMap
	tagList
	tagUnknown
)

// maxDepth is how deep values may be nested; the shim has the same limit.
const maxDepth = 200

// appendValue appends v as the shim reads it. An integer keeps its kind: only
// Uint and uint64 become unsigned.
func appendValue(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxDepth {
		return b, fmt.Errorf("value is nested more than %d deep", maxDepth)
	}
	switch x := v.(type) {
	case nil:
		return append(b, tagNull), nil
	case bool:
		if x {
			return append(b, tagTrue), nil
		}
		return append(b, tagFalse), nil
	case string:
		return appendString(append(b, tagString), x), nil
	case Text:
		return appendString(append(b, tagText), string(x)), nil
	case []byte:
		return appendBytes(append(b, tagBytes), x), nil
	case Map:
		return appendMap(b, x, depth)
	case map[string]any:
		return appendGoMap(b, x, depth)
	case []any:
		return appendList(b, x, depth)
	}
	return appendNumber(b, v)
}

func appendNumber(b []byte, v any) ([]byte, error) {
	num := func(tag byte, n uint64) ([]byte, error) {
		return binary.LittleEndian.AppendUint64(append(b, tag), n), nil
	}
	switch x := v.(type) {
	case int:
		return num(tagInt, uint64(x))
	case int32:
		return num(tagInt, uint64(int64(x)))
	case int64:
		return num(tagInt, uint64(x))
	case Uint:
		return num(tagUint, uint64(x))
	case uint64:
		return num(tagUint, x)
	case uint32:
		return num(tagUint, uint64(x))
	case float64:
		return num(tagFloat, math.Float64bits(x))
	case Counter:
		return num(tagCounter, uint64(x))
	case Timestamp:
		return num(tagTimestamp, uint64(x))
	}
	return b, fmt.Errorf("a %T cannot stand in a document", v)
}

func appendMap(b []byte, m Map, depth int) ([]byte, error) {
	b = appendU32(append(b, tagMap), len(m))
	var err error
	for _, e := range m {
		b = appendString(b, e.Key)
		if b, err = appendValue(b, e.Value, depth+1); err != nil {
			return b, fmt.Errorf("%s: %w", e.Key, err)
		}
	}
	return b, nil
}

func appendGoMap(b []byte, m map[string]any, depth int) ([]byte, error) {
	b = appendU32(append(b, tagMap), len(m))
	var err error
	for _, k := range sortedKeys(m) {
		b = appendString(b, k)
		if b, err = appendValue(b, m[k], depth+1); err != nil {
			return b, fmt.Errorf("%s: %w", k, err)
		}
	}
	return b, nil
}

func appendList(b []byte, l []any, depth int) ([]byte, error) {
	b = appendU32(append(b, tagList), len(l))
	var err error
	for i, v := range l {
		if b, err = appendValue(b, v, depth+1); err != nil {
			return b, fmt.Errorf("%d: %w", i, err)
		}
	}
	return b, nil
}

// isObject reports whether v becomes an object (a map, list or text) of its own.
func isObject(v any) bool {
	switch v.(type) {
	case Text, Map, map[string]any, []any:
		return true
	}
	return false
}

// Clone returns a copy of a document value that shares nothing mutable with it.
func Clone(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = Clone(e)
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, e := range x {
			l[i] = Clone(e)
		}
		return l
	case []byte:
		return append([]byte{}, x...)
	}
	return v
}
