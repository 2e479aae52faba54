package ipynb

import (
	"slices"
	"strings"
)

// field is one member of an object to be written. base is the value's place in
// the old data when the key was there before, and nil otherwise.
type field struct {
	key   string
	write func(base *span, depth int)
}

// splicer writes new values over old data, keeping the bytes of what is equal.
type splicer struct {
	writer
	data []byte
}

func (w *splicer) keep(s span) { w.buf = append(w.buf, s.of(w.data)...) }

// any writes v, keeping the bytes of base where they mean the same.
func (w *splicer) any(base *span, v any, depth int) {
	if base == nil {
		w.value(v, depth)
		return
	}
	d := decoder{data: w.data}
	old, _, err := d.value(base.start)
	if err != nil {
		w.value(v, depth)
		return
	}
	if EqualValues(old, v) {
		w.keep(*base)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if m, ok := old.(map[string]any); ok && len(m) > 0 && len(v) > 0 {
			w.fields(*base, w.fieldsOf(v), depth)
			return
		}
	case []any:
		if l, ok := old.([]any); ok && len(l) > 0 && len(v) > 0 {
			from := align(len(l), len(v), func(i, k int) bool { return EqualValues(l[i], v[k]) })
			w.elements(*base, from, depth, func(k int) { w.value(v[k], depth+1) })
			return
		}
	}
	w.value(v, depth)
}

func (w *splicer) fieldsOf(m map[string]any) []field {
	fields := make([]field, 0, len(m))
	for key, v := range m {
		fields = append(fields, field{key, func(base *span, depth int) { w.any(base, v, depth) }})
	}
	return fields
}

// fields writes an object with exactly these fields. Old ones stay in their
// order; new ones are put in alphabetical order when the old ones are in it, and at the end otherwise.
func (w *splicer) fields(base span, fields []field, depth int) {
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.key, b.key) })
	old, order := w.oldMembers(base)
	sorted := slices.IsSortedFunc(order, func(a, b member) int { return strings.Compare(a.key, b.key) })
	var added []field
	kept := map[string]field{}
	for _, f := range fields {
		if _, ok := old[f.key]; ok {
			kept[f.key] = f
		} else {
			added = append(added, f)
		}
	}
	gap, first, open := "", "", true
	if len(order) > 0 {
		first = string(w.data[base.start+1 : order[0].keySpan.start])
		gap = first
		if w.style.newline == "" {
			gap = w.style.comma[1:]
		}
	}
	if len(order) > 1 {
		gap = string(w.data[order[0].afterValue+1 : order[1].keySpan.start])
	}
	w.buf = append(w.buf, '{')
	item := func(gap string) {
		if !open {
			w.buf = append(w.buf, ',')
		} else {
			gap = first
		}
		open = false
		w.buf = append(w.buf, gap...)
	}
	add := func(f field) {
		item(gap)
		w.key(f.key)
		f.write(nil, depth+1)
	}
	for i, m := range order {
		for sorted && len(added) > 0 && added[0].key < m.key {
			add(added[0])
			added = added[1:]
		}
		f, ok := kept[m.key]
		if !ok || old[m.key].keySpan != m.keySpan {
			continue // gone, or an earlier one of two equal keys
		}
		own := gap
		if i > 0 {
			own = string(w.data[order[i-1].afterValue+1 : m.keySpan.start])
		}
		item(own)
		w.keep(span{m.keySpan.start, m.value.start})
		f.write(&m.value, depth+1)
	}
	for _, f := range added {
		add(f)
	}
	if len(order) > 0 {
		w.keep(span{order[len(order)-1].value.end, base.end})
		return
	}
	w.buf = append(w.buf, '}')
}

// oldMembers returns the members of the object at base, by key and in order.
func (w *splicer) oldMembers(base span) (map[string]member, []member) {
	old := map[string]member{}
	var order []member
	d := decoder{data: w.data}
	_, _ = eachMember(w.data, base.start, 0, func(m member) *fault {
		m.key, _, _ = d.string(m.keySpan.start)
		old[m.key] = m
		order = append(order, m)
		return nil
	})
	return old, order
}

// elements writes an array whose k-th element is the old one from[k], or a new
// one, written by fresh, where from[k] is negative.
func (w *splicer) elements(base span, from []int, depth int, fresh func(k int)) {
	w.elementsBy(base, from, depth, func(k int, old *span) {
		if old != nil {
			w.keep(*old)
			return
		}
		fresh(k)
	})
}

// elementsBy is elements with the old ones written by write too.
func (w *splicer) elementsBy(base span, from []int, depth int, write func(k int, old *span)) {
	var old []span
	_, _ = eachElement(w.data, base.start, 0, func(s span) *fault {
		old = append(old, s)
		return nil
	})
	if len(old) == 0 || len(from) == 0 {
		w.array(len(from), depth, func(k int) { write(k, nil) })
		return
	}
	between := func(i int) string { // the white space before old[i]
		start := base.start + 1
		if i > 0 {
			start = old[i-1].end
			start = skipSpace(w.data, start) + 1
		}
		return string(w.data[start:old[i].start])
	}
	usual := between(min(1, len(old)-1))
	w.buf = append(w.buf, '[')
	for k, i := range from {
		gap := usual
		if i > 0 {
			gap = between(i)
		}
		if k == 0 {
			gap = between(0)
		} else {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, gap...)
		if i >= 0 {
			write(k, &old[i])
		} else {
			write(k, nil)
		}
	}
	w.keep(span{old[len(old)-1].end, base.end})
}

// alignWindow bounds how far align looks ahead for an equal element.
const alignWindow = 256

// align matches new elements with equal old ones, in order. It returns for
// each new one the index of the old one, or -1.
func align(old, new int, equal func(i, k int) bool) []int {
	from := make([]int, new)
	next := 0
	for k := range from {
		from[k] = -1
		for i := next; i < min(old, next+alignWindow); i++ {
			if equal(i, k) {
				from[k], next = i, i+1
				break
			}
		}
	}
	return from
}
