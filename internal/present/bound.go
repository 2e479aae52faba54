package present

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounded returns text, or its head and tail with a line between them that
// tells what is left out, so that all is at most limit bytes. how, if not
// empty, is put on that line: how to get the rest. Line ends are preferred as
// places to cut.
func Bounded(text string, limit int, how string) string {
	if len(text) <= limit {
		return text
	}
	// The line is at most this long; its numbers are not known yet.
	room := limit - len(leftOut(1<<40, 1<<40, how))
	if room <= 0 {
		return Cut(text, max(limit, 0))
	}
	head := text[:cutBefore(text, room*3/5)]
	tail := text[cutAfter(text, len(text)-(room-len(head))):]
	middle := text[len(head) : len(text)-len(tail)]
	lines := strings.Count(middle, "\n")
	if strings.HasPrefix(middle, "\n") && strings.HasSuffix(middle, "\n") {
		lines-- // the first one ends a line of the head
	}
	return head + leftOut(lines, len(middle), how) + tail
}

// fewLines returns the first and the last of at most n lines of text, and between
// them what is left out.
func fewLines(text string, n int, how string) string {
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= n {
		return text
	}
	head, tail := n*3/5, n-n*3/5
	middle := lines[head : len(lines)-tail]
	bytes := 0
	for _, l := range middle {
		bytes += len(l)
	}
	return strings.TrimSuffix(strings.Join(lines[:head], ""), "\n") + leftOut(len(middle), bytes, how) + strings.Join(lines[len(lines)-tail:], "")
}

func leftOut(lines, bytes int, how string) string {
	s := "\n[… " + size(int64(bytes)) + " left out"
	if lines > 0 {
		s = fmt.Sprintf("\n[… %s lines, %s left out", thousands(int64(lines)), size(int64(bytes)))
	}
	if how != "" {
		s += ": " + how
	}
	return s + "]\n"
}

// cutBefore returns a place to cut at or before n: after a line if one ends in
// the last half, else between characters.
func cutBefore(s string, n int) int {
	if i := strings.LastIndexByte(s[:n], '\n'); i >= n/2 {
		return i
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// cutAfter returns a place to cut at or after n, like cutBefore.
func cutAfter(s string, n int) int {
	if i := strings.IndexByte(s[n:], '\n'); i >= 0 && i <= (len(s)-n)/2 {
		return n + i + 1
	}
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return n
}

// Cut returns at most the first n bytes of s, cut between characters and ended
// by "…" if anything is missing.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	if n < len(mark) {
		return ""
	}
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}

// CutRunes returns at most the first n characters of s, the last of them "…"
// if anything is missing.
func CutRunes(s string, n int) string {
	count := 0
	for i := range s {
		if count == n-1 && utf8.RuneCountInString(s[i:]) > 1 {
			return s[:i] + "…"
		}
		count++
	}
	return s
}

// OneLine returns s as one line of at most n characters: space of any length
// becomes one blank.
func OneLine(s string, n int) string {
	return CutRunes(strings.Join(strings.Fields(ApplyTerminal(Cut(s, 16*n))), " "), n)
}

// size returns a number of bytes for readers.
func size(n int64) string {
	switch {
	case n < 10_000:
		return thousands(n) + " bytes"
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	case n < 10_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return thousands((n+500_000)/1_000_000) + " MB"
}

// thousands returns n with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// fit returns what text gives for the largest number of bytes it was tried with
// at which its JSON has at most limit bytes.
func fit(limit int, text func(bytes int) string) string {
	const tries = 6
	bytes := max(limit, 0)
	s := text(bytes)
	for range tries {
		n := jsonSize(s)
		if n <= limit || s == "" {
			return s
		}
		bytes = min(bytes, len(s))*max(limit, 0)/n - 1
		s = text(max(bytes, 0))
	}
	if jsonSize(s) > limit {
		return ""
	}
	return s
}

// jsonSize returns how many bytes s takes in a JSON string, without the quotes.
func jsonSize(s string) int {
	n := len(s)
	for _, r := range s {
		switch {
		case r == '"', r == '\\', r == '\n', r == '\t', r == '\r', r == '\b', r == '\f':
			n++
		case r < 0x20:
			n += len(`\u0000`) - 1
		case r == '\u2028', r == '\u2029':
			n += len(`\u2028`) - utf8.RuneLen(r)
		}
	}
	return n
}
