package merge

import (
	"slices"
	"strings"
	"testing"

	"runt/internal/ipynb"
)

// nb makes a notebook of code cells: each argument is an id and a text.
func nb(cells ...string) ipynb.Notebook {
	var n ipynb.Notebook
	for _, s := range cells {
		id, source, _ := strings.Cut(s, ":")
		n.Cells = append(n.Cells, ipynb.Cell{ID: id, Type: ipynb.TypeCode, Source: source})
	}
	return n
}

// show is the inverse of nb.
func show(n ipynb.Notebook) []string {
	var list []string
	for _, c := range n.Cells {
		list = append(list, c.ID+":"+c.Source)
	}
	return list
}

// check merges and compares the cells and the kinds of the conflicts.
func check(t *testing.T, base, disk, live ipynb.Notebook, want []string, conflicts ...ConflictKind) Result {
	t.Helper()
	r := Merge(base, disk, live, Options{})
	if got := show(r.Merged); !slices.Equal(got, want) {
		t.Errorf("merged %q, want %q", got, want)
	}
	if d := diff(r.Merged, apply(t, live, r.Ops)); d != "" {
		t.Errorf("the operations do not give the result: %s", d)
	}
	var kinds []ConflictKind
	for _, c := range r.Conflicts {
		kinds = append(kinds, c.Kind)
	}
	if !slices.Equal(kinds, conflicts) {
		t.Errorf("conflicts %v, want %v", kinds, conflicts)
	}
	return r
}

var three = []string{"a:base = 1", "b:mid = 2", "c:end = 3"}

func TestC031_OutsideEditIsTaken(t *testing.T) {
	r := check(t, nb(three...), nb("a:base = 100", "b:mid = 2", "c:end = 3", "d:added"), nb(three...), []string{"a:base = 100", "b:mid = 2", "c:end = 3", "d:added"})
	if len(r.Ops) != 2 {
		t.Errorf("operations %+v, want one for the text and one for the new cell", r.Ops)
	}
}

func TestC032_WholeFileReplaced(t *testing.T) {
	check(t, nb(three...), nb("r1:new", "r2:other"), nb(three...), []string{"r1:new", "r2:other"})
	check(t, nb(three...), nb("r1:new", "r2:other"), nb("a:base = 1", "b:live edit", "c:end = 3", "x:live new"),
		[]string{"r1:new", "r2:other", "b:live edit", "x:live new"}, ConflictDeletedOnDisk)
}

func TestC034_EditsOfDifferentCellsMerge(t *testing.T) {
	check(t, nb(three...), nb("a:base = 100", "b:mid = 2", "c:end = 3"), nb("a:base = 1", "b:live", "c:end = 3", "n:new"),
		[]string{"a:base = 100", "b:live", "c:end = 3", "n:new"})
}

func TestD03_SameCellOnBothSidesKeepsBothTexts(t *testing.T) {
	live := nb("a:base = 1", "b:live", "c:end = 3")
	r := Merge(nb(three...), nb("a:base = 1", "b:disk", "c:end = 3"), live, Options{})
	if len(r.Conflicts) != 1 || len(r.Merged.Cells) != 4 {
		t.Fatalf("result %+v", r)
	}
	c, kept := r.Conflicts[0], r.Merged.Cells[2]
	if c.Kind != ConflictSource || c.ID != "b" || c.Base != "mid = 2" || c.Disk != "disk" || c.Live != "live" || c.CopyID != kept.ID {
		t.Errorf("conflict %+v", c)
	}
	if kept.Type != ipynb.TypeRaw || kept.Source != "disk" || !ipynb.LegalID(kept.ID) || r.Merged.Cells[1].Source != "live" {
		t.Errorf("cells %+v", r.Merged.Cells)
	}
	if d := diff(r.Merged, apply(t, live, r.Ops)); d != "" {
		t.Errorf("the operations do not give the result: %s", d)
	}
	check(t, nb(three...), nb("a:base = 1", "b:same", "c:end = 3"), nb("a:base = 1", "b:same", "c:end = 3"), []string{"a:base = 1", "b:same", "c:end = 3"})
	check(t, nb(three...), nb("a:base = 1", "b:", "c:end = 3"), nb("a:base = 1", "b:live", "c:end = 3"), []string{"a:base = 1", "b:live", "c:end = 3"}, ConflictSource)
}

// TestC035_TouchChangesNothing has equal content on disk: no operation at all, whatever the live side did.
func TestC035_TouchChangesNothing(t *testing.T) {
	for _, live := range []ipynb.Notebook{nb(three...), nb("b:moved", "a:base = 1"), nb()} {
		if r := Merge(nb(three...), nb(three...), live, Options{}); len(r.Ops)+len(r.Conflicts) > 0 || r.Refused != "" {
			t.Errorf("result %+v", r)
		}
	}
	crlf := nb("a:x\r\ny")
	if r := Merge(nb("a:x\ny"), crlf, nb("a:x\ny"), Options{}); len(r.Ops) > 0 {
		t.Errorf("line ends alone do %+v", r.Ops)
	}
}

func TestC037_EmptyFileNeverEmptiesANotebook(t *testing.T) {
	for name, disk := range map[string]ipynb.Notebook{
		"no cells":        nb(),
		"one blank cell":  nb("new:"),
		"two blank cells": nb("new: ", "new2:\n"),
	} {
		r := Merge(nb(three...), disk, nb(three...), Options{})
		if r.Refused == "" || len(r.Ops) > 0 || len(r.Merged.Cells) != 3 {
			t.Errorf("%s: result %+v", name, r)
		}
	}
	check(t, nb(), nb(), nb("a:live"), []string{"a:live"})
	check(t, nb("a:"), nb("b:"), nb("a:"), []string{"b:"})
	check(t, nb("a:x", "b:y"), nb("a:"), nb("a:x", "b:y"), []string{"a:"})
}

func TestDeletionsAndEdits(t *testing.T) {
	base := nb(three...)
	check(t, base, nb("a:base = 1", "c:end = 3"), base, []string{"a:base = 1", "c:end = 3"})
	check(t, base, nb("a:base = 1", "c:end = 3"), nb("a:base = 1", "b:live", "c:end = 3"), []string{"a:base = 1", "b:live", "c:end = 3"}, ConflictDeletedOnDisk)
	check(t, base, base, nb("a:base = 1", "c:end = 3"), []string{"a:base = 1", "c:end = 3"})
	check(t, base, nb("a:base = 1", "b:disk", "c:end = 3"), nb("a:base = 1", "c:end = 3"), []string{"a:base = 1", "b:disk", "c:end = 3"}, ConflictDeletedLive)
	check(t, base, nb("a:base = 1"), nb("b:mid = 2"), nil)
	check(t, nb(), nb("n:disk"), nb("n:live"), []string{"n:live", Merge(nb(), nb("n:disk"), nb("n:live"), Options{}).Conflicts[0].CopyID + ":disk"}, ConflictSource)
	check(t, nb(), nb("n:disk"), nb("n:"), []string{"n:disk"})
}

func TestOrder(t *testing.T) {
	base := nb("a:1", "b:2", "c:3", "d:4")
	for name, c := range map[string]struct {
		disk, live, want []string
		conflict         []ConflictKind
	}{
		"moved on disk":               {[]string{"d:4", "a:1", "b:2", "c:3"}, []string{"a:1", "b:2", "c:3", "d:4"}, []string{"d:4", "a:1", "b:2", "c:3"}, nil},
		"moved live":                  {[]string{"a:1", "b:2", "c:3", "d:4"}, []string{"b:2", "a:1", "c:3", "d:4"}, []string{"b:2", "a:1", "c:3", "d:4"}, nil},
		"moved live, new on disk":     {[]string{"a:1", "n:5", "b:2", "c:3", "d:4"}, []string{"b:2", "a:1", "c:3", "d:4"}, []string{"b:2", "a:1", "n:5", "c:3", "d:4"}, nil},
		"moved on disk, new live":     {[]string{"d:4", "c:3", "b:2", "a:1"}, []string{"n:5", "a:1", "b:2", "m:6", "c:3", "d:4"}, []string{"n:5", "d:4", "c:3", "b:2", "m:6", "a:1"}, nil},
		"moved alike":                 {[]string{"b:2", "a:1", "c:3", "d:4"}, []string{"b:2", "a:1", "c:3", "d:4"}, []string{"b:2", "a:1", "c:3", "d:4"}, nil},
		"moved both ways":             {[]string{"b:2", "a:1", "c:3", "d:4"}, []string{"a:1", "b:2", "d:4", "c:3"}, []string{"a:1", "b:2", "d:4", "c:3"}, []ConflictKind{ConflictOrder}},
		"new at both ends":            {[]string{"n:5", "a:1", "b:2", "c:3", "d:4"}, []string{"a:1", "b:2", "c:3", "d:4", "m:6"}, []string{"n:5", "a:1", "b:2", "c:3", "d:4", "m:6"}, nil},
		"moved and deleted elsewhere": {[]string{"c:3", "a:1", "d:4"}, []string{"a:1", "b:2", "c:3", "d:4"}, []string{"c:3", "a:1", "d:4"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, base, nb(c.disk...), nb(c.live...), c.want, c.conflict...)
		})
	}
	r := Merge(base, nb("d:4", "a:1", "b:2", "c:3"), base, Options{})
	if len(r.Ops) != 1 || r.Ops[0].Kind != OpMove || r.Ops[0].ID != "d" || r.Ops[0].After != "" {
		t.Errorf("operations %+v, want one move", r.Ops)
	}
}

func TestMetadataIsMergedKeyByKey(t *testing.T) {
	base := nb("a:1")
	base.Metadata = map[string]any{"kernelspec": map[string]any{"name": "python3", "language": "python"}, "gone": 1, "kept": 1, "same": 1}
	base.Cells[0].Metadata = map[string]any{"tags": []any{"x"}}
	disk, live := nb("a:1"), nb("a:1")
	disk.Metadata = map[string]any{"kernelspec": map[string]any{"name": "julia", "language": "julia"}, "kept": 2, "same": 2, "disk": true}
	disk.Cells[0].Metadata = map[string]any{"tags": []any{"x"}, "collapsed": true}
	live.Metadata = map[string]any{"kernelspec": map[string]any{"name": "r", "language": "python"}, "gone": 1, "kept": 1, "same": 2, "live": true}
	live.Cells[0].Metadata = map[string]any{"tags": []any{"x", "y"}}
	r := check(t, base, disk, live, []string{"a:1"}, ConflictMetadata)
	want := map[string]any{"kernelspec": map[string]any{"name": "r", "language": "julia"}, "kept": 2, "same": 2, "disk": true, "live": true}
	if !ipynb.EqualValues(r.Merged.Metadata, want) {
		t.Errorf("metadata %v, want %v", r.Merged.Metadata, want)
	}
	if c := r.Conflicts[0]; c.Key != "kernelspec/name" || c.Base != "python3" || c.Disk != "julia" || c.Live != "r" {
		t.Errorf("conflict %+v", c)
	}
	if got := r.Merged.Cells[0].Metadata; !ipynb.EqualValues(got, map[string]any{"tags": []any{"x", "y"}, "collapsed": true}) {
		t.Errorf("cell metadata %v", got)
	}
	delete(live.Metadata, "kept")
	if r := Merge(base, disk, live, Options{}); r.Merged.Metadata["kept"] != 2 {
		t.Errorf("a value changed on disk and deleted live is lost: %v", r.Merged.Metadata)
	}
}

func TestTypesAndOutputs(t *testing.T) {
	out := func(s string) []ipynb.Output {
		return []ipynb.Output{{Value: map[string]any{"output_type": "stream", "name": "stdout", "text": s}}}
	}
	base, disk, live := nb("a:1"), nb("a:1"), nb("a:1")
	base.Cells[0].Outputs, disk.Cells[0].Outputs, live.Cells[0].Outputs = out("old"), nil, out("old")
	if r := check(t, base, disk, live, []string{"a:1"}); len(r.Merged.Cells[0].Outputs) > 0 {
		t.Error("outputs that were cleared on disk are still there")
	}
	if r := Merge(base, disk, live, Options{KeepOutputs: true}); len(r.Ops) > 0 {
		t.Errorf("operations %+v although outputs are to be kept", r.Ops)
	}
	live.Cells[0].Outputs = out("ran")
	if r := check(t, base, disk, live, []string{"a:1"}); len(r.Ops) > 0 {
		t.Errorf("newer live outputs are replaced: %+v", r.Ops)
	}
	disk.Cells[0].Type, live.Cells[0].Type = ipynb.TypeMarkdown, ipynb.TypeRaw
	check(t, base, disk, live, []string{"a:1"}, ConflictType)
	live.Cells[0].Type = ipynb.TypeCode
	if r := check(t, base, disk, live, []string{"a:1"}); r.Merged.Cells[0].Type != ipynb.TypeMarkdown {
		t.Error("the type that was changed on disk is ignored")
	}
}

// strip marks all cells as having had no id in the file.
func strip(n ipynb.Notebook) ipynb.Notebook {
	n.Cells = anonymous(n.Cells)
	return n
}

func TestCellsWithoutIDsAreMatched(t *testing.T) {
	for name, c := range map[string]struct{ base, disk, want []string }{
		"unchanged":         {[]string{"a:1", "b:2", "c:3"}, []string{"x:1", "x:2", "x:3"}, []string{"a:1", "b:2", "c:3"}},
		"one edited":        {[]string{"a:1", "b:2", "c:3"}, []string{"x:1", "x:two", "x:3"}, []string{"a:1", "b:two", "c:3"}},
		"one inserted":      {[]string{"a:1", "b:2"}, []string{"x:1", "x:new", "x:2"}, []string{"a:1", "made1:new", "b:2"}},
		"one deleted":       {[]string{"a:1", "b:2", "c:3"}, []string{"x:1", "x:3"}, []string{"a:1", "c:3"}},
		"moved":             {[]string{"a:1", "b:2", "c:3"}, []string{"x:3", "x:1", "x:2"}, []string{"c:3", "a:1", "b:2"}},
		"equal texts":       {[]string{"a:1", "b:1", "c:1"}, []string{"x:1", "x:1"}, []string{"a:1", "b:1"}},
		"edited and longer": {[]string{"a:1", "b:x\ny\nz", "c:3"}, []string{"x:1", "x:new", "x:x\ny\nw", "x:3"}, []string{"a:1", "made1:new", "b:x\ny\nw", "c:3"}},
		"all new":           {[]string{"a:1", "b:2"}, []string{"x:p", "x:q", "x:r"}, []string{"made0:p", "made1:q", "made2:r"}},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, nb(c.base...), strip(nb(c.disk...)), nb(c.base...), c.want)
		})
	}
	mixed := nb("a:1", "x:2", "n:3")
	mixed.Cells[1].IDMade = true
	check(t, nb("a:1", "b:2"), mixed, nb("a:1", "b:2"), []string{"a:1", "b:2", "n:3"})
}

// TestMadeIDsNeverClash has a made id that a cell of the base has.
func TestMadeIDsNeverClash(t *testing.T) {
	disk := nb("b:new", "a:1")
	disk.Cells[0].IDMade = true
	check(t, nb("a:1", "b:2", "c:3"), disk, nb("a:1", "b:2", "c:3"), []string{"b-2:new", "a:1"})
}

// TestReadFromFiles merges notebooks as they come from files without ids.
func TestReadFromFiles(t *testing.T) {
	file := func(sources ...string) ipynb.Notebook {
		s := `{"cells": [`
		for i, source := range sources {
			if i > 0 {
				s += ","
			}
			s += `{"cell_type": "markdown", "metadata": {}, "source": "` + source + `"}`
		}
		f, err := ipynb.Parse([]byte(s+`], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.Notebook()
	}
	base := file("one", "two", "two")
	r := Merge(base, file("zero", "one", "2", "two"), base, Options{})
	var texts []string
	for _, c := range r.Merged.Cells {
		texts = append(texts, c.Source)
	}
	if !slices.Equal(texts, []string{"zero", "one", "2", "two"}) || len(r.Ops) != 2 {
		t.Errorf("merged %q with %+v", texts, r.Ops)
	}
}
