package docvalue

import (
	"maps"
	"slices"

	"runt/internal/automerge"
)

// Equal says whether two values, each from a document or from JSON, read the
// same: a Text equals a string, and signed equals unsigned, but 1 is not 1.0.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, m, Equal)
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, Equal)
	case []byte:
		s, ok := b.([]byte)
		return ok && slices.Equal(a, s)
	case float64:
		f, ok := b.(float64)
		return ok && (a == f || a != a && f != f)
	case uint64:
		u, ok := unsigned(b)
		return ok && a == u
	case automerge.Uint:
		u, ok := unsigned(b)
		return ok && uint64(a) == u
	}
	if s, ok := Text(a); ok {
		t, ok := Text(b)
		return ok && s == t
	}
	if i, ok := Int(a); ok {
		_, float := b.(float64)
		j, ok := Int(b)
		return ok && !float && i == j
	}
	switch b.(type) {
	case map[string]any, []any, []byte:
		return false
	}
	return a == b
}

// Merge adds to b the changes that bring the map o, which now reads as old, to
// want: keys are put, replaced and deleted one by one, maps within maps are
// entered. It returns how many there were. Both maps must hold document values.
func Merge(b *automerge.Batch, o automerge.Obj, old, want map[string]any) int {
	n := 0
	for _, key := range slices.Sorted(maps.Keys(old)) {
		if _, ok := want[key]; !ok {
			b.Delete(o, key)
			n++
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		n += MergeKey(b, o, key, old, want[key])
	}
	return n
}

// MergeKey is Merge for one key of the map o.
func MergeKey(b *automerge.Batch, o automerge.Obj, key string, old map[string]any, want any) int {
	had, exists := old[key]
	if exists && Equal(had, want) {
		return 0
	}
	from, isMap := had.(map[string]any)
	to, wantMap := want.(map[string]any)
	if isMap && wantMap {
		return Merge(b, b.Get(o, key), from, to)
	}
	b.Put(o, key, want)
	return 1
}

func unsigned(v any) (uint64, bool) {
	switch v := v.(type) {
	case uint64:
		return v, true
	case automerge.Uint:
		return uint64(v), true
	case float64:
		return 0, false
	}
	i, ok := Int(v)
	return uint64(i), ok && i >= 0
}
