package ipynb

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"runt/internal/domain"
)

// Parse reads a notebook file. Cells without a usable id get one from newID;
// when newID is nil they get one derived from their content, which is the same
// whenever the same bytes are read. The File aliases data, which must not be
// modified afterwards.
func Parse(data []byte, newID func() string) (*File, error) {
	p := &parser{newID: newID}
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		data = rest
		p.warn(WarnByteOrderMark, -1, "The file begins with a byte order mark; a save drops it.")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, (&domain.Error{Code: domain.CodeFileUnreadable, Message: "The file is empty.", Err: ErrEmpty}).
			WithHint("The file was left as it is. Take an older version of it from version control, or delete it and create a notebook in its place.")
	}
	if f := wrongEncoding(data); f != nil {
		return nil, explain(data, f)
	}
	f, err := p.file(data)
	if err != nil {
		return nil, explain(data, err)
	}
	return f, nil
}

// wrongEncoding recognises UTF-16, which Windows tools like to write.
func wrongEncoding(data []byte) *fault {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) || bytes.IndexByte(data[:min(4, len(data))], 0) >= 0 {
		f := faultf(0, "the text is UTF-16, not UTF-8,")
		f.hint = "The file was left as it is. Convert it, for example with iconv -f UTF-16 -t UTF-8, and open it again."
		return f
	}
	return nil
}

// parser builds one File.
type parser struct {
	decoder
	newID    func() string
	warnings []Warning
}

func (p *parser) warn(kind WarningKind, cell int, format string, args ...any) {
	p.warnings = append(p.warnings, Warning{kind, cell, fmt.Sprintf(format, args...)})
}

// file reads data, and once more after NaN and the like were replaced.
func (p *parser) file(data []byte) (*File, *fault) {
	before := len(p.warnings)
	p.decoder = decoder{data: data}
	f, err := p.top()
	if err != nil {
		return nil, err
	}
	if loose := p.loose; len(loose) > 0 {
		p.warnings = p.warnings[:before]
		p.warn(WarnNotStrict, -1, "%d numbers are NaN or Infinity, which JSON has not; they are read and saved as strings.", len(loose))
		return p.file(quoteSpans(data, loose))
	}
	if p.surrogates > 0 {
		p.warn(WarnSurrogate, -1, "%d characters are halves of a UTF-16 pair; they are read as U+FFFD.", p.surrogates)
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(p.duplicates))) {
		p.warn(WarnDuplicateKey, -1, "The key %q comes twice in one object; the last one counts.", key)
	}
	f.Warnings = p.warnings
	return f, nil
}

// quoteSpans returns data with the spans put in double quotes.
func quoteSpans(data []byte, spans []span) []byte {
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	out := make([]byte, 0, len(data)+2*len(spans))
	pos := 0
	for _, s := range spans {
		out = append(out, data[pos:s.start]...)
		out = append(out, '"')
		out = append(out, s.of(data)...)
		out = append(out, '"')
		pos = s.end
	}
	return append(out, data[pos:]...)
}

// members returns the members of the object at pos by key, and their keys in
// the order of the file. The last one of equal keys counts.
func (p *parser) members(pos int) (map[string]member, *fault) {
	all := map[string]member{}
	_, err := eachMember(p.data, pos, 0, func(m member) *fault {
		key, _, err := p.string(m.keySpan.start)
		if err != nil {
			return err
		}
		if earlier, twice := all[key]; twice {
			p.duplicates = append(p.duplicates, key)
			if _, _, err := p.value(earlier.value.start); err != nil { // its strings are still unchecked
				return err
			}
		}
		m.key = key
		all[key] = m
		return nil
	})
	return all, err
}

// top reads the outermost object.
func (p *parser) top() (*File, *fault) {
	start := skipSpace(p.data, 0)
	end, err := skipValue(p.data, start, 0)
	if err != nil {
		return nil, err
	}
	if rest := skipSpace(p.data, end); rest < len(p.data) {
		return nil, faultf(rest, "unexpected %s after the end of the notebook", describe(p.data, rest))
	}
	if p.data[start] != '{' {
		return nil, shapef(start, "it is not an object")
	}
	all, err := p.members(start)
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := p.version(f, all, start); err != nil {
		return nil, err
	}
	cells, hasCells := all["cells"]
	if _, hasSheets := all["worksheets"]; hasSheets && !hasCells || hasCells && f.Major == 1 {
		return p.legacy(f, start)
	}
	if !hasCells {
		return nil, shapef(start, "there is no list of cells")
	}
	if f.Metadata, err = p.objectAt(all["metadata"], "the notebook's metadata"); err != nil {
		return nil, err
	}
	f.data, f.style = p.data, detectStyle(p.data, start)
	if err := p.cells(f, cells.value); err != nil {
		return nil, err
	}
	f.Extra, err = p.rest(all, "cells", "metadata", "nbformat", "nbformat_minor")
	return f, err
}

// version reads nbformat and nbformat_minor.
func (p *parser) version(f *File, all map[string]member, start int) *fault {
	major, ok := p.integer(all["nbformat"])
	if !ok {
		major = Major
		if _, sheets := all["worksheets"]; sheets {
			major = 3
		}
		p.warn(WarnVersion, -1, "The format version is missing or not a number; it is taken to be %d.", major)
	}
	minor, ok := p.integer(all["nbformat_minor"])
	if !ok && major == Major {
		p.warn(WarnVersion, -1, "The minor format version is missing or not a number; it is taken to be 0.")
	}
	f.Major, f.Minor = major, minor
	if major > Major || major < 1 {
		e := shapef(max(start, all["nbformat"].value.start), "unsupported version %d of the notebook format", major)
		e.hint = "The file was left as it is. Save it as format version 4 with the program that made it, and open it again."
		return e
	}
	if major == Major && minor > Minor {
		p.warn(WarnNewerMinor, -1, "The format version 4.%d is newer than 4.%d; what is not known here is kept as it is.", minor, Minor)
	}
	return nil
}

// integer decodes a member that should be a whole number.
func (p *parser) integer(m member) (int, bool) {
	if m.value.end == 0 {
		return 0, false
	}
	v, _, _ := p.value(m.value.start)
	n, ok := wholeNumber(v)
	return int(max(min(n, 1<<30), -1<<30)), ok
}

// wholeNumber converts a number without a fraction.
func wholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		if v == float64(int64(v)) {
			return int64(v), true
		}
	}
	return 0, false
}

// objectAt decodes a member that should be an object. Missing, null and an
// empty list, as PHP writes it, are an empty object.
func (p *parser) objectAt(m member, what string) (map[string]any, *fault) {
	if m.value.end == 0 {
		return map[string]any{}, nil
	}
	v, _, err := p.value(m.value.start)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case []any:
		if len(v) == 0 {
			return map[string]any{}, nil
		}
	case nil:
		return map[string]any{}, nil
	}
	return nil, shapef(m.value.start, "%s is not an object", what)
}

// rest decodes the members whose keys are not among known. It is nil when there are none.
func (p *parser) rest(all map[string]member, known ...string) (map[string]any, *fault) {
	var extra map[string]any
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(known, key) {
			continue
		}
		v, _, err := p.value(all[key].value.start)
		if err != nil {
			return nil, err
		}
		if extra == nil {
			extra = map[string]any{}
		}
		extra[key] = v
	}
	return extra, nil
}
