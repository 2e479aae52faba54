package ipynb

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"runt/internal/domain"
)

// parse reads a notebook that must be readable.
func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// edited puts text before the source of the i-th cell and returns the file.
func edited(t *testing.T, text string, i int, before string) []byte {
	t.Helper()
	f := parse(t, text)
	n := f.Notebook()
	n.Cells[i].Source = before + n.Cells[i].Source
	out := render(t, f, n)
	same(t, out, f, n)
	return out
}

func kinds(f *File) []WarningKind {
	var list []WarningKind
	for _, w := range f.Warnings {
		list = append(list, w.Kind)
	}
	return list
}

func ids(f *File) []string {
	var list []string
	for _, c := range f.Cells {
		list = append(list, c.ID)
	}
	return list
}

const worksheets = `{"metadata": {"name": "n", "signature": "s", "lab": 1}, "nbformat": 3, "nbformat_minor": 0, "lab_top": true,
 "worksheets": [
 {"cells": [
  {"cell_type": "heading", "level": 3, "metadata": {}, "source": ["River", "levels"]},
  {"cell_type": "code", "collapsed": true, "input": ["a = 2\n", "a"], "language": "python", "metadata": {}, "prompt_number": 4, "outputs": [
   {"output_type": "stream", "stream": "stderr", "text": ["one\n", "two\n"]},
   {"output_type": "pyout", "prompt_number": 4, "metadata": {"png": {"width": 3}}, "text": ["2"], "png": "AA==\n", "json": "{\"deep\": [1]}", "application/x-lab": "raw"},
   {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["t"]},
   {"output_type": "display_data", "metadata": {}, "html": ["<b>\n", "</b>"]}]},
  {"cell_type": "code", "input": "b", "outputs": []}]},
 {"cells": [{"cell_type": "html", "source": "<i>"}, {"cell_type": "raw", "source": "r", "lab_cell": 9}], "metadata": {}}]}`

func TestC053_WorksheetsOfVersion3(t *testing.T) {
	f := parse(t, worksheets)
	out := render(t, f, f.Notebook())
	g := parse(t, string(out))
	if g.Major != 4 || g.Minor != 5 || len(g.Warnings) > 0 {
		t.Errorf("written as %d.%d with %v", g.Major, g.Minor, g.Warnings)
	}
	if !EqualValues(g.Metadata, map[string]any{"lab": int64(1), "nbformat3": map[string]any{"lab_top": true}}) || len(g.Extra) > 0 {
		t.Errorf("metadata %v, unknown keys %v", g.Metadata, g.Extra)
	}
	var types, sources []string
	for _, c := range g.Cells {
		types, sources = append(types, c.Type), append(sources, c.Source)
	}
	if want := []string{TypeMarkdown, TypeCode, TypeCode, TypeMarkdown, TypeRaw}; !slices.Equal(types, want) {
		t.Errorf("types %v, want %v", types, want)
	}
	if want := []string{"### River levels", "a = 2\na", "b", "<i>", "r"}; !slices.Equal(sources, want) {
		t.Errorf("sources %q, want %q", sources, want)
	}
	code := g.Cells[1]
	if code.ExecutionCount == nil || *code.ExecutionCount != 4 || code.Metadata["collapsed"] != true {
		t.Errorf("code cell %+v", code)
	}
	want := []map[string]any{
		{"output_type": "stream", "name": "stderr", "text": "one\ntwo\n"},
		{"output_type": "execute_result", "execution_count": int64(4), "metadata": map[string]any{"image/png": map[string]any{"width": int64(3)}},
			"data": map[string]any{"text/plain": "2", "image/png": "AA==\n", "application/json": map[string]any{"deep": []any{int64(1)}}, "application/x-lab": "raw"}},
		{"output_type": "error", "ename": "E", "evalue": "v", "traceback": []any{"t"}},
		{"output_type": "display_data", "metadata": map[string]any{}, "data": map[string]any{"text/html": "<b>\n</b>"}},
	}
	for i, o := range code.Outputs {
		if !EqualValues(o.Value, want[i]) {
			t.Errorf("output %d is %v, want %v", i, o.Value, want[i])
		}
	}
	if !EqualValues(g.Cells[4].Metadata, map[string]any{"nbformat3": map[string]any{"lab_cell": int64(9)}}) {
		t.Errorf("the unknown key of a cell is lost: %v", g.Cells[4].Metadata)
	}
	if !slices.Equal(ids(parse(t, worksheets)), ids(f)) {
		t.Error("ids differ between two readings")
	}
}

func TestVersion1And2(t *testing.T) {
	f := parse(t, `{"nbformat": 1, "cells": [{"cell_type": "code", "code": "1+1", "prompt_number": 3}, {"cell_type": "text", "text": "hello"}]}`)
	if len(f.Cells) != 2 || f.Cells[0].Source != "1+1" || *f.Cells[0].ExecutionCount != 3 || f.Cells[1].Type != TypeMarkdown || f.Cells[1].Source != "hello" {
		t.Errorf("cells %+v", f.Cells)
	}
	f = parse(t, `{"nbformat": 2, "metadata": {"name": ""}, "worksheets": [{"cells": [{"cell_type": "markdown", "source": "*m*"}]}]}`)
	if len(f.Cells) != 1 || f.Cells[0].Source != "*m*" {
		t.Errorf("cells %+v", f.Cells)
	}
}

const withoutIDs = `{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "# Wind"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 2,
   "metadata": {
    "id": "not-a-cell-id"
   },
   "outputs": [],
   "source": [
    "same"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 2,
   "metadata": {},
   "outputs": [],
   "source": [
    "same"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 0
}
`

const idsTooEarly = `{
 "cells": [
  {
   "cell_type": "raw",
   "id": "early-1",
   "metadata": {},
   "source": []
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 3
}
`

const someIDs = `{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": []
  },
  {
   "cell_type": "markdown",
   "id": "given",
   "metadata": {},
   "source": []
  },
  {
   "cell_type": "markdown",
   "id": "given",
   "metadata": {},
   "source": []
  },
  {
   "cell_type": "markdown",
   "id": "not legal",
   "metadata": {},
   "source": []
  },
  {
   "cell_type": "markdown",
   "id": 12,
   "metadata": {},
   "source": []
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestC056_MinorVersionsAndIDs(t *testing.T) {
	t.Run("no ids", func(t *testing.T) {
		f := parse(t, withoutIDs)
		if out := render(t, f, f.Notebook()); string(out) != withoutIDs {
			t.Errorf("untouched file is rewritten:\n%s", out)
		}
		if len(f.Warnings) > 0 || f.Cells[1].ID == "not-a-cell-id" || f.Cells[1].ID == f.Cells[2].ID {
			t.Errorf("warnings %v, ids %v", f.Warnings, ids(f))
		}
		g := parse(t, string(edited(t, withoutIDs, 2, "# ")))
		if g.Minor != 5 || !slices.Equal(ids(f), ids(g)) || g.Cells[0].IDMade {
			t.Errorf("minor %d, ids %v, want %v", g.Minor, ids(g), ids(f))
		}
	})
	t.Run("ids before 4.5", func(t *testing.T) {
		f := parse(t, idsTooEarly)
		want := strings.Replace(idsTooEarly, `"nbformat_minor": 3`, `"nbformat_minor": 5`, 1)
		if out := render(t, f, f.Notebook()); string(out) != want || ids(f)[0] != "early-1" {
			t.Errorf("ids %v, written\n%s", ids(f), out)
		}
	})
	t.Run("some ids", func(t *testing.T) {
		f := parse(t, someIDs)
		if !slices.Equal(ids(parse(t, someIDs)), ids(f)) {
			t.Error("ids differ between two readings")
		}
		if f.Cells[1].ID != "given" || len(slices.Compact(slices.Sorted(slices.Values(ids(f))))) != 5 {
			t.Errorf("ids %v", ids(f))
		}
		want := []WarningKind{WarnIDDuplicate, WarnIDIllegal, WarnIDIllegal, WarnIDMissing}
		if got := kinds(f); !slices.Equal(got, want) {
			t.Errorf("warnings %v, want %v", got, want)
		}
		out := render(t, f, f.Notebook())
		if g := parse(t, string(out)); len(g.Warnings) > 0 || !slices.Equal(ids(g), ids(f)) {
			t.Errorf("written with %v, ids %v, want %v", g.Warnings, ids(g), ids(f))
		}
	})
	t.Run("ids from outside", func(t *testing.T) {
		n := 0
		f, err := Parse([]byte(someIDs), func() string { n++; return []string{"given", "not legal", "one", "two", "three", "four"}[(n-1)%6] })
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"one", "given", "two", "three", "four"}; !slices.Equal(ids(f), want) {
			t.Errorf("ids %v, want %v", ids(f), want)
		}
	})
	t.Run("newer minor", func(t *testing.T) {
		text := strings.Replace(someIDs[:strings.Index(someIDs, "  {")]+someIDs[strings.Index(someIDs, " ],"):], `minor": 5`, `minor": 9`, 1)
		f := parse(t, text)
		if !slices.Equal(kinds(f), []WarningKind{WarnNewerMinor}) {
			t.Errorf("warnings %v", f.Warnings)
		}
		n := f.Notebook()
		n.Cells = []Cell{{ID: "x", Type: TypeRaw}}
		if out := render(t, f, n); !strings.Contains(string(out), `"nbformat_minor": 9`) {
			t.Errorf("the minor version changed:\n%s", out)
		}
	})
	t.Run("illegal id in the notebook", func(t *testing.T) {
		out := render(t, nil, Notebook{Cells: []Cell{{ID: "has spaces", Type: TypeRaw}, {ID: strings.Repeat("x", 65), Type: TypeRaw}}})
		if g := parse(t, string(out)); len(g.Warnings) > 0 {
			t.Errorf("written with %v:\n%s", g.Warnings, out)
		}
	})
}

func TestC060_SourceListWithoutLineEnds(t *testing.T) {
	text := `{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [], "source": ["# note", "x = 1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
	f := parse(t, text)
	if f.Cells[0].Source != "# notex = 1" || !slices.Equal(kinds(f), []WarningKind{WarnSourceLines}) {
		t.Errorf("source %q, warnings %v", f.Cells[0].Source, f.Warnings)
	}
	if out := render(t, f, f.Notebook()); string(out) != text {
		t.Errorf("changed on save:\n%s", out)
	}
	for _, fine := range []string{`["a\n", "b"]`, `["a\r", "b"]`, `["a\n", "", "b"]`, `["a"]`, `[]`, `["a\u2028", "b"]`} {
		if f := parse(t, strings.Replace(text, `["# note", "x = 1"]`, fine, 1)); len(f.Warnings) > 0 {
			t.Errorf("%s: %v", fine, f.Warnings)
		}
	}
}

func TestC062_NumbersThatAreNotJSON(t *testing.T) {
	text := `{"cells": [{"cell_type": "code", "execution_count": 1, "id": "a", "metadata": {"m": -Infinity}, "outputs": [{"data": {"application/json": [NaN, "NaN", Infinity]}, "metadata": {}, "output_type": "display_data"}], "source": ["NaN"]}], "metadata": {"rate": NaN}, "nbformat": 4, "nbformat_minor": 5}`
	f := parse(t, text)
	if !slices.Equal(kinds(f), []WarningKind{WarnNotStrict}) || f.Metadata["rate"] != "NaN" {
		t.Errorf("warnings %v, metadata %v", f.Warnings, f.Metadata)
	}
	want := strings.NewReplacer(`: NaN`, `: "NaN"`, `[NaN, "NaN", Infinity]`, `["NaN", "NaN", "Infinity"]`, `-Infinity`, `"-Infinity"`).Replace(text)
	if out := render(t, f, f.Notebook()); string(out) != want {
		t.Errorf("written\n%s\nwant\n%s", out, want)
	}
}

// TestC069_BrokenFiles lists what is refused, with the place and what to do.
func TestC069_BrokenFiles(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "The file is empty."},
		"white space":        {" \r\n\t", "The file is empty."},
		"cut off":            {"{\n \"cells\": [\n  {\n   \"id\": \"a\"\n", "expected a comma or \"}\", found the end of the file at line 5, column 1."},
		"cut off in string":  {"{\"cells\": [{\"id\": \"a", "string without an end at line 1, column 19."},
		"cut off after key":  {"{\"cells\"", "expected a colon, found the end of the file at line 1, column 9."},
		"column counts é":    {"{\"é\": x}", "unexpected 'x' at line 1, column 7."},
		"conflict":           {"{\n \"cells\": [\n<<<<<<< HEAD\n  1\n=======\n  2\n>>>>>>> other\n ]}", "git merge conflict markers (line 3) and is not valid JSON: unexpected '<' at line 3, column 1."},
		"trailing comma":     {"{\"cells\": [],}", "comma before the closing \"}\" at line 1, column 13."},
		"rest":               {"{\"cells\": []}\n{", "unexpected '{' after the end of the notebook at line 2, column 1."},
		"single quotes":      {"{'cells': []}", "expected a key in double quotes, found '\\'' at line 1, column 2."},
		"control character":  {"{\"cells\": [{\"source\": \"a\nb\"}]}", "control character '\\n' in a string at line 1, column 25."},
		"not UTF-8":          {"{\"cells\": [{\"source\": \"caf\xe9\"}]}", "byte 0xe9 is not UTF-8 at line 1, column 27."},
		"UTF-16":             {"\xff\xfe{\x00}\x00", "UTF-16"},
		"bad escape":         {`{"cells": [{"source": "\x"}]}`, `unknown escape \x at line 1, column 24.`},
		"bad number":         {`{"cells": [], "x": 1.}`, "number without digits after the point at line 1, column 22."},
		"html":               {"<!DOCTYPE html>", "unexpected '<' at line 1, column 1."},
		"too deep":           {strings.Repeat("[", 5000), "more than 1000 levels of nesting at line 1, column 1001."},
		"list":               {"[]", "not a notebook that can be read: it is not an object at line 1, column 1."},
		"no cells":           {`{"nbformat": 4, "metadata": {}}`, "there is no list of cells at line 1, column 1."},
		"cells not list":     {`{"nbformat": 4, "cells": {}}`, "the cells are not a list at line 1, column 26."},
		"cell not object":    {`{"nbformat": 4, "cells": [{}, 5]}`, "cell 2 is not an object at line 1, column 31."},
		"source not text":    {`{"nbformat": 4, "cells": [{"source": 5}]}`, "the source of cell 1 is not text at line 1, column 38."},
		"source list":        {`{"nbformat": 4, "cells": [{"source": ["a", 5]}]}`, "the source of cell 1 is a list with something that is not text at line 1, column 38."},
		"metadata not map":   {`{"nbformat": 4, "cells": [], "metadata": 7}`, "the notebook's metadata is not an object at line 1, column 42."},
		"outputs not list":   {`{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": 7}]}`, "the outputs of cell 1 are not a list at line 1, column 60."},
		"output not object":  {`{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [7]}]}`, "output 1 of cell 1 is not an object at line 1, column 61."},
		"version 5":          {`{"cells": [], "nbformat": 5}`, "unsupported version 5 of the notebook format at line 1, column 27."},
		"version 0":          {`{"cells": [], "nbformat": 0}`, "unsupported version 0"},
		"worksheet not map":  {`{"nbformat": 3, "worksheets": [1]}`, "worksheet 1 is not an object"},
		"old cells not list": {`{"nbformat": 3, "worksheets": [{"cells": 1}]}`, "the cells of worksheet 1 are not a list"},
		"old cell not map":   {`{"nbformat": 3, "worksheets": [{"cells": [1]}]}`, "cell 1 is not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text), nil)
			var e *domain.Error
			if !errors.As(err, &e) || e.Code != domain.CodeFileUnreadable || e.Hint == "" {
				t.Fatalf("error %#v, want file_unreadable with a hint", err)
			}
			if !strings.Contains(e.Message, c.want) {
				t.Errorf("message %q, want %q", e.Message, c.want)
			}
		})
	}
	if _, err := Parse(nil, nil); !errors.Is(err, ErrEmpty) {
		t.Error("an empty file is not ErrEmpty")
	}
}

// TestUnusualShapes lists what is accepted although nbformat would not write it.
func TestUnusualShapes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Cell
		warn []WarningKind
	}{
		"no type, outputs":    {`{"id": "a", "outputs": [], "source": "x"}`, Cell{Type: TypeCode, Source: "x"}, []WarningKind{WarnCellType}},
		"no type":             {`{"id": "a", "source": "x"}`, Cell{Type: TypeRaw, Source: "x"}, []WarningKind{WarnCellType}},
		"unknown type":        {`{"id": "a", "cell_type": "sql", "source": "x"}`, Cell{Type: "sql", Source: "x"}, []WarningKind{WarnCellType}},
		"no source":           {`{"id": "a", "cell_type": "raw"}`, Cell{Type: TypeRaw}, nil},
		"null source":         {`{"id": "a", "cell_type": "raw", "source": null}`, Cell{Type: TypeRaw}, nil},
		"list metadata":       {`{"id": "a", "cell_type": "raw", "metadata": []}`, Cell{Type: TypeRaw}, nil},
		"null outputs":        {`{"id": "a", "cell_type": "code", "outputs": null}`, Cell{Type: TypeCode}, nil},
		"count is a float":    {`{"id": "a", "cell_type": "code", "execution_count": 3.0}`, Cell{Type: TypeCode, ExecutionCount: ptr(3)}, nil},
		"count is text":       {`{"id": "a", "cell_type": "code", "execution_count": "*"}`, Cell{Type: TypeCode}, []WarningKind{WarnShape}},
		"outputs of markdown": {`{"id": "a", "cell_type": "markdown", "outputs": []}`, Cell{Type: TypeMarkdown, Extra: map[string]any{"outputs": []any{}}}, nil},
		"two keys":            {`{"id": "a", "cell_type": "raw", "source": "1", "source": "2"}`, Cell{Type: TypeRaw, Source: "2"}, []WarningKind{WarnDuplicateKey}},
		"half a pair":         {`{"id": "a", "cell_type": "raw", "source": "\ud800x \ud83d\ude00"}`, Cell{Type: TypeRaw, Source: "\ufffdx 😀"}, []WarningKind{WarnSurrogate}},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"cells": [` + c.text + `], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`
			f := parse(t, text)
			c.want.ID = "a"
			if got := f.Cells[0]; !EqualCells(got, c.want) || !EqualCells(c.want, got) {
				t.Errorf("cell %+v, want %+v", got, c.want)
			}
			if got := kinds(f); !slices.Equal(got, c.warn) {
				t.Errorf("warnings %v, want %v", got, c.warn)
			}
			if out := render(t, f, f.Notebook()); string(out) != text {
				t.Errorf("written as %s", out)
			}
			edited(t, text, 0, "# ")
		})
	}
}

// TestCellWithoutAnyKey gets all of them, in the style of the file.
func TestCellWithoutAnyKey(t *testing.T) {
	f := parse(t, "{\n \"cells\": [\n  {}\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")
	want := Notebook{Cells: []Cell{{ID: f.Cells[0].ID, Type: TypeRaw}}}
	if out := render(t, f, f.Notebook()); !bytes.Equal(out, render(t, nil, want)) {
		t.Errorf("written as\n%s", out)
	}
}

func ptr(n int64) *int64 { return &n }

func TestVersionsThatAreMissing(t *testing.T) {
	for text, want := range map[string]string{
		`{"cells": []}`: `{"cells": [{"cell_type": "raw", "id": "x", "metadata": {}, "source": []}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`,
		`{"cells": [], "nbformat": "4", "nbformat_minor": "5", "metadata": null}`:    `{"cells": [{"cell_type": "raw", "id": "x", "metadata": {}, "source": []}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}`,
		`{"cells": [], "nbformat": 4.0, "nbformat_minor": 4.0, "metadata": {"a":1}}`: `{"cells": [{"cell_type": "raw", "id": "x", "metadata": {}, "source": []}], "nbformat": 4.0, "nbformat_minor": 5, "metadata": {"a":1}}`,
	} {
		f := parse(t, text)
		n := f.Notebook()
		n.Cells = []Cell{{ID: "x", Type: TypeRaw}}
		if out := render(t, f, n); string(out) != want {
			t.Errorf("%s\nis written as %s\nwant %s", text, out, want)
		}
	}
}

func TestByteOrderMarkIsDropped(t *testing.T) {
	f := parse(t, "\ufeff"+withoutIDs)
	if !slices.Equal(kinds(f), []WarningKind{WarnByteOrderMark}) {
		t.Errorf("warnings %v", f.Warnings)
	}
	if out := render(t, f, f.Notebook()); !bytes.Equal(out, []byte(withoutIDs)) {
		t.Errorf("written as %q", out)
	}
}
