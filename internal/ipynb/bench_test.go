package ipynb

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// largeFile returns a notebook like those of the shared generator: cells code
// cells, each with one image of size bytes.
func largeFile(cells, size int) []byte {
	var b bytes.Buffer
	b.WriteString("{\n \"cells\": [")
	image := strings.Repeat("A", size)
	for i := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"c%05d\",\n   \"metadata\": {},\n   \"outputs\": [", i)
		if size > 0 {
			fmt.Fprintf(&b, "\n    {\n     \"data\": {\n      \"image/png\": \"%s\"\n     },\n     \"metadata\": {},\n     \"output_type\": \"display_data\"\n    }\n   ", image)
		}
		fmt.Fprintf(&b, "],\n   \"source\": [\n    \"img(%d)\"\n   ]\n  }", i)
	}
	b.WriteString("\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")
	return b.Bytes()
}

// lines100k returns a notebook with one cell of 100,000 lines.
func lines100k() []byte {
	var b bytes.Buffer
	b.WriteString("{\"cells\": [{\"cell_type\": \"code\", \"execution_count\": null, \"id\": \"a\", \"metadata\": {}, \"outputs\": [], \"source\": [")
	for i := range 100000 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n\"v%d = %d\\n\"", i, i)
	}
	b.WriteString("]}], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}\n")
	return b.Bytes()
}

// TestLargeFileMemory reads and rewrites a 31 MB file. The heap must not grow
// by more than the file itself on reading, and by one more file on writing.
func TestLargeFileMemory(t *testing.T) {
	data := largeFile(10, 3<<20)
	grown := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var f *File
	var err error
	if n := grown(func() { f, err = Parse(data, nil) }); err != nil || n > 1<<20 {
		t.Errorf("reading %d bytes allocated %d (%v)", len(data), n, err)
	}
	nb := f.Notebook()
	nb.Cells[3].Source = "changed"
	var out []byte
	if n := grown(func() { out, err = Render(f, nb) }); err != nil || n > uint64(len(data))*11/10 {
		t.Errorf("writing %d bytes allocated %d (%v)", len(data), n, err)
	}
	if want := bytes.Replace(data, []byte(`"img(3)"`), []byte(`"changed"`), 1); !bytes.Equal(out, want) {
		t.Error("more than the source changed")
	}
	nb.Cells[4].Outputs = append(nb.Cells[4].Outputs, Output{Value: map[string]any{"output_type": "stream", "text": "x", "name": "stdout"}})
	if n := grown(func() { _, err = Render(f, nb) }); err != nil || n > uint64(len(data))*11/10 {
		t.Errorf("writing with a new output allocated %d (%v)", n, err)
	}
}

func BenchmarkParse120MB(b *testing.B)  { benchParse(b, largeFile(20, 6<<20)) }
func BenchmarkParse2000(b *testing.B)   { benchParse(b, largeFile(2000, 0)) }
func BenchmarkParseLines(b *testing.B)  { benchParse(b, lines100k()) }
func BenchmarkRender120MB(b *testing.B) { benchRender(b, largeFile(20, 6<<20)) }
func BenchmarkRender2000(b *testing.B)  { benchRender(b, largeFile(2000, 0)) }
func BenchmarkRenderLines(b *testing.B) { benchRender(b, lines100k()) }
func BenchmarkUntouched2000(b *testing.B) {
	f, err := Parse(largeFile(2000, 0), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(f, f.Notebook()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchParse(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRender(b *testing.B, data []byte) {
	f, err := Parse(data, nil)
	if err != nil {
		b.Fatal(err)
	}
	n := f.Notebook()
	n.Cells[0].Source = strings.Replace(n.Cells[0].Source, "1", "one", 1) + "\nmore"
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(f, n); err != nil {
			b.Fatal(err)
		}
	}
}
