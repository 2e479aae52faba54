package kernelcases

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// What redraws itself shows its last state, and the file keeps what a terminal would show.
func TestC094_RedrawnLinesShowTheirLastState(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	for _, c := range []struct{ name, source, want string }{
		{"carriage return", `for i in range(5): print(f'\rstep {i}', end='', flush=True); time.sleep(.02)`, "step 4"},
		{"shorter line", `print('long long long\rshort', end='')`, "shortlong long"},
		{"over messages", "print('10%', end='', flush=True); time.sleep(.1)\nprint('\\r100%', flush=True)", "100%"},
		{"backspace", `print('abc\b\bX')`, "aXc"},
		{"erase line", `print('gone\r\x1b[2Kkept')`, "kept"},
		{"erase to end", `print('12345\r\x1b[Kab')`, "ab"},
		{"cursor up", `print('one\ntwo\x1b[A\rONE\n')`, "ONE\ntwo"},
		{"colours", `print('\x1b[1;31mred\x1b[0m plain')`, "red plain"},
		{"link", `print('\x1b]8;;http://e\x1b\\text\x1b]8;;\x1b\\')`, "text"},
		{"crlf", `print('a\r\nb')`, "a\nb"},
		{"bell and nul", `print('a\x07b\x00c')`, "abc"},
		{"form feed", `print('a\x0cb')`, "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := n.run(c.source)
			wantOutput(t, text, c.want)
			shown := n.call("get_cell", map[string]any{"cell_id": firstID(t, text)})
			if !strings.HasSuffix(shown, "\n"+c.want) {
				t.Errorf("read again: %q", shown)
			}
		})
	}
}

func TestC094_ProgressBars(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	text := n.run("from tqdm import tqdm\nfor i in tqdm(range(40), desc='bar'): time.sleep(.005)\nprint('done')")
	want(t, text, "bar: 100%", "40/40", "done")
	wantNone(t, text, "bar:   0%", "\r")
	bar := firstID(t, text)
	// C095: bars inside a bar, which moves the cursor up.
	text = n.run("for i in tqdm(range(3), desc='outer'):\n    for j in tqdm(range(4), desc='inner'): time.sleep(.01)")
	want(t, text, "outer: 100%", "3/3", "inner: 100%")
	if lines := strings.Count(outputs(text), "\n"); lines > 5 {
		t.Errorf("%d lines for two bars:\n%s", lines, text)
	}
	file := n.saved(t, "bars.ipynb")
	stored := fileOutputs(file, bar)
	if len(stored) != 3 { // the bar closes with a newline after what was printed
		t.Fatalf("%d outputs in the file: %v", len(stored), stored)
	}
	for _, o := range stored {
		if s := fileText(o["text"]); strings.Contains(s, "\r") || strings.Count(s, "%|") > 1 {
			t.Errorf("stored: %q", s)
		}
	}
}

func TestK09_ClearOutput(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	n.run("from IPython.display import clear_output, display, update_display, HTML, Markdown")
	for _, c := range []struct{ name, source, want string }{
		{"at once", "print('a')\nclear_output()\nprint('b')", "b"},
		{"waiting", "print('a')\nclear_output(wait=True)\nprint('b')", "b"},
		{"waiting in vain", "print('a')\nclear_output(wait=True)", "a"},
		{"many times", "for i in range(30):\n    clear_output(wait=True)\n    print('frame', i, flush=True)", "frame 29"},
		{"all of it", "print('a')\nclear_output()", "(no output)"},
		{"displays", "display('x')\nclear_output(wait=True)\ndisplay('y')", "'y'"},
		{"and an error", "print('a')\nclear_output(wait=True)\n1/0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := n.run(c.source)
			if c.want == "" {
				want(t, text, "ZeroDivisionError")
				wantNone(t, text, "\na\n")
				return
			}
			wantOutput(t, text, c.want)
		})
	}
}

func TestC097_UpdateDisplayInOtherCells(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	first := n.run("from IPython.display import display, update_display, HTML\nh = display('one', display_id='d1')\ndisplay('one too', display_id='d1')\nprint('between')\ndisplay('other', display_id='d2')")
	second := n.run("update_display('two', display_id='d1')")
	wantOutput(t, second, "(no output)")
	cell := firstID(t, first)
	shown := n.call("get_cell", map[string]any{"cell_id": cell})
	_, shown, _ = strings.Cut(shown, "execution ")
	if strings.Count(shown, "'two'") != 2 || strings.Contains(shown, "'one") {
		t.Errorf("after the update:\n%s", shown)
	}
	want(t, shown, "between", "'other'")
	n.call("execute_code", map[string]any{"code": "update_display('three', display_id='d1')"})
	want(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, first)}), "'three'")
	file := n.saved(t, "displays.ipynb")
	for _, o := range fileOutputs(file, cell) {
		if o["transient"] != nil {
			t.Errorf("the file has transient data: %v", o)
		}
	}
	want(t, fmt.Sprint(fileOutputs(file, cell)), "'three'")
	n.run("update_display('nobody', display_id='no such id')") // hangs nothing
	// A cell that runs again no longer has its old display.
	n.call("set_cell", map[string]any{"cell_id": cell, "source": "print('anew')", "and_run": true})
	n.run("update_display('four', display_id='d1')")
	if shown := n.call("get_cell", map[string]any{"cell_id": cell}); !strings.HasSuffix(shown, "\nanew") {
		t.Errorf("an update came back to a cell that ran anew:\n%s", shown)
	}
}

// Output types are the kernel's own, and a silent cell has none.
func TestC086_OutputTypesInTheFile(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	cells := map[string]string{}
	for name, source := range map[string]string{"silent": "x = 1", "stream": "print('p')", "both": "print('p', file=sys.stderr)\n2", "error": "1/0", "display": "from IPython.display import display; display(3)"} {
		cells[name] = firstID(t, n.run(source))
	}
	file := n.saved(t, "types.ipynb")
	for name, types := range map[string]string{"silent": "", "stream": "stream", "both": "stream execute_result", "error": "error", "display": "display_data"} {
		var got []string
		for _, o := range fileOutputs(file, cells[name]) {
			got = append(got, fmt.Sprint(o["output_type"]))
		}
		if strings.Join(got, " ") != types {
			t.Errorf("%s: %q, want %q", name, got, types)
		}
	}
}

// What Python can print and JSON cannot hold.
func TestC062_OddValues(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	text := n.run("from IPython.display import display, JSON\ndisplay(JSON({'a': [float('nan'), float('inf'), 10**30, -0.0, '\\u2028<&>']}))")
	want(t, text, "done")
	want(t, n.run("[float('nan'), float('inf')]"), "[nan, inf]")
	want(t, n.run("print('lone \\ud800 surrogate')"), " · [")
	want(t, n.run("print('👩‍👩‍👧 é ≤ \\U0001F600')"), "👩‍👩‍👧 é ≤ 😀")
	want(t, n.run("class Odd:\n    def _repr_mimebundle_(self, **k): return {'text/plain': 'odd', 'application/json': {'big': 2**70, 'n': None}, 'application/x-unknown': 'abc'}\nOdd()"), "odd")
	want(t, n.run("class Bad:\n    def __repr__(self): raise ValueError('no repr')\nBad()"), "no repr")
	n.saved(t, "odd.ipynb") // strict JSON, or that fails
	b, err := os.ReadFile(n.bed.path("odd.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	want(t, string(b), "1180591620717411303424", "\u2028<&>")
}

// Help, which kernels show in a pager, is an output.
func TestPagedHelpIsAnOutput(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	want(t, n.run("len?"), "Signature", "Return the number of items")
	want(t, n.run("def f(x):\n    'Says x.'\n    return x\nf??"), "Says x.", "return x")
	want(t, n.run("!echo from a shell"), "from a shell")
	want(t, n.run("%%bash\necho cell magic"), "cell magic")
	want(t, n.run("os.write(1, b'by hand\\n')"), "by hand")
	want(t, n.run("import subprocess; subprocess.run(['echo', 'a child'])"), "a child")
}
