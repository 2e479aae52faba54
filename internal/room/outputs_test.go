package room

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"runt/internal/domain"
	"runt/internal/runtimestate"
)

type content = map[string]any

func text(s string) content { return content{"name": "stdout", "text": s} }

func display(s, id string) content {
	return content{"data": content{"text/plain": s}, "transient": content{"display_id": id}}
}

func TestK09_OutputsAsATerminalAndANotebookShowThem(t *testing.T) {
	type msg struct {
		typ string
		c   content
	}
	tests := []struct {
		name string
		msgs []msg
		want string
		n    int
	}{
		{"streams join", []msg{{"stream", text("a")}, {"stream", text("b\n")}}, "ab\n", 1},
		{"streams by name", []msg{{"stream", text("a")}, {"stream", content{"name": "stderr", "text": "e"}}, {"stream", text("b")}}, "aeb", 3},
		{"empty stream", []msg{{"stream", text("")}}, "", 0},
		{"a display divides", []msg{{"stream", text("a")}, {"display_data", display("d", "")}, {"stream", text("b")}}, "adb", 3},
		{"carriage return", []msg{{"stream", text("10%\r")}, {"stream", text("20%\r")}, {"stream", text("30%\n")}}, "30%\n", 1},
		{"backspace", []msg{{"stream", text("abc\b")}, {"stream", text("d")}}, "abd", 1},
		{"cursor up", []msg{{"stream", text("one\ntwo\n")}, {"stream", text("\x1b[A2nd")}}, "one\n2nd\n", 1},
		{"result", []msg{{"execute_result", content{"data": content{"text/plain": "42"}, "execution_count": 3}}}, "42", 1},
		{"clear", []msg{{"stream", text("a")}, {"clear_output", content{}}, {"stream", text("b")}}, "b", 1},
		{"clear waits", []msg{{"stream", text("a")}, {"clear_output", content{"wait": true}}}, "a", 1},
		{"clear waited", []msg{{"stream", text("a")}, {"clear_output", content{"wait": true}}, {"stream", text("b")}, {"stream", text("c")}}, "bc", 1},
		{"clear then display", []msg{{"stream", text("a")}, {"clear_output", content{"wait": true}}, {"display_data", display("d", "")}}, "d", 1},
		{"update", []msg{{"display_data", display("one", "x")}, {"display_data", display("one", "x")}, {"update_display_data", display("two", "x")}}, "twotwo", 2},
		{"update of nothing", []msg{{"update_display_data", display("two", "x")}}, "", 0},
		{"error", []msg{{"error", content{"ename": "E", "evalue": "bad", "traceback": []any{"t"}}}}, "bad", 1},
		{"unknown", []msg{{"comm_open", content{}}}, "", 0},
	}
	for _, tt := range tests {
		for _, early := range []bool{false, true} { // written as it comes, or whole at the end
			r := newRig(t, nil).ready()
			id := r.run("a", 1)[0]
			for _, m := range tt.msgs {
				r.message(id, m.typ, m.c)
				if early {
					r.fire2()
					r.flush()
				}
			}
			r.end(id, "ok")
			if got := r.shown(id); got != tt.want || len(r.doc.execs[string(id)].outputs) != tt.n {
				t.Errorf("%s (early %v): %q in %d outputs, want %q in %d", tt.name, early, got, len(r.doc.execs[string(id)].outputs), tt.want, tt.n)
			}
		}
	}
}

func TestK09_AnUpdateReachesTheDisplaysOfOtherCells(t *testing.T) {
	r := newRig(t, nil).ready()
	first := r.run("a", 1)[0]
	r.message(first, "display_data", display("one", "d1"))
	r.message(first, "display_data", display("keep", "d2"))
	r.end(first, "ok")
	second := r.run("a", 2)[0]
	r.message(second, "update_display_data", display("two", "d1"))
	r.end(second, "ok")
	if got := r.shown(first); got != "twokeep" {
		t.Errorf("the first cell shows %q", got)
	}
	if got := r.shown(second); got != "" {
		t.Errorf("the second cell shows %q", got)
	}
	r.message(second, "clear_output", content{}) // what is cleared is not updated any more
	r.do(ExecuteRequested{From: r.caller("a"), Items: []Item{{Cell: "cell1", Execution: uuid(9)}}})
	r.end(uuid(9), "ok")
	if len(r.c.shown["d1"]) != 1 {
		t.Errorf("%d displays of d1", len(r.c.shown["d1"]))
	}
}

func TestK11_LateOutputIsKept(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.print(id, "in time\n")
	r.end(id, "ok")
	r.print(id, "late\n")
	if e := one[EditRuntime](t, r.fire(TimerFlush)); e.Seq != r.seq {
		t.Errorf("seq %d, want %d", e.Seq, r.seq)
	}
	if got := r.shown(id); got != "in time\nlate\n" || r.status(id) != statusDone {
		t.Errorf("%s %q", r.status(id), got)
	}
	none[EditRuntime](t, r.message("never heard of", "stream", text("x")))
}

func TestK10_LongOutputIsCutWithANote(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxStreamText = 1 << 20 }).ready()
	id := r.run("a", 1)[0]
	line := strings.Repeat("x", 1023) + "\n"
	for range 1500 {
		r.print(id, line)
	}
	r.end(id, "ok")
	got := r.shown(id)
	if n := strings.Count(got, line); n < 1024 || n > 1024+256 || !strings.Contains(got, "[output limit of 1 MiB reached") || !strings.HasSuffix(got, line) {
		t.Errorf("%d lines kept, ends with %q", n, got[len(got)-80:])
	}
}

func TestK10_TooManyOutputsAreCutWithANote(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxOutputs = 5 }).ready()
	id := r.run("a", 1)[0]
	for n := range 8 {
		r.message(id, "display_data", display(fmt.Sprint(n, " "), ""))
	}
	stored := len(r.blobs)
	r.message(id, "display_data", content{"data": content{"image/png": "AAAA"}})
	r.message(id, "stream", content{"name": "stderr", "text": "not into the note"})
	r.fire2()
	r.flush()
	const note = "[limit of 5 outputs reached; 5 more are not kept]\n"
	if got := r.shown(id); got != "0 1 2 3 4 "+note || len(r.blobs) != stored {
		t.Errorf("%q, %d blobs more", got, len(r.blobs)-stored)
	}
	r.message(id, "clear_output", content{})
	r.message(id, "display_data", display("anew", ""))
	r.message(id, "error", content{"ename": "E", "evalue": " error"})
	r.end(id, "error")
	if got := r.shown(id); got != "anew error" {
		t.Errorf("%q", got)
	}
}

// The error that says why a cell was ended is kept whatever else there is.
func TestTheReasonOfAnEndIsAlwaysShown(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxOutputs = 1 }).ready()
	id := r.run("a", 1)[0]
	r.message(id, "display_data", display("1", ""))
	r.message(id, "error", content{"ename": "E", "evalue": "dropped"})
	r.do(KernelDied{r.c.Generation(), r.next(), "It died.", ""})
	if got := r.shown(id); !strings.HasSuffix(got, "It died.") || r.status(id) != statusError {
		t.Errorf("%s %q", r.status(id), got)
	}
}

func TestOutputsAreWrittenWithATimer(t *testing.T) {
	r := newRig(t, nil).ready()
	id := r.run("a", 1)[0]
	r.print(id, "a")
	if after := r.timers[TimerFlush]; after != r.c.cfg.FirstFlush {
		t.Errorf("the first output waits %v", after)
	}
	r.fire(TimerDefer)
	r.fire(TimerFlush)
	r.print(id, "b")
	if after := r.timers[TimerFlush]; after != r.c.cfg.Flush {
		t.Errorf("later ones %v", after)
	}
	r.fire(TimerFlush)
	r.print(id, strings.Repeat("long\n", 20<<10))
	r.fire(TimerFlush)
	none[SetTimer](t, r.fire3())
	r.print(id, "more\n")
	if after := r.timers[TimerFlush]; after != r.c.cfg.BigFlush {
		t.Errorf("after a long one %v", after)
	}
}

// fire3 is a flush timer that fires with nothing to write.
func (r *rig) fire3() []Effect { return r.do(TimerFired{TimerFlush}) }

func TestManifests(t *testing.T) {
	big := strings.Repeat("y", 9<<10)
	tests := []struct {
		name string
		typ  string
		c    content
		want string // JSON without ids
	}{
		{"inline", "display_data", content{"data": content{"text/plain": "t"}}, `{"data":{"text/plain":{"inline":"t"}},"output_type":"display_data"}`},
		{"long text", "display_data", content{"data": content{"text/plain": big}}, `{"data":{"text/plain":{"blob":"HASH","size":9216}},"output_type":"display_data"}`},
		{"image", "display_data", content{"data": content{"image/png": "AA\nAA\n"}}, `{"data":{"image/png":{"blob":"HASH","size":3}},"output_type":"display_data"}`},
		{"no base64", "display_data", content{"data": content{"image/png": "%%%"}}, `{"data":{"image/png":{"inline":"%%%"}},"output_type":"display_data"}`},
		{"svg is text", "display_data", content{"data": content{"image/svg+xml": "svg"}}, `{"data":{"image/svg+xml":{"inline":"svg"}},"output_type":"display_data"}`},
		{"json", "display_data", content{"data": content{"application/json": content{"a": json.Number("1")}}, "metadata": content{"n": json.Number("2"), "f": json.Number("2.5"), "l": []any{json.Number("1e400")}}},
			`{"data":{"application/json":{"inline":"{\"a\":1}"}},"metadata":{"f":2.5,"l":["1e400"],"n":2},"output_type":"display_data"}`},
		{"result", "execute_result", content{"data": content{}, "execution_count": json.Number("7")}, `{"data":{},"execution_count":7,"output_type":"execute_result"}`},
		{"error", "error", content{"ename": "E", "evalue": "v", "traceback": []any{"a", "b"}}, `{"ename":"E","evalue":"v","output_type":"error","traceback":{"inline":"[\"a\",\"b\"]"}}`},
	}
	for _, tt := range tests {
		r := newRig(t, nil).ready()
		id := r.run("a", 1)[0]
		r.message(id, tt.typ, tt.c)
		r.end(id, "ok")
		m := r.doc.execs[string(id)].ordered()[0].Manifest
		if m["output_id"] == "" {
			t.Errorf("%s: no output id", tt.name)
		}
		delete(m, "output_id")
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := string(b)
		for hash := range r.blobs {
			got = strings.ReplaceAll(got, hash, "HASH")
		}
		if got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

func TestIsBinary(t *testing.T) {
	for mime, want := range map[string]bool{"image/png": true, "image/svg+xml": false, "audio/wav": true, "text/html": false, "application/pdf": true,
		"application/vnd.vega.v5+json": false, "application/javascript": false, "model/x": false} {
		if got := IsBinary(mime); got != want {
			t.Errorf("%s: %v", mime, got)
		}
	}
}

func TestOutputManifestOfAFile(t *testing.T) {
	for _, tt := range []struct {
		v    content
		want string
	}{
		{content{"output_type": "stream", "name": "stdout", "text": "x"}, `{"name":"stdout","output_type":"stream","text":{"inline":"x"}}`},
		{content{"output_type": "error", "ename": "E", "evalue": "v", "traceback": nil}, `{"ename":"E","evalue":"v","output_type":"error","traceback":{"inline":"[]"}}`},
		{content{"output_type": "display_data", "data": content{"text/plain": "x"}, "metadata": content{}}, `{"data":{"text/plain":{"inline":"x"}},"output_type":"display_data"}`},
	} {
		b, err := json.Marshal(OutputManifest(tt.v, 100, nil))
		if err != nil || string(b) != tt.want {
			t.Errorf("%s, %v, want %s", b, err, tt.want)
		}
	}
}

func TestOutputsOfAFileAreShownAndDoNotMakeItDirty(t *testing.T) {
	r := newRig(t, nil)
	r.c.BindFile()
	ok := true
	m := OutputManifest(content{"output_type": "stream", "name": "stdout", "text": "from the file"}, 100, nil)
	x := Execution{ID: uuid(5), Cell: "c", Status: statusDone, Success: &ok}
	x.Outputs = []runtimestate.Output{{ID: "o", Manifest: m}}
	out := r.do(OutputsLoaded{[]Execution{x}})
	if p := one[PointCell](t, out); p != (PointCell{"c", uuid(5)}) || r.shown(uuid(5)) != "from the file" || r.c.Status().Dirty {
		t.Errorf("%+v, dirty %v", p, r.c.Status().Dirty)
	}
	id := r.ready().run("a", 1)[0]
	r.fire(TimerDefer)
	r.fire2()
	r.c.saves.dirty = false
	r.print(id, "x")
	r.fire(TimerFlush)
	if !r.c.Status().Dirty {
		t.Error("new output does not make the file dirty")
	}
}

func TestPlainNumbers(t *testing.T) {
	for in, want := range map[any]any{json.Number("3"): int64(3), json.Number("-1.5"): -1.5, json.Number("zz"): "zz", true: true} {
		if got := plainNumbers(in); got != want {
			t.Errorf("%v is %v, want %v", in, got, want)
		}
	}
	for in, want := range map[any]int64{int64(1): 1, 2: 2, uint64(3): 3, 4.0: 4, json.Number("5"): 5} {
		if got, ok := asInt(in); !ok || got != want {
			t.Errorf("%v is %v", in, got)
		}
	}
	if _, ok := asInt("6"); ok {
		t.Error("a string is a number")
	}
}

func TestACellShowsItsLatestExecution(t *testing.T) {
	r := newRig(t, nil).ready()
	a := r.run("a", 1)[0]
	r.do(ExecuteRequested{From: r.caller("b"), Items: []Item{{Cell: "cell1", Execution: uuid(2), Source: "new"}}})
	r.end(a, "ok")
	// The cell shows its latest execution, also when an older one ends after it was asked for.
	for _, p := range allOf[PointCell](r.last) {
		if p.Execution != uuid(2) {
			t.Errorf("pointed %+v", p)
		}
	}
	if r.c.latest[domain.CellID("cell1")] != uuid(2) {
		t.Error("the latest execution is forgotten")
	}
}
