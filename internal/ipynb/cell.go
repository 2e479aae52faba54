package ipynb

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// cells reads the list of cells.
func (p *parser) cells(f *File, list span) *fault {
	if p.data[list.start] != '[' {
		return shapef(list.start, "the cells are not a list")
	}
	_, err := eachElement(p.data, list.start, 0, func(s span) *fault {
		if p.data[s.start] != '{' {
			return shapef(s.start, "cell %d is not an object", len(f.Cells)+1)
		}
		cell, info, err := p.cell(len(f.Cells), s)
		f.Cells, f.info = append(f.Cells, cell), append(f.info, info)
		return err
	})
	if err != nil {
		return err
	}
	f.faithful = p.identify(f.Cells, f.Minor)
	return nil
}

// cell reads one cell. The id is as in the file, checked later by identify.
func (p *parser) cell(i int, s span) (Cell, cellInfo, *fault) {
	info := cellInfo{span: s}
	all, err := p.members(s.start)
	if err != nil {
		return Cell{}, info, err
	}
	c := Cell{Type: p.cellType(i, all)}
	if m, ok := all["id"]; ok {
		if c.ID, _, err = p.plainText(m.value.start); err != nil {
			return c, info, err
		}
		if c.ID == "" {
			c.ID = "(" + string(m.value.of(p.data)) + ")" // not a string, or an empty one: illegal
		}
	}
	source, err := p.source(i, all["source"])
	if err != nil {
		return c, info, err
	}
	info.crlf, c.Source = onlyCRLF(source), lf(source)
	if c.Metadata, err = p.objectAt(all["metadata"], fmt.Sprintf("the metadata of cell %d", i+1)); err != nil {
		return c, info, err
	}
	known := []string{"cell_type", "id", "source", "metadata"}
	if c.Type == TypeCode {
		known = append(known, "execution_count", "outputs")
		err = p.codeFields(i, &c, all)
	} else if m, ok := all["attachments"]; ok {
		known = append(known, "attachments")
		c.Attachments, err = p.objectAt(m, fmt.Sprintf("the attachments of cell %d", i+1))
		c.Attachments = joinedAttachments(c.Attachments)
	}
	if err != nil {
		return c, info, err
	}
	c.Extra, err = p.rest(all, known...)
	return c, info, err
}

func (p *parser) cellType(i int, all map[string]member) string {
	if m, ok := all["cell_type"]; ok {
		if s, isText, _ := p.plainText(m.value.start); isText && s != "" {
			if s != TypeCode && s != TypeMarkdown && s != TypeRaw {
				p.warn(WarnCellType, i, "Cell %d has the unknown type %q; it is kept as it is.", i+1, s)
			}
			return s
		}
	}
	kind := TypeRaw
	if _, ok := all["outputs"]; ok {
		kind = TypeCode
	}
	p.warn(WarnCellType, i, "Cell %d has no type; it is taken to be %s.", i+1, kind)
	return kind
}

// plainText decodes the value at pos if it is a string.
func (p *parser) plainText(pos int) (string, bool, *fault) {
	if p.data[pos] != '"' {
		return "", false, nil
	}
	s, _, err := p.string(pos)
	return s, true, err
}

// source reads the source of a cell: a string, or a list of strings that are joined as they are.
func (p *parser) source(i int, m member) (string, *fault) {
	if m.value.end == 0 {
		return "", nil
	}
	v, ragged, err := p.text(m.value.start)
	if err != nil {
		return "", err
	}
	if ragged {
		p.warn(WarnSourceLines, i, "The source of cell %d is a list whose parts do not all end with a line end: they make one line when joined.", i+1)
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	if v == nil {
		return "", nil
	}
	if _, isList := v.([]any); !isList {
		return "", shapef(m.value.start, "the source of cell %d is not text", i+1)
	}
	return "", shapef(m.value.start, "the source of cell %d is a list with something that is not text", i+1)
}

// codeFields reads what only code cells have.
func (p *parser) codeFields(i int, c *Cell, all map[string]member) *fault {
	if m, ok := all["execution_count"]; ok {
		v, _, err := p.value(m.value.start)
		if err != nil {
			return err
		}
		if n, ok := wholeNumber(v); ok {
			c.ExecutionCount = &n
		} else if v != nil {
			p.warn(WarnShape, i, "The execution count of cell %d is not a whole number.", i+1)
		}
	}
	m, ok := all["outputs"]
	if !ok || bytes.Equal(m.value.of(p.data), []byte("null")) {
		return nil
	}
	if p.data[m.value.start] != '[' {
		return shapef(m.value.start, "the outputs of cell %d are not a list", i+1)
	}
	_, err := eachElement(p.data, m.value.start, 0, func(s span) *fault {
		if p.data[s.start] != '{' {
			return shapef(s.start, "output %d of cell %d is not an object", len(c.Outputs)+1, i+1)
		}
		output, err := p.output(s.start)
		raw := s.of(p.data)
		c.Outputs = append(c.Outputs, Output{Raw: json.RawMessage(raw[:len(raw):len(raw)]), Value: output})
		return err
	})
	return err
}

// output decodes an output in the form of JoinedOutput, without making the lists first.
func (p *parser) output(pos int) (map[string]any, *fault) {
	all, err := p.members(pos)
	if err != nil {
		return nil, err
	}
	output := make(map[string]any, len(all))
	for key, m := range all {
		switch {
		case key == "text":
			output[key], _, err = p.text(m.value.start)
		case key == "data" && p.data[m.value.start] == '{':
			output[key], err = p.bundle(m.value.start)
		default:
			output[key], _, err = p.value(m.value.start)
		}
		if err != nil {
			return nil, err
		}
	}
	return output, nil
}

// bundle decodes a MIME bundle, joining what is text.
func (p *parser) bundle(pos int) (map[string]any, *fault) {
	all, err := p.members(pos)
	if err != nil {
		return nil, err
	}
	bundle := make(map[string]any, len(all))
	for mime, m := range all {
		if IsJSONMIME(mime) {
			bundle[mime], _, err = p.value(m.value.start)
		} else {
			bundle[mime], _, err = p.text(m.value.start)
		}
		if err != nil {
			return nil, err
		}
	}
	return bundle, nil
}
