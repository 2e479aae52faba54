package present

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestChoiceOfFormat(t *testing.T) {
	big := `{"list":[` + strings.Repeat(`{"a":1},`, 500) + `{}],"k":"` + strings.Repeat("v", 100) + `","n":null}`
	for _, c := range []struct {
		name string
		o    Output
		want string
	}{
		{"for models", display(mimeAuthor, "A", mimePlain, "B", mimeMarkdown, "C", "application/vnd.plotly.v1+json", "{}"), "A"},
		{"plot over the rest", display("application/vnd.plotly.v1+json", `{"data":[]}`, mimePlain, "Figure()"), "Plotly figure, 0 traces"},
		{"broken plot", display("application/vnd.plotly.v1+json", `{"data":`, mimePlain, "Figure()"), "Figure()"},
		{"latex", display(mimeLatex, "$x$", mimeMarkdown, "x", mimePlain, "x"), "$x$"},
		{"markdown", display(mimeMarkdown, "*x*", mimePlain, "x"), "*x*"},
		{"plain", display(mimePlain, "x", mimeHTML, "<b>y</b>"), "x"},
		{"json", display(mimeJSON, `{"b":1,"a":[1,2]}`), "{\n  \"b\": 1,\n  \"a\": [\n    1,\n    2\n  ]\n}"},
		{"json that is none", display(mimeJSON, `{"b"`), `{"b"`},
		{"large json", display(mimeJSON, big), "JSON of 4,129 bytes, its structure:\nobject of 3 keys\n  list: list of 501\n    [0]: object of 1 key\n      a: 1\n  k: \"vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv…\" (100 bytes)\n  n: null"},
		{"html alone", display(mimeHTML, "<p>Hello <i>you</i>"), "Hello you"},
		{"html beside a bare repr", display(mimeHTML, "<p>Hello", mimePlain, "<__main__.A at 0x7f12>"), "Hello"},
		{"widget", display(mimeWidget, `{"model_id":"m"}`, mimePlain, "0%| | 0/3"), "0%| | 0/3"},
		{"widget alone", display(mimeWidget, `{"model_id":"m"}`), "[application/vnd.jupyter.widget-view+json, 16 bytes]"},
		{"svg", display("image/svg+xml", "<svg/>"), "[image/svg+xml, 6 bytes]"},
		{"pdf beside text", display("application/pdf", "%PDF", mimePlain, "a document"), "a document\n[application/pdf, 4 bytes]"},
		{"javascript", display("application/javascript", "alert(1)"), "[application/javascript, 8 bytes]"},
		{"javascript beside text", display("application/javascript", "alert(1)", mimePlain, "x"), "x"},
		{"several lines trimmed", display(mimePlain, "\n\nx\n\n"), "x"},
		{"carriage returns and colours", display(mimePlain, "a\rb\x1b[31mc"), "bc"},
	} {
		if got := Outputs([]Output{c.o}, Options{}).Text; got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestOutlineOfJSONIsShort(t *testing.T) {
	object, deep := map[string]any{}, any("x")
	for i := range 500 {
		object[fmt.Sprintf("key%03d", i)] = map[string]any{"a": i}
		deep = []any{deep}
	}
	for name, v := range map[string]any{"wide": object, "deep": deep, "long": strings.Repeat("x", 5000), "numbers": make([]int, 5000)} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		padded := string(b) + strings.Repeat(" ", jsonWhole)
		got := jsonText(padded)
		if strings.Count(got, "\n") > outlineLines+1 || len(got) > 4000 {
			t.Errorf("%s: %d bytes\n%s", name, len(got), got)
		}
	}
	for _, bad := range []string{"[1,", "[1]x", "{\"a\":}", "]"} {
		bad += strings.Repeat(" ", jsonWhole) + "z"
		if got := jsonText(bad); got != bad {
			t.Errorf("not JSON was shown as %q", got)
		}
	}
}

func TestPlots(t *testing.T) {
	typed := base64Of([]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0x10, 0xc0})
	for _, c := range []struct{ mime, in, want string }{
		{"application/vnd.plotly.v1+json", `{"data":[{"y":[-3.5,-1]},{"type":"pie","labels":["a","b","c","d","e"],"values":[1,1,1,1,1]},{"type":"heatmap","z":[[1,2],[3,4]]},{"y":{"dtype":"f8","bdata":"` + typed + `"}},{"type":"bar","x":[null,"x"],"y":["NaN",2]}],"layout":{"title":"T","yaxis":{"title":{"text":"Y"}}}}`,
			`Plotly figure "T", 5 traces; y: Y
- scatter, 2 points: y -3.5 to -1
- pie, 5 points: values 1; labels a, b, c … e
- heatmap, 4 points: z 1 to 4
- scatter, 2 points: y -4 to 1
- bar, 2 points: x x; y 2`},
		{"application/vnd.plotly.v1+json", `{"data":[` + strings.Repeat(`{},`, 19) + `{}]}`, "Plotly figure, 20 traces" + strings.Repeat("\n- scatter", 12) + "\n[… 8 traces more]"},
		{"application/vnd.plotly.v1+json", `{"data":[{"y":{"dtype":"i1","bdata":"/w=="}},{"y":{"dtype":"u1","bdata":"/w=="}},{"y":{"dtype":"i2","bdata":"//8="}},{"y":{"dtype":"u2","bdata":"//8="}},{"y":{"dtype":"i4","bdata":"/////w=="}},{"y":{"dtype":"u4","bdata":"/////w=="}},{"y":{"dtype":"f4","bdata":"AACAPw=="}},{"y":{"dtype":"f8","bdata":"!"}},{"y":{"dtype":"q","bdata":"AA=="}}]}`,
			"Plotly figure, 9 traces\n- scatter, 1 point: y -1\n- scatter, 1 point: y 255\n- scatter, 1 point: y -1\n- scatter, 1 point: y 65535\n- scatter, 1 point: y -1\n- scatter, 1 point: y 4294967295\n- scatter, 1 point: y 1\n- scatter\n- scatter"},
		{"application/vnd.vegalite.v5+json", `{"title":{"text":["A","B"]},"mark":{"type":"bar"},"encoding":{"x":{"field":"c","type":"nominal"},"y":{"aggregate":"sum","field":"v"},"size":{"value":5},"tooltip":{}},"data":{"values":[{"c":"u","v":2},{"c":"w","v":8}]}}`,
			"Vega-Lite chart \"A B\"\n- bar: size constant; x c (nominal); y sum(v)\nData: 2 rows; c u, w; v 2 to 8"},
		{"application/vnd.vegalite.v6+json", `{"hconcat":[{"mark":"point"},{"layer":[{"mark":"line"},{"mark":"rule"}]}],"spec":{"mark":"area"}}`, "Vega-Lite chart\n- point\n- line\n- rule\n- area"},
		{"application/vnd.vega.v5+json", `{"marks":[{"type":"rect"},{"type":"rect"},{"type":"text"}],"data":[{"name":"table"}],"signals":[{"name":"hover"}]}`, "Vega chart; marks: rect, text; data: table; signals: hover"},
		{"application/geo+json", `{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point"},"properties":{"name":"a","pop":1}},{"geometry":{"type":"Polygon"}}]}`, "GeoJSON, 2 features; 1 × Point; 1 × Polygon; properties: name, pop"},
		{"application/geo+json", `{"type":"Point","coordinates":[1,2]}`, "GeoJSON, 1 feature; 1 × Point"},
	} {
		if got := Outputs([]Output{display(c.mime, c.in)}, Options{}).Text; got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

func FuzzPlots(f *testing.F) {
	for _, s := range []string{`{"data":[{"x":{"dtype":"f8","bdata":"AAAA"}}],"layout":{"title":5}}`, `{"mark":{"type":[]},"layer":[{}],"data":{"values":[1,{"a":[]}]}}`,
		`{"marks":5,"data":{}}`, `{"features":[5,{"geometry":[]}]}`, `[]`, `{"data":[{"z":[[1],[[2]],3]}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range plots {
			o := display(p.prefix+"5+json", s, mimePlain, "plain")
			checkResult(t, p.prefix, Outputs([]Output{o}, Options{}), DefaultLimit)
		}
		checkResult(t, "json", Outputs([]Output{display(mimeJSON, s+strings.Repeat(" ", jsonWhole)+"1")}, Options{}), DefaultLimit)
		checkResult(t, "html", Outputs([]Output{display(mimeHTML, "schema/vega-lite/})("+s+")")}, Options{}), DefaultLimit)
	})
}
