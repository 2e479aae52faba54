package wire

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLabel is the greatest number of code points in the label of a peer.
const MaxLabel = 64

var mapType = reflect.TypeFor[map[string]any]()

// SanitizeLabel returns a label that is safe to show: without characters that
// cannot be seen or that turn the direction of text, with runs of space made
// one, and of at most MaxLabel code points.
func SanitizeLabel(s string) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case r == utf8.RuneError || invisible(r):
			continue
		}
		if space {
			if n+1 >= MaxLabel {
				break
			}
			b.WriteByte(' ')
			n, space = n+1, false
		}
		if n == MaxLabel {
			break
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

func invisible(r rune) bool {
	if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector) {
		return true
	}
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x2800: // fillers and blank letters
		return true
	}
	return false
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("wire: " + err.Error())
	}
	return v
}
