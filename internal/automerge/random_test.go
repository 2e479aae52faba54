package automerge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pieces are what random text consists of: one to four bytes a code point,
// one or two UTF-16 units, joined emoji, combining marks.
var pieces = []string{
	"a", "bc", " ", "\n", "é", "e\u0301", "日本", "🙂", "👩\u200d👩\u200d👧", "🏳️\u200d🌈", "\U0001F1E9\U0001F1EA", "\u0000", "ß\u0323", "x = 1\n",
}

func randomText(r *rand.Rand, n int) string {
	s := ""
	for range r.IntN(n + 1) {
		s += pieces[r.IntN(len(pieces))]
	}
	return s
}

func randomScalar(r *rand.Rand) any {
	switch r.IntN(9) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.Int64N(1<<53) - r.Int64N(1<<53)
	case 3:
		return Uint(r.Uint64N(1 << 53))
	case 4:
		return r.NormFloat64()
	case 5:
		return []byte(randomText(r, 3))
	case 6:
		return Counter(r.IntN(10))
	case 7:
		return Timestamp(r.Int64N(1 << 40))
	}
	return randomText(r, 4)
}

func randomValue(r *rand.Rand, depth int) any {
	if depth <= 0 || r.IntN(2) == 0 {
		return randomScalar(r)
	}
	switch r.IntN(4) {
	case 0:
		return Text(randomText(r, 6))
	case 1:
		l := List{}
		for range r.IntN(4) {
			l = append(l, randomValue(r, depth-1))
		}
		return l
	case 2:
		m := map[string]any{}
		for range r.IntN(4) {
			m[randomKey(r)] = randomValue(r, depth-1)
		}
		return m
	}
	m := Map{}
	for i := range r.IntN(3) {
		m = append(m, Entry{fmt.Sprint("k", i), randomValue(r, depth-1)})
	}
	return m
}

func randomKey(r *rand.Rand) string { return []string{"a", "b", "c", "d", "é🙂"}[r.IntN(5)] }

// randomOp adds one valid operation on some object of root to b.
func randomOp(r *rand.Rand, b *Batch, root map[string]any) {
	o, v := b.Root(), any(root)
	for r.IntN(4) > 0 {
		next, child := descend(r, b, o, v)
		if child == nil {
			break
		}
		o, v = next, child
	}
	switch x := v.(type) {
	case map[string]any:
		randomMapOp(r, b, o, x)
	case []any:
		randomListOp(r, b, o, x)
	case Text:
		randomTextOp(r, b, o, string(x))
	}
}

// descend goes from v to a random object in it, if there is one.
func descend(r *rand.Rand, b *Batch, o Obj, v any) (Obj, any) {
	switch x := v.(type) {
	case map[string]any:
		var keys []string
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if isObject(x[k]) {
				keys = append(keys, k)
			}
		}
		if len(keys) > 0 {
			k := keys[r.IntN(len(keys))]
			return b.Get(o, k), x[k]
		}
	case []any:
		var at []int
		for i, e := range x {
			if isObject(e) {
				at = append(at, i)
			}
		}
		if len(at) > 0 {
			i := at[r.IntN(len(at))]
			return b.GetIndex(o, i), x[i]
		}
	}
	return o, nil
}

func randomMapOp(r *rand.Rand, b *Batch, o Obj, m map[string]any) {
	k := randomKey(r)
	if _, ok := m[k].(Counter); ok && r.IntN(2) == 0 {
		b.Increment(o, k, r.Int64N(100)-50)
		return
	}
	if r.IntN(4) == 0 {
		b.Delete(o, k)
		return
	}
	b.Put(o, k, randomValue(r, 3))
}

func randomListOp(r *rand.Rand, b *Batch, o Obj, l []any) {
	switch n := r.IntN(10); {
	case n == 0:
		b.ClearList(o)
	case n < 3 && len(l) > 0:
		b.DeleteIndex(o, r.IntN(len(l)))
	case n < 5 && len(l) > 0:
		b.SetIndex(o, r.IntN(len(l)), randomValue(r, 2))
	default:
		b.Insert(o, r.IntN(len(l)+1), randomValue(r, 2))
	}
}

func randomTextOp(r *rand.Rand, b *Batch, o Obj, s string) {
	n := CodePointLen(s)
	pos := r.IntN(n + 1)
	if r.IntN(4) == 0 {
		cut := ByteOffset(s, pos)
		b.UpdateText(o, s[:cut]+randomText(r, 4)+s[cut:])
		return
	}
	b.Splice(o, pos, r.IntN(min(n-pos, 4)+1), randomText(r, 4))
}

// randomChange applies a random batch to d. Later operations of a batch see
// what earlier ones did only in the machine, so a batch may fail; then nothing
// may have changed.
func randomChange(t testing.TB, r *rand.Rand, d *Doc, opts ...ApplyOption) Update {
	t.Helper()
	b := NewBatch()
	if r.IntN(8) == 0 {
		b.Plain()
	}
	d.View(func(root map[string]any) {
		for range 1 + r.IntN(3) {
			randomOp(r, b, root)
		}
	})
	before := d.Heads()
	up, err := d.Apply(b, opts...)
	if err != nil {
		if !SameHeads(before, d.Heads()) {
			t.Fatalf("failed batch moved the heads: %v", err)
		}
		return Update{Before: before, Heads: before}
	}
	return up
}

// checkMirror compares the mirror with the machine and asserts that patches
// always fitted.
func checkMirror(t testing.TB, d *Doc) {
	t.Helper()
	want := truth(t, d)
	got, _ := d.Get()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("mirror (-machine +mirror):\n%s", diff)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.resyncs > 0 {
		t.Fatalf("mirror was read anew %d times", d.resyncs)
	}
}
