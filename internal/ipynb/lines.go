package ipynb

import "strings"

// SplitLines splits s after every line end, where Python's str.splitlines
// finds one, because nbformat does so. The parts joined are s.
func SplitLines(s string) []string {
	lines := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		n := lineEnd(s)
		lines = append(lines, s[:n])
		s = s[n:]
	}
	return lines
}

// lineEnd returns the length of the first line of s with its end.
func lineEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\r':
			if i+1 < len(s) && s[i+1] == '\n' {
				return i + 2
			}
			return i + 1
		case c == '\n', c == '\v', c == '\f', c >= 0x1c && c <= 0x1e:
			return i + 1
		case c == 0xc2 && strings.HasPrefix(s[i:], "\u0085"):
			return i + 2
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			return i + 3
		}
	}
	return len(s)
}

// JoinMultiline returns the text of a value that may be a string or a list of
// strings. It is false for anything else.
func JoinMultiline(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case []string:
		return strings.Join(v, ""), true
	case []any:
		var b strings.Builder
		for _, part := range v {
			s, ok := part.(string)
			if !ok {
				return "", false
			}
			b.WriteString(s)
		}
		return b.String(), true
	}
	return "", false
}

// linesOf is SplitLines as a JSON array.
func linesOf(s string) []any {
	lines := SplitLines(s)
	list := make([]any, len(lines))
	for i, l := range lines {
		list[i] = l
	}
	return list
}

// lf returns s with CRLF replaced by LF.
func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// onlyCRLF says that s has line ends and all of them are CRLF.
func onlyCRLF(s string) bool {
	n := strings.Count(s, "\r\n")
	return n > 0 && n == strings.Count(s, "\n")
}
