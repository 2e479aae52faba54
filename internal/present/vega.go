package present

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// vegaLite describes a Vega-Lite chart: marks, encodings, and its data.
func vegaLite(text string) (string, bool) {
	var spec map[string]any
	if json.Unmarshal([]byte(text), &spec) != nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString("Vega-Lite chart" + quoted(titleOf(spec["title"])))
	lines := 0
	vegaLiteView(&b, spec, &lines, 0)
	if lines > maxTraces {
		fmt.Fprintf(&b, "\n[… %s more]", plural(lines-maxTraces, "view"))
	}
	for _, name := range slices.Sorted(maps.Keys(object(spec["datasets"]))) {
		b.WriteString(vegaRows(object(spec["datasets"])[name]))
		break
	}
	b.WriteString(vegaRows(object(spec["data"])["values"]))
	return b.String(), true
}

// embeddedVegaLite describes the chart in HTML that Altair makes by default: a
// call of a function with the specification as its first argument.
func embeddedVegaLite(html string) (string, bool) {
	const call = "})("
	if !strings.Contains(html, "schema/vega-lite/") {
		return "", false
	}
	i := strings.LastIndex(html, call+"{")
	if i < 0 {
		return "", false
	}
	var spec json.RawMessage
	if json.NewDecoder(strings.NewReader(html[i+len(call):])).Decode(&spec) != nil {
		return "", false
	}
	return vegaLite(string(spec))
}

// vegaLiteView writes a line for every view that has a mark.
func vegaLiteView(b *strings.Builder, spec map[string]any, lines *int, depth int) {
	if depth > 8 {
		return
	}
	if mark := spec["mark"]; mark != nil {
		if *lines++; *lines <= maxTraces {
			name := str(mark)
			if name == "" {
				name = str(object(mark)["type"])
			}
			b.WriteString("\n- " + OneLine(name, 24))
			if e := encodings(object(spec["encoding"])); e != "" {
				b.WriteString(": " + e)
			}
		}
	}
	for _, key := range []string{"layer", "concat", "hconcat", "vconcat"} {
		list, _ := spec[key].([]any)
		for _, v := range list {
			vegaLiteView(b, object(v), lines, depth+1)
		}
	}
	if inner := object(spec["spec"]); inner != nil {
		vegaLiteView(b, inner, lines, depth+1)
	}
}

// encodings lists channels with their field, aggregate and type.
func encodings(e map[string]any) string {
	var parts []string
	for _, channel := range slices.Sorted(maps.Keys(e)) {
		def := object(e[channel])
		field := str(def["field"])
		if agg := str(def["aggregate"]); agg != "" {
			field = agg + "(" + field + ")"
		}
		if def["bin"] != nil && def["bin"] != false {
			field += ", binned"
		}
		if field == "" {
			if v := def["value"]; v != nil {
				field = "constant"
			} else {
				continue
			}
		}
		if typ := str(def["type"]); typ != "" {
			field += " (" + typ + ")"
		}
		parts = append(parts, OneLine(channel+" "+field, 80))
	}
	if len(parts) > maxTraces {
		parts = append(parts[:maxTraces], "…")
	}
	return strings.Join(parts, "; ")
}

// vegaRows describes inline data: rows, and range of every field.
func vegaRows(v any) string {
	rows, _ := v.([]any)
	if len(rows) == 0 {
		return ""
	}
	first := object(rows[0])
	s := "\nData: " + plural(len(rows), "row")
	for i, field := range slices.Sorted(maps.Keys(first)) {
		if i == maxTraces {
			s += fmt.Sprintf("; %s more", plural(len(first)-i, "field"))
			break
		}
		column := make([]any, 0, min(len(rows), maxSeries))
		for _, r := range rows[:min(len(rows), maxSeries)] {
			column = append(column, object(r)[field])
		}
		s += "; " + OneLine(field, 40) + " " + describeValues(column)
	}
	return s
}

// vega describes a Vega specification: marks, data and signals by name.
func vega(text string) (string, bool) {
	var spec map[string]any
	if json.Unmarshal([]byte(text), &spec) != nil {
		return "", false
	}
	s := "Vega chart" + quoted(titleOf(spec["title"]))
	for _, part := range []struct{ key, label, name string }{
		{"marks", "marks", "type"}, {"data", "data", "name"}, {"signals", "signals", "name"},
	} {
		list, _ := spec[part.key].([]any)
		var names []string
		for _, v := range list {
			if n := str(object(v)[part.name]); n != "" && !slices.Contains(names, n) && len(names) < maxTraces {
				names = append(names, OneLine(n, 40))
			}
		}
		if len(names) > 0 {
			s += "; " + part.label + ": " + strings.Join(names, ", ")
		}
	}
	return s, true
}

// geoJSON describes features: how many, of which kinds, with which properties.
func geoJSON(text string) (string, bool) {
	var doc map[string]any
	if json.Unmarshal([]byte(text), &doc) != nil {
		return "", false
	}
	features, _ := doc["features"].([]any)
	if features == nil {
		features = []any{doc}
	}
	kinds, properties := map[string]int{}, map[string]bool{}
	for _, f := range features {
		g := object(object(f)["geometry"])
		if g == nil {
			g = object(f)
		}
		kinds[OneLine(str(g["type"]), 24)]++
		for p := range object(object(f)["properties"]) {
			if len(properties) < 20 {
				properties[OneLine(p, 40)] = true
			}
		}
	}
	s := "GeoJSON, " + plural(len(features), "feature")
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		s += fmt.Sprintf("; %d × %s", kinds[k], k)
	}
	if len(properties) > 0 {
		s += "; properties: " + strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
	}
	return Cut(s, 1000), true
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
