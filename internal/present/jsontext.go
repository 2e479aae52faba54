package present

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// jsonWhole is the size up to which JSON is shown as it is.
const jsonWhole = 2048

// jsonText returns JSON as it is, or its structure when it is large.
func jsonText(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= jsonWhole {
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", "  ") == nil && b.Len() <= jsonWhole {
			return b.String()
		}
		return text
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	o := &outline{dec: dec}
	o.value("", 0)
	if _, err := dec.Token(); err != io.EOF {
		return text // not JSON: it is cut like any text
	}
	return "JSON of " + size(int64(len(text))) + ", its structure:\n" + strings.Join(o.lines, "\n")
}

// Limits of an outline.
const (
	outlineLines = 40
	outlineDepth = 4
	outlineKeys  = 25
)

// outline reads JSON token by token and keeps its structure: the keys of
// objects, the lengths of lists and the first element of each.
type outline struct {
	dec   *json.Decoder
	lines []string
	err   error
}

// value reads one value and returns what it is in a few words. The line about
// it is written before those about its parts.
func (o *outline) value(name string, depth int) {
	t, err := o.dec.Token()
	if err != nil {
		o.err = err
		return
	}
	d, isDelim := t.(json.Delim)
	at := o.add(depth)
	switch {
	case !isDelim:
		o.set(at, depth, name, scalar(t))
	case d == '{':
		n := 0
		for ; o.more(); n++ {
			key, err := o.dec.Token()
			if err != nil {
				o.err = err
				return
			}
			below := depth + 1
			if n >= outlineKeys {
				below = outlineDepth + 1
			}
			o.value(OneLine(fmt.Sprint(key), 40), below)
		}
		o.end()
		o.set(at, depth, name, "object of "+plural(n, "key"))
		if n > outlineKeys {
			o.note(depth+1, fmt.Sprintf("[… %s more]", plural(n-outlineKeys, "key")))
		}
	default:
		n := 0
		for ; o.more(); n++ {
			below := depth + 1
			if n > 0 {
				below = outlineDepth + 1
			}
			o.value("[0]", below)
		}
		o.end()
		o.set(at, depth, name, "list of "+thousands(int64(n)))
	}
}

func (o *outline) more() bool { return o.err == nil && o.dec.More() }

func (o *outline) end() {
	if o.err == nil {
		_, o.err = o.dec.Token()
	}
}

// add makes room for a line and returns its place, or -1 when it is not shown.
func (o *outline) add(depth int) int {
	if depth > outlineDepth || len(o.lines) >= outlineLines {
		return -1
	}
	o.lines = append(o.lines, "")
	return len(o.lines) - 1
}

func (o *outline) set(at, depth int, name, what string) {
	if at < 0 {
		return
	}
	if name != "" {
		name += ": "
	}
	o.lines[at] = strings.Repeat("  ", depth) + name + what
}

func (o *outline) note(depth int, s string) {
	if at := o.add(depth); at >= 0 {
		o.set(at, depth, "", s)
	}
}

func scalar(t json.Token) string {
	switch v := t.(type) {
	case string:
		if len(v) > 60 {
			return fmt.Sprintf("%q (%s)", OneLine(v, 40), size(int64(len(v))))
		}
		return fmt.Sprintf("%q", v)
	case nil:
		return "null"
	}
	return fmt.Sprint(t)
}
