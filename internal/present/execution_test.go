package present

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func ptr[T any](v T) *T { return &v }

func stream(name, text string) Output { return Output{Type: TypeStream, Name: name, Text: text} }

func display(mimeAndText ...string) Output {
	o := Output{Type: TypeDisplay, Data: map[string]Content{}}
	for i := 0; i < len(mimeAndText); i += 2 {
		o.Data[mimeAndText[i]] = Content{Text: mimeAndText[i+1]}
	}
	return o
}

func TestHeaderIsTheFirstLineAndBeginsWithTheCell(t *testing.T) {
	for _, c := range []struct {
		e    ExecutionView
		want string
	}{
		{ExecutionView{CellID: "cell-1", ExecutionID: "ex", Status: StatusDone, Count: ptr(int64(3)), Seconds: 0.0421}, "cell-1 · done · [3] · execution ex · 0.042 s\n(no output)"},
		{ExecutionView{CellID: "cell-1", Status: StatusDone, Seconds: 12.34}, "cell-1 · done · 12.3 s\n(no output)"},
		{ExecutionView{Status: StatusDone, Seconds: 4000}, "(no cell) · done · 1h6m40s\n(no output)"},
		{ExecutionView{CellID: "two\nlines\x1b[m", Status: StatusDone}, "two lines · done\n(no output)"},
		{ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusQueued, Ahead: 2}, "c · queued · execution ex\nQueued behind 2 executions; it has not begun. get_results execution_id=ex wait_secs=30 waits for it."},
		{ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusRunning, Waited: 30 * time.Second, Seconds: 30}, "c · running · execution ex · 30.0 s\nStill running after 30.0 s; this is the output so far. get_results execution_id=ex wait_secs=30 waits for the rest, interrupt_kernel stops it.\n(no output yet)"},
		{ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusCancelled, Reason: "An earlier cell raised."}, "c · cancelled · execution ex\nCancelled before it ran.\nAn earlier cell raised."},
		{ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusError, Reason: "The kernel died (signal 9).", Hint: "Call restart_kernel."}, "c · error · execution ex\nThe kernel died (signal 9).\nCall restart_kernel."},
	} {
		if got := Execution(c.e, Options{}).Text; got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestOutputsAreLabelledOnlyWhenTheyDiffer(t *testing.T) {
	result := Output{Type: TypeResult, Data: map[string]Content{mimePlain: {Text: "5"}}}
	for _, c := range []struct {
		outputs []Output
		want    string
	}{
		{nil, ""},
		{[]Output{stream("stdout", "a\n"), stream("stdout", "b\n")}, "a\nb"},
		{[]Output{stream("stderr", "a\n")}, "[stderr]\na"},
		{[]Output{result}, "5"},
		{[]Output{stream("stdout", "a\n"), result}, "[stdout]\na\n[result]\n5"},
		{[]Output{display(mimePlain, "1"), display(mimePlain, "2")}, "1\n2"},
		{[]Output{stream("stdout", "a"), stream("stderr", "b"), stream("stdout", "c")}, "[stdout]\na\n[stderr]\nb\n[stdout]\nc"},
		{[]Output{stream("stdout", "a"), {Type: TypeError, EName: "E", EValue: "v"}}, "[stdout]\na\nE: v"},
		{[]Output{stream("stdout", "1%\r"), stream("stdout", "2%\r"), stream("stdout", "100%\n")}, "100%"},
		{[]Output{stream("stdout", "\x1b[?25l\r\n")}, ""},
		{[]Output{display()}, ""},
		{[]Output{{Type: TypeStream, Name: "stdout", Blob: "h", Size: 5e6, Preview: "a\n[…]\nz\n"}}, "a\n[…]\nz"},
		{[]Output{{Type: TypeStream, Name: "stdout", Blob: "h", Size: 5e6, Preview: "a", Text: "whole"}}, "whole"},
		{[]Output{{Type: TypeStream, Name: "stdout", Blob: "h", Size: 5e6}}, "[text/plain, 5.0 MB: runt://blobs/h]"},
	} {
		if got := Outputs(c.outputs, Options{}).Text; got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// TestK09_BarOfATypicalRun is a bar that is redrawn in one message each, and
// then text that a terminal would put into the line above.
func TestK09_BarOfATypicalRun(t *testing.T) {
	var outputs []Output
	for i := range 41 {
		outputs = append(outputs, stream("stderr", fmt.Sprintf("\r%3d%%|%-10s| %d/40", i*100/40, strings.Repeat("#", i/4), i)))
	}
	outputs = append(outputs, stream("stderr", "\n"), stream("stdout", "done\n"),
		stream("stderr", "\x1b[A\x1b[2K\x1b[?25lred \x1b[31mX\x1b[0m \x1b]8;;http://localhost/\x1b\\link\x1b]8;;\x1b\\\x1b[?25h\n"))
	want := "[stderr]\n100%|##########| 40/40\n[stdout]\ndone\n[stderr]\nred X link"
	if got := Outputs(outputs, Options{}).Text; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLongOutputsKeepHeadAndTail(t *testing.T) {
	var text strings.Builder
	for i := range 300000 {
		fmt.Fprintln(&text, i)
	}
	e := ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusDone, Outputs: []Output{stream("stdout", text.String())}}
	r := Execution(e, Options{})
	checkResult(t, "long", r, DefaultLimit)
	if n := strings.Count(r.Text, "\n"); n < maxLines || n > maxLines+3 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"\n0\n1\n2\n", "\n299999", " lines, 2.0 MB left out: get_results execution_id=ex full_output=true]", "c · done"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
	full := Execution(e, Options{Full: true})
	checkResult(t, "full", full, FullLimit)
	if jsonSize(full.Text) < FullLimit*9/10 || strings.Contains(full.Text, "full_output") {
		t.Errorf("%d bytes: %.200s", len(full.Text), full.Text)
	}
}

// A long output takes no room from the small ones, and an error stays whole.
func TestRoomIsSharedFairly(t *testing.T) {
	outputs := []Output{stream("stdout", strings.Repeat("a\n", 50000)), stream("stderr", "careful\n"), display(mimePlain, strings.Repeat("b", 50000)),
		{Type: TypeError, EName: "ValueError", EValue: "bad", Traceback: []string{"Traceback (most recent call last):", "Cell In[1], line 1\n----> 1 x\n", "ValueError: bad"}}}
	r := Execution(ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusError, Outputs: outputs}, Options{})
	checkResult(t, "several", r, DefaultLimit)
	for _, want := range []string{"[stderr]\ncareful\n", "Cell In[1], line 1\n----> 1 x\n\nValueError: bad"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
}

func TestOfManyOutputsTheErrorStays(t *testing.T) {
	var outputs []Output
	for i := range 5000 {
		outputs = append(outputs, display(mimePlain, fmt.Sprintf("output %d %s", i, strings.Repeat("x", 500))))
	}
	outputs[2500] = Output{Type: TypeError, EName: "E", EValue: "in the middle"}
	r := Execution(ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusError, Outputs: outputs}, Options{})
	checkResult(t, "many", r, DefaultLimit)
	for _, want := range []string{"output 0 ", "output 4999 ", "E: in the middle", "4,975 outputs left out]", "[all outputs: get_results"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
}

func TestTextIsNeverAboveItsLimit(t *testing.T) {
	cases := recorded(t)
	all := []Output{}
	for _, outputs := range cases {
		all = append(all, outputs...)
	}
	cases["all at once"] = all
	for name, outputs := range cases {
		for _, limit := range []int{1, 40, 100, 300, 1000, 5000} {
			e := ExecutionView{CellID: "c", ExecutionID: strings.Repeat("e", 36), Status: StatusRunning, Outputs: outputs, Reason: strings.Repeat("r", 300)}
			checkResult(t, fmt.Sprint(name, " ", limit), Execution(e, Options{Limit: limit}), max(limit, 20))
		}
	}
}

func TestImagesOfAnExecution(t *testing.T) {
	var outputs []Output
	for i := range 6 {
		outputs = append(outputs, Output{Type: TypeDisplay, Data: map[string]Content{
			"image/png": {Bytes: pngOf(t, drawing(10+i, 10)), BlobHash: fmt.Sprint("hash", i)}, mimePlain: {Text: "<Figure>"}}})
	}
	r := Outputs(outputs, Options{})
	if len(r.Images) != MaxImages || len(r.Links) != 2 || r.Links[0] != (Link{"runt://blobs/hash4", "image/png", int64(len(outputs[4].Data["image/png"].Bytes))}) {
		t.Errorf("%d images, links %+v", len(r.Images), r.Links)
	}
	for _, want := range []string{"<Figure>\n[image 1: image/png, 10 × 10, ", "[image 4: image/png, 13 × 10, ", "[image 5, not shown: only 4 are]\n[image/png, ", "runt://blobs/hash5]"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in\n%s", want, r.Text)
		}
	}
	if r := Outputs(outputs, Options{NoImages: true}); len(r.Images) != 0 || len(r.Links) != 6 {
		t.Errorf("without images: %d images, %d links", len(r.Images), len(r.Links))
	}
	broken := Outputs([]Output{display("image/png", "not base64 !!", mimePlain, "<broken>")}, Options{})
	if want := "<broken>\n[image/png of 13 bytes, broken: it cannot be decoded]"; broken.Text != want || len(broken.Images) != 0 {
		t.Errorf("broken image: %q", broken.Text)
	}
}

func TestRuns(t *testing.T) {
	got := Runs([]ExecutionView{
		{CellID: "a", ExecutionID: "1", Status: StatusDone, Count: ptr(int64(1)), Seconds: 1},
		{CellID: "b", ExecutionID: "2", Status: StatusError, Outputs: []Output{{Type: TypeError, EName: "E", EValue: "bad\nthing"}}},
		{CellID: "c", ExecutionID: "3", Status: StatusCancelled, Reason: "An earlier cell raised."},
	}, 0)
	want := "3 cells: 1 done, 1 error, 1 cancelled\na · done · [1] · execution 1 · 1.00 s\nb · error · execution 2\n    E: bad thing\nc · cancelled · execution 3 · An earlier cell raised."
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Runs(make([]ExecutionView, 10000), 0); len(got) > DefaultLimit {
		t.Errorf("%d bytes", len(got))
	}
}

func TestLastLine(t *testing.T) {
	for _, c := range []struct {
		outputs []Output
		want    string
	}{
		{nil, ""},
		{[]Output{stream("stdout", "a\nb\n\n")}, "b"},
		{[]Output{stream("stdout", "a\n"), stream("stderr", "10%\r20%\n")}, "20%"},
		{[]Output{stream("stdout", "a\n"), stream("stderr", "\n")}, "a"},
		{[]Output{display(mimePlain, "x\ny")}, "y"},
		{[]Output{{Type: TypeError, EName: "E", EValue: "v"}}, "E: v"},
		{[]Output{stream("stdout", strings.Repeat("w ", 1000))}, strings.Repeat("w ", 99) + "w…"},
	} {
		if got := LastLine(c.outputs); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func BenchmarkExecutionOfManyLines(b *testing.B) {
	var s strings.Builder
	for i := range 300000 {
		fmt.Fprintln(&s, i)
	}
	e := ExecutionView{CellID: "c", ExecutionID: "ex", Status: StatusDone, Outputs: []Output{stream("stdout", s.String())}}
	for b.Loop() {
		Execution(e, Options{})
	}
}

func TestTextFitsItsLimitAsJSON(t *testing.T) {
	for name, text := range map[string]string{
		"short lines": strings.Repeat(strings.Repeat("7\t", 25)+"\n", 5_000),
		"quotes":      strings.Repeat(`"\`, 50_000),
		"one line":    strings.Repeat("x", 100_000),
		"wide":        strings.Repeat("\u2028é", 50_000),
		"one of many": strings.Repeat("x", 20_000) + strings.Repeat("\n\"\"\"", 20_000) + strings.Repeat("y", 20_000),
	} {
		r := Execution(ExecutionView{CellID: "c", ExecutionID: "e", Status: StatusDone, Outputs: []Output{{Type: TypeStream, Name: "stdout", Text: text}}}, Options{})
		b, err := json.Marshal(r.Text)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(b) - 2; n > DefaultLimit || n != jsonSize(r.Text) || n < DefaultLimit*4/5 {
			t.Errorf("%s: %d bytes of JSON, counted as %d", name, n, jsonSize(r.Text))
		}
	}
}

func TestWhyAKernelEndedACellIsToldOnce(t *testing.T) {
	const reason = "The kernel ended with exit code 42."
	r := Execution(ExecutionView{Status: StatusError, Reason: reason, Hint: "Restart it.", Outputs: []Output{
		{Type: TypeStream, Name: "stdout", Text: "last words\n"},
		{Type: TypeError, EName: kernelError, EValue: reason + " Restart it.", Traceback: []string{reason + " Restart it."}},
	}}, Options{})
	if strings.Count(r.Text, reason) != 1 || strings.Count(r.Text, "Restart it.") != 1 || !strings.Contains(r.Text, "last words") {
		t.Errorf("got\n%s", r.Text)
	}
	later := Execution(ExecutionView{Status: StatusError, Outputs: []Output{
		{Type: TypeError, EName: kernelError, EValue: reason, Traceback: []string{reason}},
	}}, Options{})
	if strings.Count(later.Text, reason) != 1 || !strings.Contains(later.Text, kernelError) {
		t.Errorf("later\n%s", later.Text)
	}
}
