package present

import (
	"encoding/json"
	"fmt"
)

// FromManifestJSON reads an output as the runtime state describes it.
func FromManifestJSON(b []byte) (Output, error) {
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		return Output{}, fmt.Errorf("read output manifest: %w", err)
	}
	return FromManifest(m), nil
}

// FromManifest reads an output as the runtime state describes it: values are
// {"inline": text} or {"blob": hash, "size": n}. Plain values, as a notebook
// file has them, are understood too. What is of another shape is left out.
func FromManifest(m map[string]any) Output {
	o := Output{Type: str(m["output_type"]), Name: str(m["name"]), EName: str(m["ename"]), EValue: text(m["evalue"])}
	o.Metadata, _ = m["metadata"].(map[string]any)
	switch o.Type {
	case TypeStream:
		c := content("", m["text"])
		o.Text, o.Blob, o.Size = c.Text, c.BlobHash, c.Size
		if c.missing() {
			o.Preview = preview(m["llm_preview"], c)
		}
	case TypeError:
		if c := content("", m["traceback"]); c.missing() {
			o.Blob, o.Size = c.BlobHash, c.Size
			break
		}
		o.Traceback = lines(m["traceback"])
	default:
		o.Data = map[string]Content{}
		data, _ := m["data"].(map[string]any)
		for mime, v := range data {
			o.Data[mime] = content(mime, v)
		}
	}
	return o
}

// content reads a value: a reference, text, a list of lines, or JSON.
func content(mime string, v any) Content {
	c := Content{MediaType: mime}
	switch v := v.(type) {
	case map[string]any:
		if hash := str(v["blob"]); hash != "" && v["inline"] == nil {
			c.BlobHash, c.Size = hash, whole(v["size"])
			return c
		}
		if inline, ok := v["inline"]; ok {
			c.Text = text(inline)
			return c
		}
		c.Text = text(v)
	default:
		c.Text = text(v)
	}
	return c
}

// preview makes text of the head and tail that some daemons keep beside a blob.
func preview(v any, c Content) string {
	m, _ := v.(map[string]any)
	head, tail := str(m["head"]), str(m["tail"])
	if head == "" && tail == "" {
		return ""
	}
	note := fmt.Sprintf("\n[the middle of %s is left out]\n", size(c.Size))
	return head + note + tail
}

// text returns text, the joined lines of a list, or JSON.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		s := ""
		for _, line := range v {
			l, ok := line.(string)
			if !ok {
				return toJSON(v)
			}
			s += l
		}
		return s
	case map[string]any:
		if inline, ok := v["inline"].(string); ok {
			return inline
		}
	}
	return toJSON(v)
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// lines returns a list of strings, which may be JSON text in a reference.
func lines(v any) []string {
	if m, ok := v.(map[string]any); ok {
		v = m["inline"]
	}
	if s, ok := v.(string); ok {
		var list []string
		if json.Unmarshal([]byte(s), &list) == nil {
			return list
		}
		if s == "" {
			return nil
		}
		return []string{s}
	}
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		out = append(out, text(x))
	}
	return out
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// whole returns a number of any of the types that documents have them in.
func whole(v any) int64 {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case int64:
		return v
	case uint64:
		return int64(v)
	case int:
		return int64(v)
	}
	return 0
}
