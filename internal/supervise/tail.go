package supervise

import (
	"io"
	"strings"
	"sync"
)

// tailBytes is how much of a child's stderr is remembered for error messages.
const tailBytes = 4 << 10

// tail remembers the end of what is written and hands everything on.
type tail struct {
	next io.Writer // may be nil

	mu  sync.Mutex // guards buf
	buf []byte
}

// Write never fails, so that a full disk does not stop the reading of a child's stderr.
func (t *tail) Write(p []byte) (int, error) {
	if t.next != nil {
		_, _ = t.next.Write(p)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - tailBytes; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(p), nil
}

// String returns the remembered end, without a line that lost its beginning.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.ToValidUTF8(string(t.buf), "�")
	if len(t.buf) == tailBytes {
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		}
	}
	return strings.TrimSpace(s)
}
