package mcpserver

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"runt/internal/domain"
	"runt/internal/present"
)

// span is a piece of a source, in bytes.
type span struct{ start, end int }

// findMatch returns the one place of match in source that stands between the
// contexts. None, or several, is an error that says how many there are, and where.
func findMatch(source, match, before, after string) (span, error) {
	if match == "" {
		return span{}, invalidf("match is empty.").WithHint("To add text, match what stands beside it and repeat that in content.")
	}
	var found []span
	for at := 0; ; {
		i := strings.Index(source[at:], match)
		if i < 0 {
			break
		}
		s := span{at + i, at + i + len(match)}
		if strings.HasSuffix(source[:s.start], before) && strings.HasPrefix(source[s.end:], after) {
			found = append(found, s)
		}
		_, size := utf8.DecodeRuneInString(source[s.start:])
		at = s.start + size
	}
	return only(source, found, "Give more of the text around it in context_before or context_after.")
}

// findPattern returns the one place that re matches.
func findPattern(source string, re *regexp.Regexp) (span, []int, error) {
	all := re.FindAllStringSubmatchIndex(source, -1)
	found := make([]span, len(all))
	for i, m := range all {
		found[i] = span{m[0], m[1]}
	}
	s, err := only(source, found, "Make the pattern match more of the text around it.")
	if err != nil {
		return span{}, nil, err
	}
	return s, all[0], nil
}

// maxPlaces bounds how many places an error shows.
const maxPlaces = 5

func only(source string, found []span, hint string) (span, error) {
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return span{}, domain.Errorf(domain.CodeNoMatch, "It matches nowhere in the cell, which has %d lines.", strings.Count(source, "\n")+1).
			WithHint("Call get_cell to see the text as it is now.")
	}
	var places []string
	for _, s := range found[:min(len(found), maxPlaces)] {
		places = append(places, place(source, s.start))
	}
	if len(found) > maxPlaces {
		places = append(places, "…")
	}
	return span{}, domain.Errorf(domain.CodeAmbiguousMatch, "It matches in %d places: %s.", len(found), strings.Join(places, "; ")).WithHint("%s", hint)
}

// place shows the line in which a byte is.
func place(source string, at int) string {
	start := strings.LastIndexByte(source[:at], '\n') + 1
	line, _, _ := strings.Cut(source[start:], "\n")
	const width = 60
	return fmt.Sprintf("line %d (%s)", strings.Count(source[:at], "\n")+1, present.OneLine(line, width))
}

// matcher says of a line whether it has the pattern in it.
func matcher(pattern string, isRegexp bool) (func(line string) bool, error) {
	if pattern == "" {
		return nil, invalidf("pattern is empty.").WithHint("Give the text to find.")
	}
	if !isRegexp {
		return func(line string) bool { return strings.Contains(line, pattern) }, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, invalidf("pattern is no regular expression: %v.", err).WithHint("The syntax is RE2. Leave out regex to find plain text.")
	}
	return re.MatchString, nil
}
