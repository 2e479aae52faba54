package toolspec

import (
	_ "embed"
	"slices"
	"strings"
)

// ServerName is the name that runt gives itself in the MCP handshake.
const ServerName = "runt"

// Limits of arguments that several tools share.
const (
	MaxTimeoutSecs = 86400 // one day
	MaxWaitSecs    = 86400
)

// Type is the JSON type of an argument.
type Type string

// The types an argument can have. A list's items are strings unless Arg.Items says otherwise.
const (
	String  Type = "string"
	Boolean Type = "boolean"
	Integer Type = "integer"
	Number  Type = "number"
	List    Type = "array"
)

// Arg is one argument of a tool.
type Arg struct {
	Name     string
	Type     Type
	Desc     string   // one short sentence for the model
	Required bool     // false: may be left out
	Default  any      // shown in the schema; nil for none
	Enum     []string // the values a string may have
	Min, Max *float64 // the range of a number, both ends included
	Nullable bool     // null is a value of its own, not the same as leaving it out
	Items    []Arg    // the fields of a list's objects; nil for a list of strings
}

// Tool is one MCP tool.
type Tool struct {
	Name string
	Desc string
	Args []Arg

	ReadOnly    bool // changes nothing
	Destructive bool // may delete, overwrite or run something
	Idempotent  bool // a second call with the same arguments changes nothing more
	OpenWorld   bool // may reach beyond this machine (running code, fetching packages)
	Images      bool // the result may hold images, so it never has structured content
	ProxyOnly   bool // answered by the proxy when there is one
}

// Arg returns the argument of that name.
func (t *Tool) Arg(name string) (Arg, bool) {
	i := slices.IndexFunc(t.Args, func(a Arg) bool { return a.Name == name })
	if i < 0 {
		return Arg{}, false
	}
	return t.Args[i], true
}

// ArgNames returns the names of the tool's arguments in the order of its schema.
func (t *Tool) ArgNames() []string {
	names := make([]string, len(t.Args))
	for i, a := range t.Args {
		names[i] = a.Name
	}
	return names
}

//go:embed instructions.md
var instructions string

// Instructions returns the text that a client gets with the handshake: the
// workflow and the mistakes to avoid, in fifteen lines.
func Instructions() string { return strings.TrimSpace(instructions) }

// Find returns the tool of that name. The caller must not change it.
func Find(name string) (*Tool, bool) {
	t, ok := index[name]
	return t, ok
}

// Tools returns every tool, sorted by name. The caller must not change them.
func Tools() []*Tool { return slices.Clone(all) }

var (
	all   = collect()
	index = byName(all)
)

func collect() []*Tool {
	var tools []*Tool
	for _, group := range [][]Tool{notebookTools, readTools, editTools, runTools, kernelTools} {
		for _, t := range group {
			tools = append(tools, &t)
		}
	}
	slices.SortFunc(tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

func byName(tools []*Tool) map[string]*Tool {
	m := make(map[string]*Tool, len(tools))
	for _, t := range tools {
		m[t.Name] = t
	}
	return m
}
