package room

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// maxInlineError is how much of a traceback stays in the document; errors are
// what everybody reads, so they get more room than other text.
const maxInlineError = 16 << 10

// putFunc stores content that a manifest refers to by hash.
type putFunc func(data []byte, mediaType string)

// textRef returns the reference to text: inline when short, else a blob.
func textRef(text, mediaType string, inline int, put putFunc) map[string]any {
	if len(text) < max(inline, 1) {
		return map[string]any{"inline": text}
	}
	return blobRef([]byte(text), mediaType, put)
}

func blobRef(data []byte, mediaType string, put putFunc) map[string]any {
	if put != nil {
		put(data, mediaType)
	}
	h := sha256.Sum256(data)
	return map[string]any{"blob": hex.EncodeToString(h[:]), "size": int64(len(data))}
}

// dataManifest makes the manifest of display_data, execute_result and
// update_display_data, without its output_id, and returns the display id.
func dataManifest(m Message, inline int, put putFunc) (map[string]any, string) {
	bundle, _ := m.Content["data"].(map[string]any)
	data := make(map[string]any, len(bundle))
	for mime, v := range bundle {
		data[mime] = contentRef(mime, v, inline, put)
	}
	manifest := map[string]any{"output_type": m.Type, "data": data}
	if md, ok := m.Content["metadata"].(map[string]any); ok && len(md) > 0 {
		manifest["metadata"] = plainNumbers(md)
	}
	if n, ok := asInt(m.Content["execution_count"]); ok && m.Type == "execute_result" {
		manifest["execution_count"] = n
	}
	transient, _ := m.Content["transient"].(map[string]any)
	displayID, _ := transient["display_id"].(string)
	if displayID != "" {
		manifest["transient"] = map[string]any{"display_id": displayID}
	}
	return manifest, displayID
}

func manifestDisplayID(manifest map[string]any) string {
	transient, _ := manifest["transient"].(map[string]any)
	id, _ := transient["display_id"].(string)
	return id
}

// contentRef stores one entry of a mime bundle. Binary kinds are always blobs;
// a binary one that is no base64 is kept as the text it is.
func contentRef(mime string, v any, inline int, put putFunc) map[string]any {
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			b = []byte("null")
		}
		text = string(b)
	} else if IsBinary(mime) {
		if raw, err := base64.StdEncoding.DecodeString(stripSpace(text)); err == nil {
			return blobRef(raw, mime, put)
		}
	}
	return textRef(text, mime, inline, put)
}

// stripSpace removes the line breaks that kernels put into base64.
func stripSpace(s string) string {
	if !strings.ContainsAny(s, "\r\n \t") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\r\n \t", r) {
			return -1
		}
		return r
	}, s)
}

// IsBinary says whether a media type holds bytes, which notebooks carry as base64,
// and not text. SVG and everything in XML or JSON is text; an unknown
// application type is binary, any other unknown type is text.
func IsBinary(mime string) bool {
	kind, sub, _ := strings.Cut(mime, "/")
	switch kind {
	case "image":
		return !strings.Contains(sub, "svg") && !strings.HasSuffix(sub, "+xml")
	case "audio", "video", "font":
		return true
	case "application":
		for _, text := range []string{"json", "xml", "javascript", "sql", "graphql", "tex"} {
			if strings.Contains(sub, text) {
				return false
			}
		}
		return true
	}
	return false
}

// errorManifest makes the manifest of an error, without its output_id.
func errorManifest(content map[string]any, inline int, put putFunc) map[string]any {
	ename, _ := content["ename"].(string)
	evalue, _ := content["evalue"].(string)
	tb, _ := content["traceback"].([]any)
	if tb == nil {
		tb = []any{}
	}
	text, err := json.Marshal(tb)
	if err != nil {
		text = []byte("[]")
	}
	return map[string]any{"output_type": "error", "ename": ename, "evalue": evalue,
		"traceback": textRef(string(text), "application/json", max(inline, maxInlineError), put)}
}

// plainNumbers turns the json.Number values of a decoded message into what the
// document engine stores.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = plainNumbers(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plainNumbers(x)
		}
		return out
	}
	return v
}

// asInt reads a number of a decoded message.
func asInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case uint64:
		return int64(n), true
	case float64:
		return int64(n), true
	case json.Number:
		i, err := n.Int64()
		return i, err == nil
	}
	return 0, false
}

// OutputManifest makes the manifest of an output as a notebook file holds it,
// without an output_id. put stores what does not stay inline; it may be nil when
// only the manifest is wanted.
func OutputManifest(v map[string]any, inline int, put func(data []byte, mediaType string)) map[string]any {
	kind, _ := v["output_type"].(string)
	switch kind {
	case "stream":
		name, _ := v["name"].(string)
		text, _ := v["text"].(string)
		return map[string]any{"output_type": kind, "name": name, "text": textRef(text, "text/plain", inline, put)}
	case "error":
		return errorManifest(v, inline, put)
	}
	m, _ := dataManifest(Message{Type: kind, Content: v}, inline, put)
	return m
}
