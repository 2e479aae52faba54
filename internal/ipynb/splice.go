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

// fields writes an object with exactly these fields over the one at base.
func (w *splicer) fields(base span, fields []field, depth int) {
	old := w.oldMembers(base)
	if len(old) == 0 {
		w.freshFields(fields, depth)
		return
	}
	first, gap := w.gaps(base, old)
	w.buf = append(w.buf, '{')
	for k, p := range plan(old, fields) {
		space := gap
		if p.old > 0 {
			space = string(w.data[old[p.old-1].afterValue+1 : old[p.old].keySpan.start])
		}
		if k == 0 {
			space = first
		} else {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, space...)
		if p.old < 0 {
			w.key(p.key)
			p.write(nil, depth+1)
			continue
		}
		m := old[p.old]
		w.keep(span{m.keySpan.start, m.value.start})
		p.write(&m.value, depth+1)
	}
	w.keep(span{old[len(old)-1].value.end, base.end})
}

// freshFields writes an object that has no old members.
func (w *splicer) freshFields(fields []field, depth int) {
	w.buf = append(w.buf, '{')
	for i, p := range plan(nil, fields) {
		if i > 0 {
			w.comma()
		}
		w.gap(depth + 1)
		w.key(p.key)
		p.write(nil, depth+1)
	}
	w.gap(depth)
	w.buf = append(w.buf, '}')
}

// gaps returns the white space before the first member and before a new one.
func (w *splicer) gaps(base span, old []member) (first, usual string) {
	switch {
	case len(old) > 1:
		usual = string(w.data[old[0].afterValue+1 : old[1].keySpan.start])
	case w.style.newline == "":
		usual = w.style.comma[1:]
	default:
		usual = string(w.data[base.start+1 : old[0].keySpan.start])
	}
	return string(w.data[base.start+1 : old[0].keySpan.start]), usual
}

// placed is a field with the index of the old member that it replaces, or -1.
type placed struct {
	field
	old int
}

// plan puts fields in order. Those that were there stay where they were; new
// ones go in alphabetical order when the old ones are in it, and at the end otherwise.
func plan(old []member, fields []field) []placed {
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.key, b.key) })
	sorted := slices.IsSortedFunc(old, func(a, b member) int { return strings.Compare(a.key, b.key) })
	last := make(map[string]int, len(old)) // of equal keys the last one counts
	for i, m := range old {
		last[m.key] = i
	}
	var added []field
	kept := make(map[int]field, len(fields))
	for _, f := range fields {
		if i, ok := last[f.key]; ok {
			kept[i] = f
		} else {
			added = append(added, f)
		}
	}
	var list []placed
	for i, m := range old {
		for sorted && len(added) > 0 && added[0].key < m.key {
			list, added = append(list, placed{added[0], -1}), added[1:]
		}
		if f, ok := kept[i]; ok {
			list = append(list, placed{f, i})
		}
	}
	for _, f := range added {
		list = append(list, placed{f, -1})
	}
	return list
}

// oldMembers returns the members of the object at base in order.
func (w *splicer) oldMembers(base span) []member {
	var old []member
	d := decoder{data: w.data}
	_, _ = eachMember(w.data, base.start, 0, func(m member) *fault {
		m.key, _, _ = d.string(m.keySpan.start)
		old = append(old, m)
		return nil
	})
	return old
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
