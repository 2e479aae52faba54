package present

import (
	"strings"
	"unicode/utf8"

	"runt/internal/termtext"
)

// ApplyTerminal returns the text that a terminal would show after s was printed
// to it, without colours: carriage returns, backspaces, erasing and cursor moves
// are applied, and no control character but tab and newline is left.
func ApplyTerminal(s string) string {
	if strings.ContainsRune(s, 0x1b) {
		s = onlyMoves(s)
	}
	if !strings.ContainsFunc(s, control) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	lines := strings.Split(StripANSI(screen(s)), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ") // what erasing left behind
	}
	return strings.Join(lines, "\n")
}

// screen prints s to a screen, runs of plain lines at once: they are quick.
func screen(s string) string {
	scr := &termtext.Screen{}
	for s != "" {
		next := strings.IndexFunc(s, control)
		if next < 0 {
			next = len(s)
		}
		scr.Write(s[:next])
		s = s[next:]
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			scr.Write(s[:end+1])
			s = s[end+1:]
		} else {
			scr.Write(s)
			s = ""
		}
	}
	return scr.String()
}

// onlyMoves takes out the escape sequences that neither move nor erase:
// colours, links, titles, character sets and whatever else a terminal may be told.
func onlyMoves(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, 0x1b)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		n := sequence(s[i:])
		if strings.HasPrefix(s[i:], "\x1b[") && s[i+n-1] != 'm' {
			b.WriteString(s[i : i+n])
		}
		s = s[i+n:]
	}
}

// StripANSI returns s without escape sequences and control characters, except
// tab and newline. It moves no text: see ApplyTerminal.
func StripANSI(s string) string {
	if !strings.ContainsFunc(s, control) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		case r == '\r':
			b.WriteByte('\n')
		case control(r):
			n = sequence(s[i:])
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// control says whether a character is not to be seen in text for a reader.
func control(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// maxSequence is the greatest length of a control string that is believed.
const maxSequence = 4096

// sequence returns the length of the control sequence that s begins with, or
// of the control character if there is none.
func sequence(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == 0x1b {
		n = 1
		for n < len(s) && s[n] >= 0x20 && s[n] < 0x30 {
			n++ // ESC ( B and the like have bytes before the last one
		}
		if n == len(s) || s[n] < 0x30 || s[n] > 0x7e {
			return n
		}
		if n++; n > 2 || s[1] < 0x40 || s[1] > 0x5f {
			return n
		}
		r = rune(s[1]) + 0x40 // the same as one character
	}
	switch r {
	case 0x9b: // CSI: parameters, then one character
		for n < len(s) && s[n] >= 0x20 && s[n] < 0x40 {
			n++
		}
		if n < len(s) && s[n] >= 0x40 && s[n] < 0x7f {
			n++
		}
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // strings, up to BEL or ST
		for i := n; i < len(s) && i < maxSequence; i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
				return i + 2
			case s[i] == '\n':
				return n // never closed
			}
		}
	}
	return n
}
