package ipynb

import (
	"bytes"
	"fmt"
	"maps"
)

// Render returns n as the bytes of a file. With a base, normally the File last
// read from or written to the place that is saved to, everything equal to it
// keeps its bytes; cells are found by ID. Without one the result is what
// Python's nbformat would write.
func Render(base *File, n Notebook) ([]byte, error) {
	for _, c := range n.Cells {
		for i, o := range c.Outputs {
			if valueOf(o) == nil {
				return nil, fmt.Errorf("render output %d of cell %s: it has no value", i+1, c.ID)
			}
		}
	}
	w := &splicer{writer: writer{style: canonical}}
	if base == nil || base.data == nil {
		w.whole(base, n)
		return w.result()
	}
	r := &renderer{splicer: w, base: base, n: n, from: matchCells(base, n.Cells)}
	w.data, w.style = base.data, base.style
	if base.faithful && r.unchanged() {
		return bytes.Clone(base.data), nil
	}
	w.buf = make([]byte, 0, len(base.data)+r.growth())
	r.document()
	return w.result()
}

func (w *splicer) result() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.buf, nil
}

// whole writes a notebook without old bytes.
func (w *splicer) whole(base *File, n Notebook) {
	top := map[string]any{}
	if base != nil {
		maps.Copy(top, base.Extra)
	}
	top["metadata"], top["nbformat"], top["nbformat_minor"] = orEmpty(n.Metadata), Major, Minor
	cells := make([]any, len(n.Cells))
	for i, c := range n.Cells {
		cells[i] = freshCell(c)
	}
	top["cells"] = cells
	w.value(top, 0)
	w.buf = append(w.buf, '\n')
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// freshCell returns c as the JSON object that nbformat writes.
func freshCell(c Cell) map[string]any {
	cell := map[string]any{}
	maps.Copy(cell, c.Extra)
	cell["cell_type"], cell["id"], cell["metadata"] = c.Type, writtenID(c), orEmpty(c.Metadata)
	cell["source"] = linesOf(lf(c.Source))
	switch {
	case c.Type == TypeCode:
		cell["execution_count"] = countOf(c)
		outputs := make([]any, len(c.Outputs))
		for i, o := range c.Outputs {
			outputs[i] = freshOutput(o)
		}
		cell["outputs"] = outputs
	case len(c.Attachments) > 0:
		cell["attachments"] = splitAttachments(c.Attachments)
	}
	return cell
}

// writtenID returns the id that c has in a file: its own, or one derived from it when that is not legal.
func writtenID(c Cell) string {
	if LegalID(c.ID) {
		return c.ID
	}
	return freshID(nil, Cell{Type: c.ID, Source: c.Source}, nil)
}

func countOf(c Cell) any {
	if c.ExecutionCount == nil {
		return nil
	}
	return *c.ExecutionCount
}

func freshOutput(o Output) map[string]any { return CanonicalOutput(valueOf(o)) }

// valueOf returns the value of an output, from its bytes when it has no other.
func valueOf(o Output) map[string]any {
	if o.Value != nil || len(o.Raw) == 0 {
		return o.Value
	}
	d := decoder{data: o.Raw}
	start := skipSpace(o.Raw, 0)
	if _, err := skipValue(o.Raw, start, 0); err != nil {
		return nil
	}
	v, _, err := d.value(start)
	if err != nil {
		return nil
	}
	m, _ := v.(map[string]any)
	return m
}

// renderer writes a notebook over the file it came from.
type renderer struct {
	*splicer
	base *File
	n    Notebook
	from []int // for each cell of n the cell of base with its id, or -1
}

// matchCells finds for each cell the one of base with the same id.
func matchCells(base *File, cells []Cell) []int {
	byID := make(map[string]int, len(base.Cells))
	for i, c := range base.Cells {
		byID[c.ID] = i
	}
	from := make([]int, len(cells))
	for k, c := range cells {
		i, ok := byID[c.ID]
		if !ok {
			i = -1
		}
		from[k] = i
	}
	return from
}

// unchanged says that there is nothing to write.
func (r *renderer) unchanged() bool {
	if len(r.from) != len(r.base.Cells) || !EqualValues(orEmpty(r.base.Metadata), orEmpty(r.n.Metadata)) {
		return false
	}
	for k, i := range r.from {
		if i != k || !EqualCells(r.base.Cells[i], r.n.Cells[k]) {
			return false
		}
	}
	return true
}

// EqualCells says that b is written with the bytes of a, which was parsed from a file.
func EqualCells(a, b Cell) bool {
	return a.ID == b.ID && a.Type == b.Type && a.Source == lf(b.Source) &&
		EqualValues(orEmpty(a.Metadata), orEmpty(b.Metadata)) && equalExtra(a, b) &&
		(a.Type != TypeCode || EqualValues(countOf(a), countOf(b)) && EqualOutputs(a.Outputs, b.Outputs)) &&
		(a.Type == TypeCode || EqualValues(orEmpty(a.Attachments), orEmpty(joinedAttachments(b.Attachments))))
}

func equalExtra(a, b Cell) bool { return b.Extra == nil || EqualValues(orEmpty(a.Extra), b.Extra) }

// EqualOutputs says that two lists of outputs mean the same.
func EqualOutputs(a, b []Output) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equalOutput(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalOutput(a, b Output) bool {
	x, y := JoinedOutput(valueOf(a)), JoinedOutput(valueOf(b))
	return EqualValues(x, y)
}

// growth estimates how many bytes the file grows by.
func (r *renderer) growth() int {
	n := 4096
	for k, i := range r.from {
		c := r.n.Cells[k]
		n += 16 + len(c.Source)/8
		more := weight(c.Outputs)
		if i >= 0 {
			more -= weight(r.base.Cells[i].Outputs)
		} else {
			more += len(c.Source)
		}
		n += max(0, more)
	}
	return n
}

// weight adds up the text of outputs.
func weight(outputs []Output) int {
	n := 0
	for _, o := range outputs {
		n += textLength(valueOf(o))
	}
	return n
}

// textLength adds up the lengths of the strings in v.
func textLength(v any) int {
	n := 0
	switch v := v.(type) {
	case string:
		n = len(v)
	case []any:
		for _, x := range v {
			n += textLength(x)
		}
	case map[string]any:
		for _, x := range v {
			n += textLength(x)
		}
	}
	return n
}

// document writes the outermost object and what surrounds it.
func (r *renderer) document() {
	start := skipSpace(r.data, 0)
	end, _ := skipValue(r.data, start, 0)
	r.keep(span{0, start})
	fields := []field{
		{"cells", r.cells},
		{"metadata", func(base *span, depth int) { r.any(base, mapValue(r.n.Metadata), depth) }},
		{"nbformat", func(base *span, depth int) { r.any(base, Major, depth) }},
		{"nbformat_minor", func(base *span, depth int) { r.any(base, max(r.base.Minor, Minor), depth) }},
	}
	for key, v := range r.base.Extra {
		fields = append(fields, field{key, func(base *span, depth int) { r.any(base, v, depth) }})
	}
	r.fields(span{start, end}, fields, 0)
	r.keep(span{end, len(r.data)})
}

func mapValue(m map[string]any) any { return orEmpty(m) }

// cells writes the list of cells.
func (r *renderer) cells(base *span, depth int) {
	r.elementsBy(*base, r.from, depth, func(k int, old *span) { r.cell(r.n.Cells[k], r.from[k], old, depth+1) })
}

// cell writes c over the i-th cell of the base, whose place is old, or afresh when that is nil.
func (r *renderer) cell(c Cell, i int, old *span, depth int) {
	if old == nil {
		r.value(freshCell(c), depth)
		return
	}
	was := r.base.Cells[i]
	if !was.IDMade && EqualCells(was, c) {
		r.keep(*old)
		return
	}
	fields := []field{
		{"cell_type", func(base *span, depth int) { r.any(base, c.Type, depth) }},
		{"id", func(base *span, depth int) { r.any(base, writtenID(c), depth) }},
		{"metadata", func(base *span, depth int) { r.any(base, mapValue(c.Metadata), depth) }},
		{"source", func(base *span, depth int) { r.source(base, was, c, r.base.info[i].crlf, depth) }},
	}
	if c.Type == TypeCode {
		fields = append(fields,
			field{"execution_count", func(base *span, depth int) { r.any(base, countOf(c), depth) }},
			field{"outputs", func(base *span, depth int) { r.outputs(base, was, c, depth) }})
	} else if len(c.Attachments) > 0 {
		fields = append(fields, field{"attachments", func(base *span, depth int) { r.attachments(base, was, c, depth) }})
	}
	extra := c.Extra
	if extra == nil {
		extra = was.Extra
	}
	for key, v := range extra {
		if was.Type != c.Type && (key == "attachments" || key == "outputs" || key == "execution_count") {
			continue
		}
		fields = append(fields, field{key, func(base *span, depth int) { r.any(base, v, depth) }})
	}
	r.fields(*old, fields, depth)
}

// source writes the text of a cell, line by line, keeping the line ends the cell had.
func (r *renderer) source(base *span, was, c Cell, crlf bool, depth int) {
	text := lf(c.Source)
	if base != nil && was.Source == text {
		r.keep(*base)
		return
	}
	if crlf {
		text = string(bytes.ReplaceAll([]byte(text), []byte("\n"), []byte("\r\n")))
	}
	lines := SplitLines(text)
	var old []any
	if base != nil {
		d := decoder{data: r.data}
		v, _, _ := d.value(base.start)
		old, _ = v.([]any)
	}
	if len(old) == 0 || len(lines) == 0 {
		r.value(lines, depth)
		return
	}
	from := align(len(old), len(lines), func(i, k int) bool {
		s, ok := old[i].(string)
		return ok && (s == lines[k] || lf(s) == lines[k])
	})
	r.elements(*base, from, depth, func(k int) { r.string(lines[k]) })
}

// outputs writes the outputs of a cell, keeping the bytes of those that are still there.
func (r *renderer) outputs(base *span, was, c Cell, depth int) {
	if base != nil && EqualOutputs(was.Outputs, c.Outputs) {
		r.keep(*base)
		return
	}
	fresh := func(k int) { r.value(freshOutput(c.Outputs[k]), depth+1) }
	if base == nil || len(was.Outputs) == 0 {
		r.array(len(c.Outputs), depth, fresh)
		return
	}
	from := align(len(was.Outputs), len(c.Outputs), func(i, k int) bool { return equalOutput(was.Outputs[i], c.Outputs[k]) })
	r.elements(*base, from, depth, fresh)
}

// attachments writes the attachments of a cell.
func (r *renderer) attachments(base *span, was, c Cell, depth int) {
	if base != nil && EqualValues(orEmpty(was.Attachments), joinedAttachments(c.Attachments)) {
		r.keep(*base)
		return
	}
	r.any(base, splitAttachments(c.Attachments), depth)
}
