package ipynb

import (
	"maps"
	"slices"
	"strings"
)

// legacy reads nbformat 1 to 3: cells lie in worksheets, and code has other names.
func (p *parser) legacy(f *File, start int) (*File, *fault) {
	v, _, err := p.value(start)
	if err != nil {
		return nil, err
	}
	top := v.(map[string]any)
	sheets := []any{top}
	if list, ok := top["worksheets"].([]any); ok {
		sheets = list
	}
	for i, sheet := range sheets {
		s, ok := sheet.(map[string]any)
		if !ok {
			return nil, shapef(start, "worksheet %d is not an object", i+1)
		}
		cells, ok := s["cells"].([]any)
		if !ok && s["cells"] != nil {
			return nil, shapef(start, "the cells of worksheet %d are not a list", i+1)
		}
		for _, c := range cells {
			old, ok := c.(map[string]any)
			if !ok {
				return nil, shapef(start, "cell %d is not an object", len(f.Cells)+1)
			}
			f.Cells = append(f.Cells, upgradeCell(old))
		}
	}
	f.Metadata, _ = top["metadata"].(map[string]any)
	if f.Metadata == nil {
		f.Metadata = map[string]any{}
	}
	delete(f.Metadata, "name") // the file has the name
	delete(f.Metadata, "signature")
	for _, known := range []string{"worksheets", "cells", "metadata", "nbformat", "nbformat_minor", "orig_nbformat", "orig_nbformat_minor"} {
		delete(top, known)
	}
	if len(top) > 0 {
		f.Metadata["nbformat3"] = top // unknown keys are not valid in version 4
	}
	p.identify(f.Cells, 0)
	p.warn(WarnUpgraded, -1, "The file has the old format version %d.%d; it is saved as %d.%d.", f.Major, f.Minor, Major, Minor)
	return f, nil
}

// upgradeCell turns a cell of version 1 to 3 into one of version 4. What has no place there is kept in Extra.
func upgradeCell(old map[string]any) Cell {
	old = maps.Clone(old)
	take := func(key string) any {
		v := old[key]
		delete(old, key)
		return v
	}
	c := Cell{Metadata: map[string]any{}}
	if m, ok := take("metadata").(map[string]any); ok {
		c.Metadata = m
	}
	kind, _ := take("cell_type").(string)
	switch kind {
	case TypeCode:
		upgradeCode(&c, take)
	case "heading":
		c.Type = TypeMarkdown
		level, ok := wholeNumber(take("level"))
		if !ok {
			level = 1
		}
		text := strings.Join(strings.FieldsFunc(legacyText(take("source")), func(r rune) bool { return r == '\n' || r == '\r' }), " ")
		c.Source = strings.Repeat("#", int(max(1, min(level, 6)))) + " " + text
	case TypeRaw:
		c.Type = TypeRaw
		c.Source = legacyText(take("source"))
	default: // markdown, html, text, rst
		c.Type = TypeMarkdown
		c.Source = legacyText(firstOf(take("source"), take("text")))
	}
	delete(old, "rendered")
	c.Source = lf(c.Source)
	if len(old) > 0 {
		c.Metadata["nbformat3"] = old // unknown keys of a cell are not valid in version 4
	}
	return c
}

// upgradeCode takes what only code cells have.
func upgradeCode(c *Cell, take func(key string) any) {
	c.Type = TypeCode
	c.Source = legacyText(firstOf(take("input"), take("code"), take("source")))
	take("language")
	if v := take("collapsed"); v != nil {
		c.Metadata["collapsed"] = v
	}
	if n, ok := wholeNumber(take("prompt_number")); ok {
		c.ExecutionCount = &n
	}
	outputs, _ := take("outputs").([]any)
	for _, o := range outputs {
		if m, ok := o.(map[string]any); ok {
			c.Outputs = append(c.Outputs, Output{Value: JoinedOutput(upgradeOutput(m))})
		}
	}
}

func firstOf(values ...any) any {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// legacyText joins lines that may or may not have kept their line ends.
func legacyText(v any) string {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		s, _ := v.(string)
		return s
	}
	parts := make([]string, len(list))
	for i, part := range list {
		parts[i], _ = part.(string)
	}
	if strings.HasSuffix(parts[0], "\n") || strings.HasSuffix(parts[0], "\r") {
		return strings.Join(parts, "")
	}
	return strings.Join(parts, "\n")
}

// legacyMIME maps the names of output data in version 3.
var legacyMIME = map[string]string{
	"text": "text/plain", "html": "text/html", "svg": "image/svg+xml", "png": "image/png", "jpeg": "image/jpeg",
	"latex": "text/latex", "json": "application/json", "javascript": "application/javascript", "pdf": "application/pdf",
}

// upgradeOutput turns an output of version 3 into one of version 4.
func upgradeOutput(old map[string]any) map[string]any {
	out := maps.Clone(old)
	switch out["output_type"] {
	case "stream":
		out["name"] = firstOf(out["stream"], out["name"], "stdout")
		delete(out, "stream")
		out["text"] = legacyText(out["text"])
	case "pyerr":
		out["output_type"] = "error"
	case "pyout", "display_data":
		return upgradeData(out)
	}
	return out
}

// upgradeData moves the data of an output, which version 3 has beside the other keys, into a bundle.
func upgradeData(old map[string]any) map[string]any {
	out := map[string]any{"output_type": old["output_type"], "metadata": map[string]any{}}
	if old["output_type"] == "pyout" {
		out["output_type"] = "execute_result"
		out["execution_count"] = old["prompt_number"]
	}
	data := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(old)) {
		switch key {
		case "output_type", "prompt_number":
		case "metadata":
			if m, ok := old[key].(map[string]any); ok {
				out["metadata"] = renameMIME(m)
			}
		default:
			mime := key
			if name, ok := legacyMIME[key]; ok {
				mime = name
			}
			data[mime] = legacyData(mime, old[key])
		}
	}
	out["data"] = data
	return out
}

func renameMIME(m map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range m {
		if name, ok := legacyMIME[key]; ok {
			key = name
		}
		out[key] = v
	}
	return out
}

// legacyData returns data as version 4 has it: text in one string, JSON as JSON.
func legacyData(mime string, v any) any {
	if _, ok := JoinMultiline(v); !ok {
		return v
	}
	text := legacyText(v)
	if !IsJSONMIME(mime) {
		return text
	}
	d := decoder{data: []byte(text)}
	start := skipSpace(d.data, 0)
	if end, err := skipValue(d.data, start, 0); err != nil || skipSpace(d.data, end) != len(d.data) {
		return text
	}
	if parsed, _, err := d.value(start); err == nil {
		return parsed
	}
	return text
}
