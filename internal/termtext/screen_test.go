package termtext

import (
	"strings"
	"testing"
)

func TestK09_WhatATerminalShows(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "a\nb\n", "a\nb\n"},
		{"carriage return", "10%\r20%\r100%\n", "100%\n"},
		{"shorter text over longer", "abcdef\rxy", "xycdef"},
		{"windows newline", "a\r\nb\r\n", "a\nb\n"},
		{"backspace", "abc\b\bX", "aXc"},
		{"erase to the end", "abcdef\rab\x1b[K\n", "ab\n"},
		{"erase line", "abc\x1b[2K\rx", "x"},
		{"colours stay", "\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"},
		{"unknown sequences go", "a\x1b[?25lb\x1b]0;title\x07c", "abc"},
		{"nested bars", "outer 0\ninner 0\x1b[A\router 1\ninner 1\n", "outer 1\ninner 1\n"},
		{"cursor up past the start", "a\x1b[9Ab", "ab"},
		{"bell and nul vanish", "a\x07\x00b", "ab"},
		{"emoji", "😀\r🙂", "🙂"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := FromText(tc.in).String(); got != tc.want {
				t.Errorf("whole: got %q, want %q", got, tc.want)
			}
			s := &Screen{}
			for i := 0; i < len(tc.in); i++ {
				s.Write(tc.in[i : i+1])
			}
			if got := s.String(); got != tc.want {
				t.Errorf("byte by byte: got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzScreen(f *testing.F) {
	f.Add("a\rb\x1b[A\x1b[3Cx\n", 3)
	f.Add("\x1b[31mé\x1b[0m\b\b", 1)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		whole := FromText(in).String()
		if strings.ContainsAny(whole, "\r\b\x07") {
			t.Errorf("control characters left in %q", whole)
		}
		if cut < 0 || cut > len(in) {
			return
		}
		s := FromText(in[:cut])
		s.Write(in[cut:])
		if got := s.String(); got != whole {
			t.Errorf("cut at %d: got %q, want %q", cut, got, whole)
		}
	})
}

func BenchmarkFlood(b *testing.B) {
	line := strings.Repeat("x", 40) + "\n"
	for b.Loop() {
		s := &Screen{}
		for range 1000 {
			s.Write(line)
		}
	}
}
