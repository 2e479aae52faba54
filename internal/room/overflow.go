package room

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"runt/internal/termtext"
)

// tailPart is the share of the limit of a stream that is kept of its end as well.
const tailPart = 8

// overflow holds the end of what was printed to a stream that is longer than may
// be kept: how a long run ended is what people look for.
type overflow struct {
	limit, keep int // bytes
	tail        []byte
	lost        int // bytes between the beginning and the tail
}

func newOverflow(limit int) *overflow { return &overflow{limit: limit, keep: limit / tailPart} }

// write adds text. The tail may grow to twice what is kept before it is cut.
func (o *overflow) write(text string) {
	o.tail = append(o.tail, text...)
	if len(o.tail) <= 2*o.keep {
		return
	}
	cut := len(o.tail) - o.keep
	for cut < len(o.tail) && !utf8.RuneStart(o.tail[cut]) {
		cut++
	}
	if i := bytes.IndexByte(o.tail[cut-1:], '\n') - 1; i >= -1 && i < o.keep/2 {
		cut += i + 1
	}
	o.lost += cut
	o.tail = append(o.tail[:0], o.tail[cut:]...)
}

// String returns the tail with a note before it, or nothing for nil.
func (o *overflow) String() string {
	if o == nil {
		return ""
	}
	note := ""
	if o.lost > 0 {
		note = fmt.Sprintf("\n[output limit of %s reached: %d bytes printed here are not kept]\n", mebibytes(o.limit), o.lost)
	}
	return note + termtext.FromText(string(o.tail)).String()
}

func mebibytes(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// cutText returns the longest beginning of text of at most n bytes that ends between characters.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
