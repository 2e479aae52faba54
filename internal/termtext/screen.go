package termtext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPullback is how many finished lines a cursor may move up into.
const maxPullback = 200

// maxColumn bounds how far a cursor may move right of a line's end, so that a
// hostile sequence cannot ask for much memory.
const maxColumn = 4096

// maxLine is how long the current line may get, in bytes or characters. What is
// longer is finished text up to there: a terminal would have wrapped it long before,
// and a character with its colours takes many bytes.
const maxLine = 64 << 10

// glyph is one character on the screen with the colour sequences before it.
type glyph struct {
	pre string
	r   rune
}

// Screen is the text of one output stream. The zero value is an empty screen.
type Screen struct {
	done    []byte // finished lines, each with its newline
	win     [][]glyph
	row     int
	col     int
	pending string // colour sequences that wait for a character
	partial string // an escape sequence or character cut off at the end of the last Write
}

// FromText returns a screen that shows text with the cursor behind its end.
func FromText(text string) *Screen {
	s := &Screen{}
	s.Write(text)
	return s
}

// Len returns about how long String is: it counts the characters of the current lines as bytes.
func (s *Screen) Len() int {
	n := len(s.done)
	for _, line := range s.win {
		n += len(line)
	}
	return n
}

// Write prints text at the cursor.
func (s *Screen) Write(text string) {
	if s.partial != "" {
		text, s.partial = s.partial+text, ""
	}
	if s.plain() && !needsTerminal(text) {
		s.appendPlain(text)
		return
	}
	s.interpret(text)
}

// String returns the text shown, lines joined by newlines, without a newline of its own at the end.
func (s *Screen) String() string {
	var b strings.Builder
	b.Grow(len(s.done) + 64)
	b.Write(s.done)
	for i, line := range s.win {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeLine(&b, line)
	}
	b.WriteString(s.pending)
	return b.String()
}

// plain says whether the cursor is at the very end, where plain text can be appended.
func (s *Screen) plain() bool {
	return len(s.win) == 0 || len(s.win) == 1 && s.col == len(s.win[0])
}

// needsTerminal says whether text has anything but characters, tabs, newlines and colours.
func needsTerminal(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n' || c == '\t':
		case c == 0x1b:
			return true
		case c < 0x20 || c == 0x7f:
			return true
		case c >= utf8.RuneSelf:
			if !utf8.ValidString(text[i:]) {
				return true
			}
			return strings.ContainsFunc(text[i:], func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7f })
		}
	}
	return false
}

func (s *Screen) appendPlain(text string) {
	cut := strings.LastIndexByte(text, '\n') + 1
	if cut > 0 {
		s.retire()
		s.done = append(s.done, s.pending...)
		s.pending = ""
		s.done = append(s.done, text[:cut]...)
		s.win, s.row, s.col = nil, 0, 0
	}
	text = text[cut:]
	if len(text) > maxLine {
		s.retire()
		s.done = append(append(s.done, s.pending...), text...)
		s.pending, text = "", ""
	}
	if text != "" {
		s.line()
		for _, r := range text {
			s.put(r)
		}
	}
	if len(s.win) > 0 && len(s.win[len(s.win)-1]) > maxLine {
		s.retire()
	}
}

// retire moves the lines of the window to the finished text, without a newline at the end.
func (s *Screen) retire() {
	var b strings.Builder
	for i, line := range s.win {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeLine(&b, line)
	}
	s.done = append(s.done, b.String()...)
	s.win = nil
}

func writeLine(b *strings.Builder, line []glyph) {
	for _, g := range line {
		b.WriteString(g.pre)
		b.WriteRune(g.r)
	}
}

func (s *Screen) line() {
	if len(s.win) == 0 {
		s.win = [][]glyph{nil}
		s.row, s.col = 0, 0
	}
}

func (s *Screen) put(r rune) {
	line := s.win[s.row]
	for len(line) < s.col {
		line = append(line, glyph{r: ' '})
	}
	g := glyph{pre: s.pending, r: r}
	s.pending = ""
	if s.col < len(line) {
		line[s.col] = g
	} else {
		line = append(line, g)
	}
	s.win[s.row] = line
	s.col++
}

func (s *Screen) interpret(text string) {
	s.line()
	for len(text) > 0 {
		switch c := text[0]; {
		case c == 0x1b:
			n, ok := escapeLen(text)
			if !ok {
				s.partial = text
				return
			}
			s.escape(text[:n])
			text = text[n:]
			continue
		case c == '\n':
			s.newline()
		case c == '\r':
			s.col = 0
		case c == '\b':
			s.col = max(0, s.col-1)
		case c == '\t' || c >= 0x20 && c != 0x7f:
			if !utf8.FullRuneInString(text) {
				s.partial = text
				return
			}
			r, n := utf8.DecodeRuneInString(text)
			s.put(r)
			text = text[n:]
			continue
		}
		text = text[1:]
	}
}

func (s *Screen) newline() {
	s.col = 0
	if s.row < len(s.win)-1 {
		s.row++
		return
	}
	s.retire()
	s.done = append(s.done, s.pending...)
	s.pending = ""
	s.done = append(s.done, '\n')
	s.win, s.row = [][]glyph{nil}, 0
}

// escapeLen returns the length of the escape sequence that text begins with;
// ok is false when it goes on behind the end of text.
func escapeLen(text string) (n int, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				return i + 1, true
			}
			if text[i] < 0x20 || i > 64 {
				return i, true
			}
		}
		return 0, false
	case ']':
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return i + 1, true
			}
			if text[i] == 0x1b && i+1 < len(text) {
				return i + 2, true
			}
			if i > 4096 {
				return i, true
			}
		}
		return 0, false
	}
	return 2, true
}

func (s *Screen) escape(seq string) {
	if len(seq) < 3 || seq[1] != '[' {
		return
	}
	n := number(seq[2 : len(seq)-1])
	switch seq[len(seq)-1] {
	case 'm':
		s.pending += seq
	case 'A':
		s.up(max(1, n))
	case 'B':
		s.row = min(len(s.win)-1, s.row+max(1, n))
	case 'C':
		s.col = min(s.col+max(1, n), maxColumn)
	case 'D':
		s.col = max(0, s.col-max(1, n))
	case 'G':
		s.col = min(max(0, n-1), maxColumn)
	case 'K':
		s.erase(n)
	}
}

func number(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			break
		}
		n = min(n*10+int(c-'0'), 1<<16)
	}
	return n
}

func (s *Screen) erase(mode int) {
	line := s.win[s.row]
	switch mode {
	case 0:
		if s.col < len(line) {
			s.win[s.row] = line[:s.col]
		}
	case 1:
		for i := 0; i < min(s.col+1, len(line)); i++ {
			line[i] = glyph{r: ' '}
		}
	case 2:
		s.win[s.row] = nil
	}
}

// up moves the cursor up, taking finished lines back into the window by need.
func (s *Screen) up(n int) {
	for s.row < n && len(s.done) > 0 && len(s.win) < maxPullback {
		text := bytes.TrimSuffix(s.done, []byte("\n"))
		start := bytes.LastIndexByte(text, '\n') + 1
		s.win = append([][]glyph{glyphs(string(text[start:]))}, s.win...)
		s.done = s.done[:start]
		s.row++
	}
	s.row = max(0, s.row-n)
}

// glyphs parses a finished line, which has nothing but characters and colours.
func glyphs(line string) []glyph {
	var out []glyph
	pre := ""
	for len(line) > 0 {
		if line[0] == 0x1b {
			if n, ok := escapeLen(line); ok {
				pre, line = pre+line[:n], line[n:]
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(line)
		out = append(out, glyph{pre: pre, r: r})
		pre, line = "", line[n:]
	}
	if pre != "" {
		out = append(out, glyph{pre: pre, r: ' '})
	}
	return out
}

// Cursor returns what has to be written to a screen made by FromText from String
// so that it goes on as this one does: "" when the cursor is at the end.
func (s *Screen) Cursor() string {
	out := ""
	if n := len(s.win); n > 0 {
		if up := n - 1 - s.row; up > 0 {
			out = fmt.Sprintf("\x1b[%dA", up)
		}
		if out != "" || s.col != len(s.win[s.row]) {
			out += fmt.Sprintf("\x1b[%dG", s.col+1)
		}
	}
	return out + s.partial
}
