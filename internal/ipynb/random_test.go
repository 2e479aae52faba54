package ipynb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomText returns text with what makes JSON and line splitting hard.
func randomText(r *rand.Rand) string {
	parts := []string{"x = 1", "\n", "\n", "\"", "\\", "\t", "é笔😀", "</script>&", "\u2028", "\r", "\x01\x7f", " ", "\u0085", "# "}
	s := ""
	for range r.IntN(8) {
		s += parts[r.IntN(len(parts))]
	}
	return s
}

// randomValue returns a JSON value of the types that Parse makes.
func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(10); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return r.Int64() - r.Int64()
	case n == 3:
		return float64(r.IntN(1000)) / 8
	case n == 4:
		return json.Number("123456789012345678901234567890")
	case n < 7 || depth > 3:
		return randomText(r)
	case n < 8:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, randomValue(r, depth+1))
		}
		return list
	}
	return randomMap(r, depth+1)
}

func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[fmt.Sprintf("k%d%s", r.IntN(20), strings.TrimSpace(randomText(r)))] = randomValue(r, depth)
	}
	return m
}

func randomOutput(r *rand.Rand) Output {
	v := map[string]any{"output_type": "stream", "name": "stderr", "text": randomText(r)}
	switch r.IntN(4) {
	case 0:
		v = map[string]any{"output_type": "error", "ename": "E", "evalue": randomText(r), "traceback": []any{"a\nb", randomText(r)}}
	case 1:
		v = map[string]any{"output_type": "display_data", "metadata": randomMap(r, 2), "data": map[string]any{
			"text/plain": randomText(r), "image/png": "AAAA\n", "application/json": map[string]any{"k": randomValue(r, 1)},
			"image/svg+xml": "<svg>\n</svg>", "application/vnd.x+json": []any{"a", "b"},
		}}
	case 2:
		v = map[string]any{"output_type": "execute_result", "execution_count": int64(r.IntN(9)), "metadata": map[string]any{}, "data": map[string]any{"text/html": randomText(r)}}
	}
	return Output{Value: v}
}

func randomCell(r *rand.Rand, id string) Cell {
	c := Cell{ID: id, Type: []string{TypeCode, TypeCode, TypeMarkdown, TypeRaw}[r.IntN(4)], Source: randomText(r), Metadata: randomMap(r, 1)}
	switch c.Type {
	case TypeCode:
		if r.IntN(2) == 0 {
			n := int64(r.IntN(100))
			c.ExecutionCount = &n
		}
		for range r.IntN(4) {
			c.Outputs = append(c.Outputs, randomOutput(r))
		}
	default:
		if r.IntN(3) == 0 {
			c.Attachments = map[string]any{"a.txt": map[string]any{"text/plain": "one\ntwo", "image/png": "AA=="}}
		}
	}
	return c
}

func randomNotebook(r *rand.Rand) Notebook {
	n := Notebook{Metadata: randomMap(r, 0)}
	for i := range r.IntN(6) {
		n.Cells = append(n.Cells, randomCell(r, fmt.Sprintf("cell-%d", i)))
	}
	return n
}

// mutate changes, adds, removes and moves cells and their parts, copying what it changes.
func mutate(r *rand.Rand, n *Notebook) {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(n.Cells) + 1)
		if at == len(n.Cells) || r.IntN(8) == 0 {
			n.Cells = slices.Insert(slices.Clone(n.Cells), at, randomCell(r, fmt.Sprintf("new-%d", r.Uint32())))
			continue
		}
		c := &n.Cells[at]
		switch r.IntN(8) {
		case 0:
			c.Source = randomText(r)
		case 1:
			c.Source += "\nmore"
		case 2:
			c.Metadata = randomMap(r, 1)
		case 3:
			if c.Type == TypeCode {
				c.Outputs = append(slices.Clone(c.Outputs), randomOutput(r))
			}
		case 4:
			c.Outputs = nil
			c.ExecutionCount = nil
		case 5:
			n.Cells = slices.Delete(slices.Clone(n.Cells), at, at+1)
		case 6:
			to := r.IntN(len(n.Cells))
			n.Cells = slices.Clone(n.Cells)
			n.Cells[at], n.Cells[to] = n.Cells[to], n.Cells[at]
		case 7:
			n.Metadata = randomMap(r, 0)
		}
	}
}

// restyled lays data out in another style: nbformat's own, indents of 2, 4 and
// a tab, one line, or CRLF.
func restyled(t testing.TB, data []byte, style int) []byte {
	t.Helper()
	var out bytes.Buffer
	var err error
	switch style {
	case 1:
		err = json.Indent(&out, data, "", "    ")
	case 2:
		err = json.Indent(&out, data, "", "\t")
	case 3:
		err = json.Compact(&out, data)
	case 4:
		out.Write(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	case 5:
		err = json.Indent(&out, data, "", "  ")
		out.WriteString("\n\n")
	default:
		out.Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRandomEdits edits random notebooks in files of all styles. What was not
// edited keeps its bytes, and the file reads back as what was written.
func TestRandomEdits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 600 {
		data := restyled(t, render(t, nil, randomNotebook(r)), i%6)
		f, err := Parse(data, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if out := render(t, f, f.Notebook()); !bytes.Equal(out, data) {
			t.Fatalf("untouched:\n%q\n%q", out, data)
		}
		n := f.Notebook()
		mutate(r, &n)
		out := render(t, f, n)
		same(t, out, f, n)
		g, err := Parse(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, c := range g.Cells {
			at := slices.IndexFunc(f.Cells, func(old Cell) bool { return old.ID == c.ID })
			if at >= 0 && EqualCells(f.Cells[at], c) && !bytes.Equal(f.info[at].of(f.data), g.info[k].of(g.data)) {
				t.Fatalf("cell %s changed its bytes:\n%q\n%q", c.ID, f.info[at].of(f.data), g.info[k].of(g.data))
			}
		}
		if i%6 == 4 && bytes.Count(out, []byte("\n")) != bytes.Count(out, []byte("\r\n")) {
			t.Fatalf("mixed line ends:\n%q", out)
		}
		if i%6 == 3 && bytes.Contains(out, []byte("\n")) {
			t.Fatalf("line ends in a file on one line:\n%q", out)
		}
	}
}
