package present

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxTraces is how many traces, layers or marks of a plot are described.
const maxTraces = 12

// plotly describes a Plotly figure: title, axes, and kind, name and range of
// every trace.
func plotly(text string) (string, bool) {
	var fig struct {
		Data   []map[string]any `json:"data"`
		Layout map[string]any   `json:"layout"`
	}
	if json.Unmarshal([]byte(text), &fig) != nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString("Plotly figure" + quoted(titleOf(fig.Layout["title"])) + ", " + plural(len(fig.Data), "trace"))
	for _, axis := range []string{"xaxis", "yaxis", "zaxis", "yaxis2"} {
		a, _ := fig.Layout[axis].(map[string]any)
		if t := titleOf(a["title"]); t != "" {
			b.WriteString("; " + strings.Replace(axis, "axis", "", 1) + ": " + OneLine(t, 60))
		}
	}
	for i, trace := range fig.Data {
		if i == maxTraces {
			fmt.Fprintf(&b, "\n[… %s more]", plural(len(fig.Data)-i, "trace"))
			break
		}
		b.WriteString("\n- " + plotlyTrace(trace))
	}
	return b.String(), true
}

func plotlyTrace(trace map[string]any) string {
	kind := str(trace["type"])
	if kind == "" {
		kind = "scatter"
	}
	s := OneLine(kind, 24)
	if mode := str(trace["mode"]); mode != "" {
		s += " (" + OneLine(mode, 24) + ")"
	}
	s += quoted(titleOf(trace["name"]))
	count := 0
	var parts []string
	for _, key := range []string{"x", "y", "z", "values", "labels", "r", "theta", "lat", "lon", "locations", "open", "close"} {
		values, n := seriesOf(trace[key])
		if n == 0 {
			continue
		}
		count = max(count, n)
		if d := describeValues(values); d != "" {
			if key == "y" {
				d += along(trace["x"], trace["y"])
			}
			parts = append(parts, key+" "+d)
		}
	}
	if count > 0 {
		s += ", " + points(count)
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, "; ")
	}
	return s
}

// titleOf returns a title, which is text or an object with text in it.
func titleOf(v any) string {
	switch v := v.(type) {
	case string:
		return HTMLText(v)
	case []any:
		var lines []string
		for _, l := range v {
			lines = append(lines, str(l))
		}
		return strings.Join(lines, " ")
	case map[string]any:
		return titleOf(v["text"])
	}
	return ""
}

func quoted(title string) string {
	if title = OneLine(title, 100); title == "" {
		return ""
	}
	return ` "` + title + `"`
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return thousands(int64(n)) + " " + word + "s"
}
