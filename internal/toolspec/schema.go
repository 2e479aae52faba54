package toolspec

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ListJSON returns the value of "tools" in the answer to tools/list: a JSON
// array, the same bytes every time. The caller must not change it.
func ListJSON() []byte { return listJSON }

// InputSchema returns the JSON schema of the tool's arguments.
func (t *Tool) InputSchema() json.RawMessage {
	return objectSchema(t.Args)
}

var listJSON = renderList(all)

// The order of the fields here is that of the MCP library's own types, so that
// a list answered by the library has the same bytes.
type wireTool struct {
	Annotations wireHints       `json:"annotations"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Name        string          `json:"name"`
}

type wireHints struct {
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
	ReadOnly    bool `json:"readOnlyHint"`
}

func renderList(tools []*Tool) []byte {
	list := make([]wireTool, len(tools))
	for i, t := range tools {
		list[i] = wireTool{
			Annotations: wireHints{t.Destructive, t.Idempotent, t.OpenWorld, t.ReadOnly},
			Description: t.Desc,
			InputSchema: t.InputSchema(),
			Name:        t.Name,
		}
	}
	return mustJSON(list)
}

// objectSchema writes properties in the order of args: a model reads the
// important ones first. encoding/json would sort them.
func objectSchema(args []Arg) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, a := range args {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", mustJSON(a.Name), a.schema())
		if a.Required {
			required = append(required, a.Name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		fmt.Fprintf(&b, `,"required":%s`, mustJSON(required))
	}
	b.WriteString(`,"additionalProperties":false}`)
	return b.Bytes()
}

func (a Arg) schema() json.RawMessage {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%s`, mustJSON(a.Type))
	if a.Type == List {
		items := json.RawMessage(`{"type":"string"}`)
		if a.Items != nil {
			items = objectSchema(a.Items)
		}
		fmt.Fprintf(&b, `,"items":%s`, items)
	}
	field := func(key string, value any) { fmt.Fprintf(&b, `,%q:%s`, key, mustJSON(value)) }
	if a.Desc != "" {
		field("description", a.Desc)
	}
	if a.Enum != nil {
		field("enum", a.Enum)
	}
	if a.Nullable {
		field("nullable", true)
	}
	if a.Min != nil {
		field("minimum", *a.Min)
	}
	if a.Max != nil {
		field("maximum", *a.Max)
	}
	if a.Default != nil {
		field("default", a.Default)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// mustJSON encodes values that come from the catalog, which always encode.
func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("toolspec: %v", err))
	}
	return raw
}
