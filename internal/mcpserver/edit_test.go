package mcpserver

import (
	"regexp"
	"strings"
	"testing"

	"runt/internal/domain"
)

func TestFindMatch(t *testing.T) {
	const source = "x = 1\ny = 1\nné = 1\n"
	for _, tc := range []struct {
		match, before, after string
		at                   int
		code                 domain.Code
		words                string
	}{
		{"y", "", "", 6, "", ""},
		{"1", "", "", 0, domain.CodeAmbiguousMatch, "3 places line 1 line 2 line 3 né"},
		{"1", "y = ", "", 10, "", ""},
		{"= 1", "né ", "\n", 16, "", ""},
		{"1", "", "\nn", 10, "", ""},
		{"z", "", "", 0, domain.CodeNoMatch, "nowhere 4 lines get_cell"},
		{"", "", "", 0, domain.CodeInvalidArgument, "empty"},
	} {
		s, err := findMatch(source, tc.match, tc.before, tc.after)
		if domain.CodeOf(err) != tc.code || err == nil && s.start != tc.at {
			t.Errorf("%q between %q and %q: at %d, %v; want %d, %q", tc.match, tc.before, tc.after, s.start, err, tc.at, tc.code)
		}
		for word := range strings.FieldsSeq(tc.words) {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q: the error does not say %q: %v", tc.match, word, err)
			}
		}
	}
	if _, err := findMatch("aaa", "aa", "", ""); domain.CodeOf(err) != domain.CodeAmbiguousMatch {
		t.Errorf("overlapping places: %v", err)
	}
	s, groups, err := findPattern(source, regexp.MustCompile(`(?m)^n(.) = (\d)`))
	if err != nil || source[s.start:s.end] != "né = 1" || len(groups) != 6 {
		t.Errorf("pattern: %v %v %v", s, groups, err)
	}
	if _, _, err := findPattern(source, regexp.MustCompile(`\d`)); domain.CodeOf(err) != domain.CodeAmbiguousMatch {
		t.Errorf("pattern in several places: %v", err)
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{domain.Errorf(domain.CodeCellNotFound, "no cell \"x\" in this notebook").WithHint("near it are: cell-1"), "No cell \"x\" in this notebook.\nNear it are: cell-1. [cell_not_found]"},
		{domain.Errorf(domain.CodeInvalidArgument, "cell_id is missing."), "cell_id is missing.\nCall the tool again. [invalid_argument]"},
		{regexpError(), "Something went wrong inside runt.\nTry once more; `runt daemon logs` and the log of runt mcp say more. [internal]"},
		{domain.Errorf(domain.CodeTimeout, "two\nlines"), "Two lines.\nCall the tool again. [timeout]"},
	} {
		if got := errorText(tc.err); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func regexpError() error {
	broken := strings.Repeat("(", 1)
	_, err := regexp.Compile(broken)
	return err
}
