package ipynb

import (
	"bytes"
	"encoding/json"
	"testing"
)

// seeds are small notebooks of every kind that Parse has code for.
var seeds = []string{
	``, ` `, `{}`, `[]`, `null`, `{"cells":[]}`, "\ufeff{\"cells\":[],\"nbformat\":4,\"nbformat_minor\":5,\"metadata\":{}}",
	`{"cells":[{"cell_type":"code","source":["a\r\n","b"],"outputs":[{"output_type":"stream","text":["x\n","y"]}],"execution_count":3,"metadata":{}}],"nbformat":4,"nbformat_minor":4,"metadata":{"n":[1,-0,2.50,1e400,123456789012345678901,NaN,-Infinity]}}`,
	"{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"markdown\",\r\n\t\t\t\"id\": \"m\",\r\n\t\t\t\"attachments\": {\"a.png\": {\"image/png\": \"AA==\"}},\r\n\t\t\t\"metadata\": {},\r\n\t\t\t\"source\": \"\\ud83d\\ude00 \\ud800\"\r\n\t\t}\r\n\t],\r\n\t\"nbformat_minor\": 5,\r\n\t\"nbformat\": 4\r\n}\r\n",
	`{"worksheets":[{"cells":[{"cell_type":"heading","level":2,"source":"t"},{"cell_type":"code","input":"1","prompt_number":1,"outputs":[{"output_type":"pyout","text":"1","json":"{\"a\":1}","prompt_number":1}]}]}],"nbformat":3,"nbformat_minor":0,"metadata":{"name":"x"}}`,
	`{"cells":[{"cell_type":"code","code":"1","prompt_number":1},{"cell_type":"text","text":"t"}],"nbformat":1}`,
	`{"cells":[{"id":"a","id":"b","cell_type":"raw","source":[]},{"id":"b","cell_type":"sql","source":null,"x":1},{"id":7}],"cells":[{"id":"z!","source":["a","b"]},{"id":"b"},{"id":"b"}],"x":{"y":1}}`,
	`{"cells":[{"cell_type":"code","id":"c","metadata":[],"outputs":null,"source":"x","attachments":{}}],"nbformat":4.0,"nbformat_minor":"5"}`,
	`{"cells":{},"nbformat":4}`, `{"cells":[1],"nbformat":4}`, `{"cells":[{"source":[1]}]}`, `{"cells":[],"nbformat":5}`, `{"cells":[],}`, `{"cells":[]} x`,
}

// FuzzParse reads any bytes. What is accepted is written as strict JSON that
// reads back as the same notebook and is then written with the same bytes; an
// edit changes what was edited and nothing else.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data, nil)
		if err != nil {
			return
		}
		out := render(t, file, file.Notebook())
		same(t, out, file, file.Notebook())
		again, err := Parse(bytes.Clone(out), nil)
		if err != nil {
			t.Fatal(err)
		}
		if second := render(t, again, again.Notebook()); !bytes.Equal(out, second) {
			t.Errorf("written twice:\n%q\n%q", out, second)
		}
		for i := range file.Cells {
			checkEdit(t, file, i)
		}
		n := file.Notebook()
		n.Metadata = map[string]any{"only": []any{"this", 1.5}}
		same(t, render(t, file, n), file, n)
		n.Cells = nil
		same(t, render(t, file, n), file, n)
		fresh := file.Notebook()
		for i, c := range fresh.Cells {
			fresh.Cells[i].Outputs = nil
			for _, o := range c.Outputs {
				fresh.Cells[i].Outputs = append(fresh.Cells[i].Outputs, Output{Value: JoinedOutput(CanonicalOutput(o.Value))})
			}
		}
		same(t, render(t, nil, file.Notebook()), &File{}, fresh)
	})
}

// checkEdit changes one cell and adds one after it.
func checkEdit(t *testing.T, file *File, i int) {
	t.Helper()
	n := file.Notebook()
	n.Cells[i].Source = "edited\n" + n.Cells[i].Source
	n.Cells[i].Metadata = map[string]any{"tags": []any{"new"}}
	n.Cells = append(n.Cells[:i+1:i+1], append([]Cell{{ID: "added-by-test", Type: TypeCode, Source: "1\n2"}}, n.Cells[i+1:]...)...)
	same(t, render(t, file, n), file, n)
}

// render renders and checks that the result is JSON by the standard library's judgement.
func render(t *testing.T, base *File, n Notebook) []byte {
	t.Helper()
	out, err := Render(base, n)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatalf("not JSON:\n%q", out)
	}
	return out
}
