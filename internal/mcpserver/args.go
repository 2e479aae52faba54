package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"runt/internal/domain"
	"runt/internal/toolspec"
)

// args are the decoded arguments of a call: string, bool, int64, float64,
// []string or []args by the type in the tool's specification. Absent arguments
// have their default, if they have one. A nil value is a null that means something.
type args map[string]any

func (a args) has(name string) bool {
	_, ok := a[name]
	return ok
}

func (a args) isNull(name string) bool {
	v, ok := a[name]
	return ok && v == nil
}

func (a args) text(name string) string {
	s, _ := a[name].(string)
	return s
}

func (a args) flag(name string) bool {
	b, _ := a[name].(bool)
	return b
}

func (a args) integer(name string) int64 {
	n, _ := a[name].(int64)
	return n
}

func (a args) number(name string) float64 {
	n, _ := a[name].(float64)
	return n
}

func (a args) list(name string) []string {
	l, _ := a[name].([]string)
	return l
}

func (a args) objects(name string) []args {
	l, _ := a[name].([]args)
	return l
}

// freeText are arguments whose text "null" may be meant.
var freeText = []string{"source", "content", "match", "code", "text", "pattern", "context_before", "context_after"}

// decodeArgs reads the arguments of a call of tool. Models write numbers,
// booleans and lists as strings now and then; those are understood. What is not
// understood is an error that says what would be.
func decodeArgs(tool *toolspec.Tool, raw json.RawMessage) (args, error) {
	fields, err := objectOf(raw)
	if err != nil {
		return nil, invalidf("The arguments of %s must be a JSON object.", tool.Name).WithHint("%s", usage(tool.Name, tool.Args))
	}
	return decodeFields(tool.Name, tool.Args, fields)
}

// objectOf reads a JSON object, or a string that holds one. Nothing and null are an empty one.
func objectOf(raw json.RawMessage) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return fields, nil
	}
	var inner string
	if raw[0] == '"' && json.Unmarshal(raw, &inner) == nil {
		raw = []byte(inner)
		if strings.TrimSpace(inner) == "" {
			return fields, nil
		}
	}
	err := json.Unmarshal(raw, &fields)
	return fields, err
}

func decodeFields(what string, spec []toolspec.Arg, fields map[string]json.RawMessage) (args, error) {
	a := args{}
	for name := range fields {
		if !slices.ContainsFunc(spec, func(s toolspec.Arg) bool { return s.Name == name }) {
			return nil, invalidf("%s has no argument %q.", what, name).WithHint("%s", usage(what, spec))
		}
	}
	for _, s := range spec {
		raw, given := fields[s.Name]
		v, present, err := decodeArg(s, raw, given)
		if err != nil {
			return nil, err
		}
		if present {
			a[s.Name] = v
		}
	}
	return a, nil
}

// decodeArg returns the value of one argument, and whether it has one.
func decodeArg(s toolspec.Arg, raw json.RawMessage, given bool) (any, bool, error) {
	var v any
	if given {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, false, invalidf("%s cannot be read: %v.", s.Name, err)
		}
		if v == nil && s.Nullable {
			return nil, true, nil
		}
		if t, ok := v.(string); ok && !s.Required && strings.TrimSpace(t) == "null" && !slices.Contains(freeText, s.Name) {
			v = nil
		}
	}
	if v == nil {
		if s.Required {
			return nil, false, invalidf("%s is missing.", s.Name).WithHint("It is %s. %s", typeName(s), s.Desc)
		}
		return defaultOf(s)
	}
	v, err := convert(s, v)
	return v, err == nil, err
}

func defaultOf(s toolspec.Arg) (any, bool, error) {
	if s.Default == nil {
		return nil, false, nil
	}
	if n, ok := s.Default.(int); ok && s.Type == toolspec.Integer {
		return int64(n), true, nil
	}
	if n, ok := s.Default.(int); ok && s.Type == toolspec.Number {
		return float64(n), true, nil
	}
	return s.Default, true, nil
}

func convert(s toolspec.Arg, v any) (any, error) {
	switch s.Type {
	case toolspec.String:
		return toText(s, v)
	case toolspec.Boolean:
		return toBool(s, v)
	case toolspec.Integer, toolspec.Number:
		return toNumber(s, v)
	case toolspec.List:
		if s.Items != nil {
			return toObjects(s, v)
		}
		return toList(s, v)
	}
	return nil, fmt.Errorf("argument %s has the unknown type %s", s.Name, s.Type)
}

// toText takes a string, a number or boolean as it is written, and lines as notebook files have them.
func toText(s toolspec.Arg, v any) (any, error) {
	text, ok := scalarText(v)
	if lines, isList := v.([]any); isList {
		ok = true
		for _, line := range lines {
			part, isText := line.(string)
			ok = ok && isText
			text += part
		}
	}
	if !ok {
		return nil, wrongType(s, v)
	}
	if s.Enum == nil {
		return text, nil
	}
	for _, e := range s.Enum {
		if strings.EqualFold(strings.TrimSpace(text), e) {
			return e, nil
		}
	}
	return nil, invalidf("%s cannot be %q.", s.Name, text).WithHint("It is one of: %s.", strings.Join(s.Enum, ", "))
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func toBool(s toolspec.Arg, v any) (any, error) {
	text, ok := scalarText(v)
	if ok {
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
	}
	return nil, wrongType(s, v)
}

func toNumber(s toolspec.Arg, v any) (any, error) {
	text, ok := scalarText(v)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	_, isBool := v.(bool)
	if !ok || isBool || err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, wrongType(s, v)
	}
	if s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
		return nil, invalidf("%s cannot be %s.", s.Name, text).WithHint("It is %s.", typeName(s))
	}
	if s.Type == toolspec.Number {
		return n, nil
	}
	if n != math.Trunc(n) || math.Abs(n) > 1<<53 {
		return nil, wrongType(s, v)
	}
	return int64(n), nil
}

// toList takes a list of strings, a string that holds one as JSON, or one string.
func toList(s toolspec.Arg, v any) (any, error) {
	items, err := itemsOf(v)
	if err != nil {
		return nil, wrongType(s, v)
	}
	list := make([]string, len(items))
	for i, item := range items {
		text, ok := scalarText(item)
		if !ok {
			return nil, wrongType(s, v)
		}
		list[i] = text
	}
	return list, nil
}

func itemsOf(v any) ([]any, error) {
	if text, ok := v.(string); ok {
		trimmed := strings.TrimSpace(text)
		if trimmed == "" {
			return nil, nil
		}
		if trimmed[0] != '[' && trimmed[0] != '{' {
			return []any{text}, nil
		}
		d := json.NewDecoder(strings.NewReader(trimmed))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
	}
	if list, ok := v.([]any); ok {
		return list, nil
	}
	return []any{v}, nil
}

func toObjects(s toolspec.Arg, v any) (any, error) {
	items, err := itemsOf(v)
	if err != nil {
		return nil, wrongType(s, v)
	}
	list := make([]args, len(items))
	for i, item := range items {
		if _, ok := item.(map[string]any); !ok {
			return nil, wrongType(s, v)
		}
		raw, err := json.Marshal(item)
		if err != nil {
			return nil, wrongType(s, v)
		}
		fields, err := objectOf(raw)
		if err != nil {
			return nil, wrongType(s, v)
		}
		if list[i], err = decodeFields(fmt.Sprintf("%s[%d]", s.Name, i), s.Items, fields); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func wrongType(s toolspec.Arg, v any) error {
	shown, err := json.Marshal(v)
	if err != nil {
		shown = fmt.Append(nil, v)
	}
	if len(shown) > 60 {
		shown = append(shown[:60:60], "…"...)
	}
	return invalidf("%s must be %s, not %s.", s.Name, typeName(s), strings.ToValidUTF8(string(shown), "")).WithHint("%s", orElse(s.Desc, "Call the tool again."))
}

// typeName describes what an argument takes, with the range of a number.
func typeName(s toolspec.Arg) string {
	name := map[toolspec.Type]string{toolspec.String: "a string", toolspec.Boolean: "true or false", toolspec.Integer: "a whole number",
		toolspec.Number: "a number", toolspec.List: "a list of strings"}[s.Type]
	if s.Items != nil {
		name = "a list of objects"
	}
	switch {
	case s.Min != nil && s.Max != nil:
		name += fmt.Sprintf(" from %s to %s", short(*s.Min), short(*s.Max))
	case s.Min != nil:
		name += " of at least " + short(*s.Min)
	case s.Enum != nil:
		name = "one of " + strings.Join(s.Enum, ", ")
	}
	return name
}

func short(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func usage(what string, spec []toolspec.Arg) string {
	if len(spec) == 0 {
		return what + " takes no arguments."
	}
	names := make([]string, len(spec))
	for i, s := range spec {
		names[i] = s.Name
		if s.Required {
			names[i] += " (required)"
		}
	}
	return "Valid arguments of " + what + ": " + strings.Join(names, ", ") + "."
}

func invalidf(format string, a ...any) *domain.Error {
	return domain.Errorf(domain.CodeInvalidArgument, format, a...)
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
