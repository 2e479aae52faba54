package roomactor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"runt/internal/blob"
	"runt/internal/docvalue"
	"runt/internal/domain"
	"runt/internal/ipynb"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
)

// Snapshot is a copy of a notebook for saving, taken in one moment.
type Snapshot struct {
	Metadata map[string]any
	Cells    []SnapshotCell
	Heads    []string // of the notebook document, hex
}

// SnapshotCell is a cell with the outputs of the execution it points at.
type SnapshotCell struct {
	notebook.Cell
	Count   *int64
	Outputs []runtimestate.Output
}

// hiddenMetadata are the keys of the document's metadata that never go into a file.
var hiddenMetadata = []string{"runtime", "ephemeral", "trust_signature", "trust_timestamp"}

func (r *Room) snapshot(outputs bool) Snapshot {
	s := Snapshot{Metadata: r.nb.Metadata(), Heads: r.headsHex()}
	for _, k := range hiddenMetadata {
		delete(s.Metadata, k)
	}
	for _, c := range r.nb.Cells() {
		sc := SnapshotCell{Cell: c}
		if x, ok := r.core.Execution(domain.ExecutionID(c.ExecutionID)); ok && outputs {
			sc.Count = x.Count
			for _, o := range x.Outputs {
				sc.Outputs = append(sc.Outputs, runtimestate.Output{ID: o.ID, Seq: o.Seq, Manifest: copyManifest(o.Manifest)})
			}
		} else if n, err := strconv.ParseInt(c.ExecutionCount, 10, 64); err == nil && outputs && c.ExecutionID != "" {
			sc.Count = &n
		}
		s.Cells = append(s.Cells, sc)
	}
	return s
}

// copyManifest copies the top of a manifest: that is all the core ever changes in place.
func copyManifest(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// fileNotebook turns a snapshot into what the file holds. Outputs that are what
// base has at the same place are base's own, to the byte.
func fileNotebook(s Snapshot, base *ipynb.File, blobs *blob.Store) (ipynb.Notebook, error) {
	byID := map[string]ipynb.Cell{}
	if base != nil {
		for _, c := range base.Cells {
			byID[c.ID] = c
		}
	}
	n := ipynb.Notebook{Metadata: s.Metadata}
	if base != nil {
		n.Metadata = originalMap(s.Metadata, base.Metadata)
	}
	for _, c := range s.Cells {
		was := byID[string(c.ID)]
		fc := ipynb.Cell{ID: string(c.ID), Type: c.Type, Source: c.Source, Metadata: originalMap(c.Metadata, was.Metadata)}
		if len(c.Attachments) > 0 {
			fc.Attachments = originalMap(c.Attachments, was.Attachments)
		}
		if c.Type == ipynb.TypeCode {
			fc.ExecutionCount = c.Count
			outputs, err := fileOutputs(c.Outputs, was.Outputs, blobs)
			if err != nil {
				return n, fmt.Errorf("outputs of cell %s: %w", c.ID, err)
			}
			fc.Outputs = outputs
		}
		n.Cells = append(n.Cells, fc)
	}
	return n, nil
}

// original puts values of the file back where the document has what they became
// in it: numbers that the document cannot hold are rounded there, and only there.
func original(now, base any) any {
	switch b := base.(type) {
	case map[string]any:
		if m, ok := now.(map[string]any); ok {
			return originalMap(m, b)
		}
	case []any:
		l, ok := now.([]any)
		if !ok {
			return now
		}
		out := make([]any, len(l))
		for i, v := range l {
			if out[i] = v; i < len(b) {
				out[i] = original(v, b[i])
			}
		}
		return out
	case json.Number:
		if stored, err := docvalue.FromJSON(b); err == nil && docvalue.Equal(docvalue.ToJSON(stored), now) {
			return b
		}
	}
	return now
}

func originalMap(now, base map[string]any) map[string]any {
	if now == nil {
		return nil
	}
	out := make(map[string]any, len(now))
	for k, v := range now {
		if b, ok := base[k]; ok {
			v = original(v, b)
		}
		out[k] = v
	}
	return out
}

func fileOutputs(outputs []runtimestate.Output, base []ipynb.Output, blobs *blob.Store) ([]ipynb.Output, error) {
	out := []ipynb.Output{}
	for i, o := range outputs {
		if i < len(base) && sameManifest(o.Manifest, base[i].Value) {
			out = append(out, base[i])
			continue
		}
		v, err := outputValue(o.Manifest, blobs)
		if err != nil {
			return nil, err
		}
		out = append(out, ipynb.Output{Value: v})
	}
	return out, nil
}

// sameManifest says whether a file's output would become this manifest.
func sameManifest(m, fileValue map[string]any) bool {
	a := copyManifest(m)
	b := room.OutputManifest(fileValue, room.DefaultConfig().InlineText, nil)
	delete(a, "output_id")
	delete(b, "output_id")
	delete(a, "transient")
	return ipynb.EqualValues(a, b)
}

// outputValue turns a manifest into an output of a notebook file.
func outputValue(m map[string]any, blobs *blob.Store) (map[string]any, error) {
	kind, _ := m["output_type"].(string)
	out := map[string]any{"output_type": kind}
	switch kind {
	case "stream":
		text, err := content(m["text"], blobs)
		out["name"], out["text"] = m["name"], string(text)
		return out, err
	case "error":
		out["ename"], out["evalue"] = m["ename"], m["evalue"]
		text, err := content(m["traceback"], blobs)
		if err != nil {
			return nil, err
		}
		tb := []any{}
		if json.Unmarshal(text, &tb) != nil {
			tb = []any{string(text)}
		}
		out["traceback"] = tb
		return out, nil
	}
	data := map[string]any{}
	refs, _ := m["data"].(map[string]any)
	for mime, ref := range refs {
		b, err := content(ref, blobs)
		if err != nil {
			return nil, err
		}
		data[mime] = bundleValue(mime, b, isBlob(ref))
	}
	out["data"], out["metadata"] = data, map[string]any{}
	if md, ok := m["metadata"].(map[string]any); ok {
		out["metadata"] = md
	}
	if kind == "execute_result" {
		out["execution_count"] = m["execution_count"]
	}
	return out, nil
}

func bundleValue(mime string, b []byte, fromBlob bool) any {
	switch {
	case ipynb.IsJSONMIME(mime):
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			return fileNumbers(v)
		}
		return string(b)
	case room.IsBinary(mime) && fromBlob:
		return base64.StdEncoding.EncodeToString(b)
	}
	return string(b)
}

// fileNumbers gives decoded numbers the types that package ipynb uses.
func fileNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u
		}
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
		return v
	case map[string]any:
		for k, x := range v {
			v[k] = fileNumbers(x)
		}
	case []any:
		for i, x := range v {
			v[i] = fileNumbers(x)
		}
	}
	return v
}

func isBlob(ref any) bool {
	m, _ := ref.(map[string]any)
	_, ok := m["blob"]
	return ok
}

// content reads what a reference of a manifest stands for.
func content(ref any, blobs *blob.Store) ([]byte, error) {
	m, _ := ref.(map[string]any)
	if s, ok := m["inline"].(string); ok {
		return []byte(s), nil
	}
	hash, ok := m["blob"].(string)
	if !ok {
		return nil, fmt.Errorf("output refers to nothing")
	}
	b, _, err := blobs.Get(hash)
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	return b, nil
}
