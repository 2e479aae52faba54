package ipynb

import "bytes"

// style is how a file lays out its JSON.
type style struct {
	newline string // between items; empty for a file on one line
	indent  string // of one level
	colon   string // with the space around it
	comma   string // for a file on one line
}

// canonical is the style of nbformat.
var canonical = style{newline: "\n", indent: " ", colon: ": ", comma: ","}

// detectStyle looks at the first members of the object at start.
func detectStyle(data []byte, start int) style {
	s := canonical
	first := true
	commas := 0
	_, _ = eachMember(data, start, 0, func(m member) *fault {
		if !first {
			return nil
		}
		first = false
		gap := data[start+1 : m.keySpan.start]
		s.colon = string(data[m.keySpan.end:m.value.start])
		switch n := bytes.LastIndexByte(gap, '\n'); {
		case n < 0:
			s.newline, s.indent = "", ""
		case bytes.Contains(gap, []byte("\r\n")):
			s.newline, s.indent = "\r\n", string(gap[n+1:])
		default:
			s.newline, s.indent = "\n", string(gap[n+1:])
		}
		commas = m.afterValue
		return nil
	})
	switch {
	case s.newline != "":
	case commas > 0 && commas < len(data) && data[commas] == ',':
		s.comma = string(data[commas:skipSpace(data, commas+1)])
	case s.colon == canonical.colon:
		s.comma = ", "
	}
	return s
}
