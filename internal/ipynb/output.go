package ipynb

import (
	"maps"
	"strings"
)

// IsJSONMIME says that the data of a MIME type is JSON, not text.
func IsJSONMIME(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

// IsSplitMIME says that files hold the data of a MIME type as a list of lines.
func IsSplitMIME(mime string) bool {
	return strings.HasPrefix(mime, "text/") || mime == "application/javascript" || mime == "image/svg+xml"
}

// JoinedOutput returns output with its text, and the entries of its data that
// are not JSON, as one string each. That is the form of Output.Value. Maps that
// would change are copied.
func JoinedOutput(output map[string]any) map[string]any {
	output = replaceMIME(output, "data", func(mime string, v any) any {
		if IsJSONMIME(mime) {
			return v
		}
		return joined(v)
	})
	if text, ok := output["text"].([]any); ok {
		output = maps.Clone(output)
		output["text"] = joined(text)
	}
	return output
}

// CanonicalOutput returns output as nbformat writes it: text as lists of lines,
// the keys that its type must have, and without the transient part of a kernel
// message. Maps that would change are copied.
func CanonicalOutput(output map[string]any) map[string]any {
	c := maps.Clone(JoinedOutput(output))
	if c == nil {
		c = map[string]any{}
	}
	delete(c, "transient")
	orElse := func(key string, v any) {
		if c[key] == nil {
			c[key] = v
		}
	}
	switch c["output_type"] {
	case "stream":
		orElse("name", "stdout")
		orElse("text", "")
		if text, ok := c["text"].(string); ok {
			c["text"] = linesOf(text)
		}
	case "error":
		orElse("ename", "")
		orElse("evalue", "")
		orElse("traceback", []any{})
	case "execute_result", "display_data":
		orElse("data", map[string]any{})
		orElse("metadata", map[string]any{})
		if _, ok := c["execution_count"]; !ok && c["output_type"] == "execute_result" {
			c["execution_count"] = nil
		}
		c = replaceMIME(c, "data", splitMIME)
	}
	return c
}

// joinedAttachments and splitAttachments do for attachments what JoinedOutput and CanonicalOutput do for data.
func joinedAttachments(attachments map[string]any) map[string]any {
	for name := range attachments {
		attachments = replaceMIME(attachments, name, func(mime string, v any) any {
			if IsJSONMIME(mime) {
				return v
			}
			return joined(v)
		})
	}
	return attachments
}

func splitAttachments(attachments map[string]any) map[string]any {
	for name := range attachments {
		attachments = replaceMIME(attachments, name, splitMIME)
	}
	return attachments
}

func splitMIME(mime string, v any) any {
	if s, ok := v.(string); ok && IsSplitMIME(mime) {
		return linesOf(s)
	}
	return v
}

// joined returns the text of a list of strings, and any other value as it is.
func joined(v any) any {
	if list, ok := v.([]any); ok {
		if s, ok := JoinMultiline(list); ok {
			return s
		}
	}
	return v
}

// replaceMIME returns m with f applied to every entry of the MIME bundle m[key].
func replaceMIME(m map[string]any, key string, f func(mime string, v any) any) map[string]any {
	bundle, ok := m[key].(map[string]any)
	if !ok {
		return m
	}
	changed := map[string]any{}
	for mime, v := range bundle {
		_, list := v.([]any)
		_, text := v.(string)
		if list || text && IsSplitMIME(mime) {
			changed[mime] = f(mime, v)
		}
	}
	if len(changed) == 0 {
		return m
	}
	m, bundle = maps.Clone(m), maps.Clone(bundle)
	maps.Copy(bundle, changed)
	m[key] = bundle
	return m
}
