package ipynb

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// touched returns the lines of after that differ from before, as the one piece
// between the common beginning and the common end, and the lines they replace.
func touched(before, after []byte) (old, new []string) {
	old, new = strings.SplitAfter(string(before), "\n"), strings.SplitAfter(string(after), "\n")
	for len(old) > 0 && len(new) > 0 && old[0] == new[0] {
		old, new = old[1:], new[1:]
	}
	for len(old) > 0 && len(new) > 0 && old[len(old)-1] == new[len(new)-1] {
		old, new = old[:len(old)-1], new[:len(new)-1]
	}
	return old, new
}

// strange is a notebook with unknown keys at every level, unsorted keys, an
// indent of 2, escaped characters, odd numbers and lists on one line.
const strange = `{
  "nbformat": 4,
  "nbformat_minor": 5,
  "lab_top": {"schema": 3, "big": 123456789012345678901234567890},
  "cells": [
    {
      "id": "one",
      "cell_type": "code",
      "lab_cell": {"owner": "\u00e9\u7b14", "ratio": 1.50},
      "metadata": { "tags": ["keep", "this"], "lab": {"deep": [1, {"z": null}], "huge": 1e400, "tiny": 1e-400} },
      "execution_count": 7,
      "outputs": [
        {"output_type": "stream", "name": "stdout", "text": "one\ntwo\n", "lab_output": true},
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "AAAA\n", "application/json": {"n": 1.0}}}
      ],
      "source": ["caf\u00e9 = 1\n", "\u003cb\u003e\n", "last"]
    },
    {
      "id": "two",
      "cell_type": "markdown",
      "metadata": {},
      "source": "plain\nstring"
    },
    {"id": "three", "cell_type": "raw", "metadata": {}, "source": []}
  ],
  "metadata": {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "env": {"A": "1"}, "interrupt_mode": "signal"},
    "authors": [{"name": "Sample"}]
  }
}`

func TestC058_UnknownKeysAreKept(t *testing.T) {
	f := parse(t, strange)
	n := f.Notebook()
	for i := range n.Cells {
		n.Cells[i].Extra = nil // as from a document that knows nothing of them
	}
	n.Cells[0].Source = "café = 2\n<b>\nlast"
	n.Cells[0].ExecutionCount = ptr(8)
	n.Cells[0].Outputs = []Output{{Value: map[string]any{"output_type": "stream", "name": "stdout", "text": "three\n"}}}
	out := render(t, f, n)
	want := strings.NewReplacer(
		`"caf\u00e9 = 1\n"`, `"café = 2\n"`,
		`"execution_count": 7`, `"execution_count": 8`,
		strange[strings.Index(strange, `{"output_type": "stream"`):strings.Index(strange, `      ],`)], `{
          "name": "stdout",
          "output_type": "stream",
          "text": [
            "three\n"
          ]
        }
`).Replace(strange)
	if string(out) != want {
		t.Errorf("written as\n%s\nwant\n%s", out, want)
	}
}

func TestC058_MetadataIsChangedKeyByKey(t *testing.T) {
	f := parse(t, strange)
	n := f.Notebook()
	n.Cells[0].Metadata = map[string]any{"tags": []any{"keep", "new", "this"}, "lab": f.Cells[0].Metadata["lab"], "collapsed": true}
	n.Metadata = map[string]any{"kernelspec": f.Metadata["kernelspec"], "authors": []any{}, "title": "T"}
	want := strings.NewReplacer(
		`["keep", "this"]`, `["keep", "new", "this"]`,
		`"tiny": 1e-400} }`, `"tiny": 1e-400}, "collapsed": true }`,
		`[{"name": "Sample"}]`, "[],\n    \"title\": \"T\"",
	).Replace(strange)
	if out := render(t, f, n); string(out) != want {
		t.Errorf("written as\n%s\nwant\n%s", out, want)
	}
}

// TestC059_EditTouchesOnlyThatCell edits each cell of notebooks of several
// styles: no line outside the cell changes, and in nbformat's own style only
// the line that was edited.
func TestC059_EditTouchesOnlyThatCell(t *testing.T) {
	texts := map[string]string{"strange": strange, "crlf": strings.ReplaceAll(strange, "\n", "\r\n"), "canonical": string(render(t, nil, parse(t, strange).Notebook()))}
	texts["tabs"] = strings.ReplaceAll(texts["canonical"], "\n ", "\n\t")
	for name, text := range texts {
		f := parse(t, text)
		for i, c := range f.Cells {
			out := edited(t, text, i, "# edited\n")
			old, new := touched([]byte(text), out)
			cell := string(f.info[i].of(f.data))
			if c.Source != "" && name == "canonical" && (len(old) > 0 || len(new) != 1) {
				t.Errorf("%s, cell %d: %q became %q", name, i, old, new)
			}
			for _, l := range old {
				if !strings.Contains(cell, strings.TrimRight(l, "\r\n")) && !strings.Contains(l, cell) {
					t.Errorf("%s, cell %d: line %q was touched", name, i, l)
				}
			}
		}
	}
}

func TestC059_CellsAddedMovedAndRemoved(t *testing.T) {
	f := parse(t, strange)
	n := f.Notebook()
	n.Cells = []Cell{n.Cells[2], {ID: "new", Type: TypeMarkdown, Source: "a\nb"}, n.Cells[0]}
	out := string(render(t, f, n))
	one := string(f.info[0].of(f.data))
	for _, piece := range []string{
		"[\n    {\"id\": \"three\", \"cell_type\": \"raw\", \"metadata\": {}, \"source\": []},\n    {",
		"\n    {\n      \"cell_type\": \"markdown\",\n      \"id\": \"new\",\n      \"metadata\": {},\n      \"source\": [\n        \"a\\n\",\n        \"b\"\n      ]\n    },\n    " + one + "\n  ],",
	} {
		if !strings.Contains(out, piece) {
			t.Errorf("written as\n%s\nwhich lacks\n%s", out, piece)
		}
	}
	if strings.Contains(out, "plain") {
		t.Error("the removed cell is still there")
	}
}

// TestC059_OneRuleForOtherStyles is the rule for files that nbformat would not
// write like this: untouched parts keep their style, new parts take it on.
func TestC059_OneRuleForOtherStyles(t *testing.T) {
	for name, c := range map[string]struct{ cells, want string }{
		"four blanks, no final newline": {
			"{\n    \"cells\": [],\n    \"nbformat\": 4,\n    \"nbformat_minor\": 5,\n    \"metadata\": {}\n}",
			"{\n    \"cells\": [\n        {\n            \"cell_type\": \"raw\",\n            \"id\": \"n\",\n            \"metadata\": {},\n            \"source\": [\n                \"x\"\n            ]\n        }\n    ],\n    \"nbformat\": 4,\n    \"nbformat_minor\": 5,\n    \"metadata\": {}\n}",
		},
		"one line": {
			`{"cells":[],"nbformat":4,"nbformat_minor":5,"metadata":{}}`,
			`{"cells":[{"cell_type":"raw","id":"n","metadata":{},"source":["x"]}],"nbformat":4,"nbformat_minor":5,"metadata":{}}`,
		},
		"one line with blanks": {
			"{\"cells\": [], \"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}}\n",
			"{\"cells\": [{\"cell_type\": \"raw\", \"id\": \"n\", \"metadata\": {}, \"source\": [\"x\"]}], \"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}}\n",
		},
		"tabs and CRLF": {
			"{\r\n\t\"cells\": [],\r\n\t\"nbformat\": 4,\r\n\t\"nbformat_minor\": 5\r\n}\r\n",
			"{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"raw\",\r\n\t\t\t\"id\": \"n\",\r\n\t\t\t\"metadata\": {},\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"x\"\r\n\t\t\t]\r\n\t\t}\r\n\t],\r\n\t\"metadata\": {},\r\n\t\"nbformat\": 4,\r\n\t\"nbformat_minor\": 5\r\n}\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, c.cells)
			if out := render(t, f, f.Notebook()); string(out) != c.cells {
				t.Errorf("untouched file is rewritten:\n%q", out)
			}
			n := f.Notebook()
			n.Cells = []Cell{{ID: "n", Type: TypeRaw, Source: "x"}}
			if out := render(t, f, n); string(out) != c.want {
				t.Errorf("written as\n%q\nwant\n%q", out, c.want)
			}
		})
	}
}

func TestC061_CRLF(t *testing.T) {
	text := `{"cells": [
{"cell_type": "code", "execution_count": null, "id": "all", "metadata": {}, "outputs": [], "source": ["%pwd\r\n", "x = 1\r\n", "x"]},
{"cell_type": "code", "execution_count": null, "id": "some", "metadata": {}, "outputs": [], "source": ["a\r\n", "b\n", "c"]},
{"cell_type": "markdown", "id": "string", "metadata": {}, "source": "one\r\ntwo"},
{"cell_type": "code", "execution_count": null, "id": "bare", "metadata": {}, "outputs": [], "source": ["a\rb"]}
], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	f := parse(t, text)
	for i, want := range []string{"%pwd\nx = 1\nx", "a\nb\nc", "one\ntwo", "a\rb"} {
		if got := f.Cells[i].Source; got != want {
			t.Errorf("source %d is %q, want %q", i, got, want)
		}
	}
	if out := render(t, f, f.Notebook()); string(out) != text {
		t.Errorf("untouched file is rewritten:\n%s", out)
	}
	n := f.Notebook()
	n.Cells[0].Source = "%pwd\nx = 2\nx"
	n.Cells[1].Source = "a\nb\nd\nc"
	n.Cells[2].Source = "one\nthree"
	want := strings.NewReplacer(`x = 1\r\n`, `x = 2\r\n`, `"b\n", "c"`, `"b\n", "d\n", "c"`, `"one\r\ntwo"`, `["one\r\n", "three"]`).Replace(text)
	if out := render(t, f, n); string(out) != want {
		t.Errorf("written as\n%s\nwant\n%s", out, want)
	}
	fresh := render(t, nil, Notebook{Cells: []Cell{{ID: "a", Type: TypeRaw, Source: "x\r\ny"}}})
	if bytes.Contains(fresh, []byte(`\r`)) {
		t.Errorf("a new cell has CRLF:\n%s", fresh)
	}
}

func TestC064_ImagesKeepTheirBytes(t *testing.T) {
	text := `{"cells": [{"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {}, "outputs": [
 {"data": {"image/png": "AAAA\n", "text/plain": ["<F>"]}, "metadata": {"image/png": {"width": 8}}, "output_type": "display_data"},
 {"data": {"image/png": ["AAAA\n", "BBBB\n"]}, "metadata": {}, "output_type": "display_data"},
 {"data": {"image/svg+xml": ["<svg>\n", "</svg>"], "application/vnd.x+json": ["a", "b"]}, "metadata": {}, "output_type": "display_data"}
], "source": ["p"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	f := parse(t, text)
	for i, want := range []string{"AAAA\n", "AAAA\nBBBB\n", ""} {
		got, _ := f.Cells[0].Outputs[i].Value["data"].(map[string]any)["image/png"].(string)
		if got != want {
			t.Errorf("image %d is %q, want %q", i, got, want)
		}
	}
	data := f.Cells[0].Outputs[2].Value["data"].(map[string]any)
	if data["image/svg+xml"] != "<svg>\n</svg>" || !EqualValues(data["application/vnd.x+json"], []any{"a", "b"}) {
		t.Errorf("data %v", data)
	}
	n := f.Notebook()
	n.Cells[0].Source = "q"
	var values []Output // as they come back from a document: without the bytes
	for _, o := range f.Cells[0].Outputs {
		values = append(values, Output{Value: o.Value})
	}
	n.Cells[0].Outputs = slices.Delete(values, 0, 1)
	out := string(render(t, f, n))
	from := strings.Index(text, ` {"data": {"image/png": ["AAAA`)
	if !strings.Contains(out, text[from:strings.Index(text, "], \"source\"")]) {
		t.Errorf("the images changed:\n%s", out)
	}
}

func TestC067_AttachmentsAndRawCells(t *testing.T) {
	text := `{"cells": [{"attachments": {"d.png": {"image/png": "AA=="}, "t.txt": {"text/plain": ["a\n", "b"]}}, "cell_type": "markdown", "id": "a", "metadata": {}, "source": ["![](attachment:d.png)"]},
{"cell_type": "raw", "id": "r", "metadata": {"raw_mimetype": "text/restructuredtext"}, "source": ["---"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	f := parse(t, text)
	want := map[string]any{"d.png": map[string]any{"image/png": "AA=="}, "t.txt": map[string]any{"text/plain": "a\nb"}}
	if !EqualValues(f.Cells[0].Attachments, want) {
		t.Errorf("attachments %v", f.Cells[0].Attachments)
	}
	if out := edited(t, text, 0, "x "); !strings.Contains(string(out), text[:strings.Index(text, ` "cell_type"`)]) {
		t.Errorf("attachments changed:\n%s", out)
	}
	n := f.Notebook()
	n.Cells[0].Attachments = map[string]any{"d.png": want["d.png"], "n.txt": map[string]any{"text/plain": "c\nd"}}
	if out := string(render(t, f, n)); !strings.Contains(out, `"attachments": {"d.png": {"image/png": "AA=="}, "n.txt": {"text/plain": ["c\n", "d"]}}`) {
		t.Errorf("written as\n%s", out)
	}
	n.Cells[0].Type = TypeCode
	if g := parse(t, string(render(t, f, n))); len(g.Cells[0].Extra) > 0 || g.Cells[0].Type != TypeCode {
		t.Errorf("a code cell with attachments: %+v", g.Cells[0])
	}
}

// TestCellTypeChange turns cells into other types: keys that only the old type has go.
func TestCellTypeChange(t *testing.T) {
	f := parse(t, strange)
	n := f.Notebook()
	n.Cells[0].Type, n.Cells[2].Type = TypeMarkdown, TypeCode
	g := parse(t, string(render(t, f, n)))
	if c := g.Cells[0]; c.Type != TypeMarkdown || c.Extra["outputs"] != nil || c.Extra["lab_cell"] == nil {
		t.Errorf("cell %+v", c)
	}
	if c := g.Cells[2]; c.Type != TypeCode || len(c.Outputs) > 0 {
		t.Errorf("cell %+v", c)
	}
}

func TestF31_CharactersStayLiteral(t *testing.T) {
	out := string(render(t, nil, Notebook{Cells: []Cell{{ID: "a", Type: TypeMarkdown, Source: "<div>a & b</div> \u2028 </script> é 😀 \x7f"}}}))
	if !strings.Contains(out, "\"<div>a & b</div> \u2028\",\n    \" </script> é 😀 \x7f\"") {
		t.Errorf("written as\n%s", out)
	}
}

func TestNumbersSurvive(t *testing.T) {
	text := `{"cells": [], "metadata": {"a": 9223372036854775807, "b": 18446744073709551615, "c": 123456789012345678901, "d": 1e400, "e": 1e-400, "f": 0.1, "g": 1.50, "h": -0.0, "i": 1E5}, "nbformat": 4, "nbformat_minor": 5}`
	f := parse(t, text)
	want := map[string]any{"a": int64(math.MaxInt64), "b": uint64(math.MaxUint64), "c": json.Number("123456789012345678901"),
		"d": json.Number("1e400"), "e": json.Number("1e-400"), "f": 0.1, "g": 1.5, "h": math.Copysign(0, -1), "i": 1e5}
	for k, v := range want {
		if f.Metadata[k] != v {
			t.Errorf("%s is %T %v, want %T %v", k, f.Metadata[k], f.Metadata[k], v, v)
		}
	}
	g := parse(t, string(render(t, nil, f.Notebook())))
	if !EqualValues(g.Metadata, f.Metadata) {
		t.Errorf("written and read: %v", g.Metadata)
	}
	n := f.Notebook()
	n.Metadata = map[string]any{"z": 1}
	for k, v := range f.Metadata {
		if number, ok := v.(json.Number); ok {
			v = string(number) // what a document that has no such numbers makes of it
		}
		n.Metadata[k] = v
	}
	if out := string(render(t, f, n)); !strings.Contains(out, text[strings.Index(text, `"a"`):strings.Index(text, `}, "nbf`)]) {
		t.Errorf("numbers changed:\n%s", out)
	}
}

func TestEqualValues(t *testing.T) {
	equal := [][2]any{
		{nil, nil}, {1, int64(1)}, {int64(1), 1.0}, {uint64(5), json.Number("5")}, {json.Number("5.0"), 5}, {json.Number("1e400"), "1e400"},
		{"1e400", json.Number("1e400")}, {float32(0.5), 0.5}, {int32(3), uint32(3)}, {uint(3), 3},
		{[]any{1, "a"}, []any{1.0, "a"}}, {map[string]any{"a": nil}, map[string]any{"a": nil}},
	}
	different := [][2]any{
		{nil, false}, {1, "1"}, {int64(math.MaxInt64), uint64(math.MaxInt64) + 1}, {int64(math.MaxInt64), float64(math.MaxInt64)}, {true, 1}, {"a", []any{"a"}},
		{json.Number("1e400"), json.Number("1e401")}, {map[string]any{"a": nil}, map[string]any{"b": nil}}, {map[string]any{}, nil}, {[]any{}, map[string]any{}}, {struct{}{}, struct{}{}}, {1, nil},
		{[]any{1}, []any{1, 2}},
	}
	for _, c := range equal {
		if !EqualValues(c[0], c[1]) || !EqualValues(c[1], c[0]) {
			t.Errorf("%T %v and %T %v differ", c[0], c[0], c[1], c[1])
		}
	}
	for _, c := range different {
		if EqualValues(c[0], c[1]) || EqualValues(c[1], c[0]) {
			t.Errorf("%T %v and %T %v are equal", c[0], c[0], c[1], c[1])
		}
	}
}

func TestCanonicalOutput(t *testing.T) {
	for name, c := range map[string]struct{ in, want map[string]any }{
		"stream":    {map[string]any{"output_type": "stream", "text": "a\nb"}, map[string]any{"output_type": "stream", "name": "stdout", "text": []any{"a\n", "b"}}},
		"error":     {map[string]any{"output_type": "error"}, map[string]any{"output_type": "error", "ename": "", "evalue": "", "traceback": []any{}}},
		"result":    {map[string]any{"output_type": "execute_result"}, map[string]any{"output_type": "execute_result", "data": map[string]any{}, "metadata": map[string]any{}, "execution_count": nil}},
		"transient": {map[string]any{"output_type": "display_data", "transient": map[string]any{"display_id": "d"}, "data": map[string]any{"text/plain": "x"}}, map[string]any{"output_type": "display_data", "metadata": map[string]any{}, "data": map[string]any{"text/plain": []any{"x"}}}},
		"unknown":   {map[string]any{"output_type": "lab", "x": 1}, map[string]any{"output_type": "lab", "x": 1}},
		"nothing":   {nil, map[string]any{}},
	} {
		got := CanonicalOutput(c.in)
		if !EqualValues(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if again := CanonicalOutput(got); !EqualValues(again, got) {
			t.Errorf("%s: not stable: %v", name, again)
		}
	}
}

func TestJoinMultiline(t *testing.T) {
	for _, v := range []any{"a\nb", []any{"a\n", "b"}, []string{"a\n", "b"}} {
		if s, ok := JoinMultiline(v); !ok || s != "a\nb" {
			t.Errorf("%v joined is %q, %v", v, s, ok)
		}
	}
	for _, v := range []any{nil, 1, []any{"a", 1}, map[string]any{}} {
		if s, ok := JoinMultiline(v); ok {
			t.Errorf("%v joined is %q", v, s)
		}
	}
}

func TestRenderRefusesWhatIsNotJSON(t *testing.T) {
	for _, v := range []any{make(chan int), []byte("x"), struct{}{}} {
		if _, err := Render(nil, Notebook{Metadata: map[string]any{"x": v}}); err == nil {
			t.Errorf("a %T was rendered", v)
		}
	}
	out := string(render(t, nil, Notebook{Metadata: map[string]any{"n": math.NaN(), "i": math.Inf(1), "m": math.Inf(-1), "bad": json.Number("1."), "u": "\xff", "l": []string{"a"}, "f": float32(0.5)}}))
	for _, want := range []string{`"n": "NaN"`, `"i": "Infinity"`, `"m": "-Infinity"`, `"bad": "1."`, "\"u\": \"\ufffd\"", "\"l\": [\n   \"a\"\n  ]", `"f": 0.5`} {
		if !strings.Contains(out, want) {
			t.Errorf("written as\n%s\nwhich lacks %s", out, want)
		}
	}
}

// TestRenderTakesRawOutputs writes an output that comes as bytes only.
func TestRenderTakesRawOutputs(t *testing.T) {
	n := Notebook{Cells: []Cell{{ID: "a", Type: TypeCode, Outputs: []Output{{Raw: json.RawMessage(` {"text": ["a\n", "b"], "name": "stdout", "output_type": "stream"}`)}}}}}
	g := parse(t, string(render(t, nil, n)))
	if len(g.Cells[0].Outputs) != 1 || g.Cells[0].Outputs[0].Value["text"] != "a\nb" {
		t.Errorf("outputs %v", g.Cells[0].Outputs)
	}
	for _, raw := range []string{"", "{", "7", `{"a": "\x"}`} {
		n.Cells[0].Outputs = []Output{{Raw: json.RawMessage(raw)}}
		if _, err := Render(nil, n); err == nil {
			t.Errorf("%q was rendered", raw)
		}
	}
}
