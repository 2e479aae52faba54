package present

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifests(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Output
	}{
		{`{"output_type":"stream","output_id":"x","name":"stdout","text":{"inline":"hi"}}`, Output{Type: TypeStream, Name: "stdout", Text: "hi"}},
		{`{"output_type":"stream","name":"stderr","text":{"blob":"ab","size":9}}`, Output{Type: TypeStream, Name: "stderr", Blob: "ab", Size: 9}},
		{`{"output_type":"stream","name":"stdout","text":{"blob":"ab","size":99000},"llm_preview":{"head":"first","tail":"last"}}`,
			Output{Type: TypeStream, Name: "stdout", Preview: "first\n[the middle of 99 kB is left out]\nlast", Blob: "ab", Size: 99000}},
		{`{"output_type":"stream","name":"stdout","text":["a\n","b"]}`, Output{Type: TypeStream, Name: "stdout", Text: "a\nb"}},
		{`{"output_type":"error","ename":"E","evalue":{"inline":"v"},"traceback":{"inline":"[\"a\",\"b\"]"}}`, Output{Type: TypeError, EName: "E", EValue: "v", Traceback: []string{"a", "b"}}},
		{`{"output_type":"error","ename":"E","evalue":"v","traceback":["a"]}`, Output{Type: TypeError, EName: "E", EValue: "v", Traceback: []string{"a"}}},
		{`{"output_type":"error","ename":"E","traceback":{"blob":"ab","size":9}}`, Output{Type: TypeError, EName: "E", Blob: "ab", Size: 9}},
		{`{"output_type":"error","traceback":{"inline":"not a list"}}`, Output{Type: TypeError, Traceback: []string{"not a list"}}},
		{`{"output_type":"execute_result","execution_count":3,"data":{"text/plain":{"inline":"5"},"image/png":{"blob":"cd","size":7}},"metadata":{"a":1}}`,
			Output{Type: TypeResult, Metadata: map[string]any{"a": 1.0}, Data: map[string]Content{
				"text/plain": {Text: "5", MediaType: "text/plain"}, "image/png": {BlobHash: "cd", Size: 7, MediaType: "image/png"}}}},
		{`{"output_type":"display_data","data":{"application/json":{"a":[1]},"text/plain":["x\n","y"],"text/html":null,"x/y":5}}`,
			Output{Type: TypeDisplay, Data: map[string]Content{
				"application/json": {Text: `{"a":[1]}`, MediaType: "application/json"}, "text/plain": {Text: "x\ny", MediaType: "text/plain"},
				"text/html": {MediaType: "text/html"}, "x/y": {Text: "5", MediaType: "x/y"}}}},
		{`{}`, Output{Data: map[string]Content{}}},
		{`{"output_type":5,"data":[]}`, Output{Data: map[string]Content{}}},
	} {
		got, err := FromManifestJSON([]byte(c.in))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.in, err, diff)
		}
	}
	if _, err := FromManifestJSON([]byte("nonsense")); err == nil {
		t.Error("nonsense was taken")
	}
}

func TestNumbersOfDocuments(t *testing.T) {
	for _, v := range []any{7.0, int64(7), uint64(7), 7} {
		if got := whole(v); got != 7 {
			t.Errorf("%T: %d", v, got)
		}
	}
}

func TestNeededBlobsAreFilledIn(t *testing.T) {
	outputs := []Output{
		{Type: TypeStream, Blob: "stream", Size: 9},
		{Type: TypeStream, Blob: "huge", Size: maxFetch + 1},
		{Type: TypeDisplay, Data: map[string]Content{
			"image/png": {BlobHash: "png", Size: 5}, "text/html": {BlobHash: "html", Size: 5}, "text/plain": {BlobHash: "plain", Size: 5}, "image/svg+xml": {BlobHash: "svg"}}},
		{Type: TypeDisplay, Data: map[string]Content{"application/vnd.plotly.v1+json": {BlobHash: "plot"}, "text/html": {BlobHash: "not this"}}},
		{Type: TypeDisplay, Data: map[string]Content{"text/html": {BlobHash: "html too large", Size: maxHTML + 1}, "text/plain": {Text: "there"}}},
		{Type: TypeError, EName: "E", Blob: "traceback"},
		{Type: TypeError, EName: "E"},
	}
	want := []string{"stream", "html", "plain", "png", "plot", "traceback"}
	if got := Needed(outputs); !cmp.Equal(got, want) {
		t.Errorf("needed %v, want %v", got, want)
	}
	Fill(outputs, "stream", []byte("text"))
	Fill(outputs, "png", []byte{1})
	Fill(outputs, "plain", []byte("plain"))
	Fill(outputs, "traceback", []byte(`["a","b"]`))
	if outputs[0].Text != "text" || string(outputs[2].Data["image/png"].Bytes) != "\x01" || outputs[2].Data["text/plain"].Text != "plain" || len(outputs[5].Traceback) != 2 {
		t.Errorf("filled: %+v", outputs)
	}
	if got := Needed(outputs); !cmp.Equal(got, []string{"html", "plot"}) {
		t.Errorf("then needed %v", got)
	}
}

func FuzzManifest(f *testing.F) {
	for _, s := range []string{`{"output_type":"stream","text":{"blob":"x"}}`, `{"output_type":"display_data","data":{"application/vnd.vegalite.v5+json":{"inline":"{\"mark\":5}"}}}`,
		`{"output_type":"error","traceback":[1,{"a":2}]}`, `{"data":{"text/html":"<table><tr>","image/png":"AAAA","application/json":[[[]]]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := FromManifestJSON(b)
		if err != nil {
			return
		}
		Needed([]Output{o})
		Fill([]Output{o}, "x", []byte("y"))
		r := Execution(ExecutionView{CellID: "c", ExecutionID: "e", Status: StatusDone, Outputs: []Output{o}}, Options{})
		checkResult(t, "fuzz", r, DefaultLimit)
		LastLine([]Output{o})
	})
}
