package present

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestK09_TerminalText(t *testing.T) {
	bar := ""
	for i := range 41 {
		bar += fmt.Sprintf("\r%3d%%|%-10s| %d/40", i*100/40, strings.Repeat("#", i/4), i)
	}
	for _, c := range []struct{ name, in, want string }{
		{"plain", "a\n\tb\n", "a\n\tb\n"},
		{"progress bar", bar + "\n", "100%|##########| 40/40\n"},
		{"shorter over longer", "abcdef\rxy", "xycdef"},
		{"line ends of Windows", "a\r\nb\r\n", "a\nb\n"},
		{"backspace", "abc\b\bX", "aXc"},
		{"erased line", "long text\r\x1b[Kok", "ok"},
		{"nested bars", "outer 0\ninner 0\x1b[A\router 1\ninner 1\n", "outer 1\ninner 1\n"},
		{"bar erased by another", "bar 100%\n\x1b[A\x1b[2Knext", "next\n"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red"},
		{"24-bit colours with colons", "\x1b[38:2::1:2:3mx\x1b[m", "x"},
		{"link", "\x1b]8;;http://h/\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"title with bell", "\x1b]0;title\x07text", "text"},
		{"cursor hidden", "\x1b[?25lx\x1b[?25h", "x"},
		{"character set", "\x1b(Bx", "x"},
		{"bell and null", "a\x07\x00b", "ab"},
		{"one-character CSI", "\u009b31mx", "x"},
		{"spaces left by erasing", "abc\b\b\b   \n", "\n"},
		{"emoji", "😀\r🙂!", "🙂!"},
		{"broken UTF-8", "a\xffb", "a\uFFFDb"},
	} {
		if got := ApplyTerminal(c.in); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStripANSI(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"no escape":                      "no escape",
		"a\r\nb\rc":                      "a\nb\nc",
		"\x1b[31mred\x1b[39m: bad":       "red: bad",
		"\x1b":                           "",
		"\x1b[":                          "",
		"\x1b[31":                        "",
		"a\x1b[31\u00e9b":                "aéb",
		"\x1bé":                          "é",
		"\x1b]never closed\nnext":        "never closed\nnext",
		"\x1b]8;;x\u009cy":               "y",
		"\x1bP1$r\x1b\\x":                "x",
		"\x1b_app\x1b\\x":                "x",
		"\x1b7saved\x1b8":                "saved",
		"\x1b#8x":                        "x",
		"\u0085\u0090x":                  "x",
		"tab\tand\x7f delete":            "tab\tand delete",
		"\x1b]" + strings.Repeat("x", 9): "xxxxxxxxx",
	} {
		if got := StripANSI(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzTerminal(f *testing.F) {
	for _, s := range []string{"a\rb", "\x1b[A\x1b[2K\x1b[31mx", "\x1b]8;;x\x07", "\u009b5A\n", "\x1b[99999999C", "a\n\x1b[999Ab\x1b[J", "\x1b[\x1b[\x1b]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, got := range map[string]string{"terminal": ApplyTerminal(s), "strip": StripANSI(s)} {
			if i := strings.IndexFunc(got, control); i >= 0 || !utf8.ValidString(got) {
				t.Errorf("%s of %q: control character or broken UTF-8 at %d in %q", name, s, i, got)
			}
			if again := StripANSI(got); again != got {
				t.Errorf("%s of %q changes when stripped again", name, s)
			}
		}
	})
}

func BenchmarkTerminalOfManyLines(b *testing.B) {
	var s strings.Builder
	for i := range 300000 {
		fmt.Fprintln(&s, i)
	}
	for name, text := range map[string]string{"plain": s.String(), "coloured": "\x1b[31m" + s.String() + "\x1b[0m", "with a bar": "1%\r2%\n" + s.String() + "1%\r2%"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ApplyTerminal(text)
			}
		})
	}
}
