package rpcline

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func readAll(r *Reader) (lines []string) {
	for {
		line, err := r.Next()
		switch {
		case err == nil:
			lines = append(lines, string(line))
		case errors.Is(err, ErrTooLong):
			lines = append(lines, "TOO LONG")
		case errors.Is(err, io.EOF):
			return lines
		default:
			return append(lines, err.Error())
		}
	}
}

func TestReaderCutsLines(t *testing.T) {
	long := strings.Repeat("x", 300000)
	tests := []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"blank lines are skipped", "a\n\n  \r\nb\r\n", 100, []string{"a", "b\r"}},
		{"a last line without newline", "a\nb", 100, []string{"a", "b"}},
		{"nothing", "", 100, nil},
		{"the limit counts without newline", "abc\nabcd\nabc", 3, []string{"abc", "TOO LONG", "abc"}},
		{"longer than the buffer", long + "\nb\n", 1 << 20, []string{long, "b"}},
		{"too long and longer than the buffer", long + "\nb\n", 1000, []string{"TOO LONG", "b"}},
		{"too long at the end", "b\n" + long, 1000, []string{"b", "TOO LONG"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readAll(NewReader(strings.NewReader(tt.in), tt.limit))
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got %d lines, want %d", len(got), len(tt.want))
			}
			slow := readAll(NewReader(iotest.OneByteReader(strings.NewReader(tt.in)), tt.limit))
			if strings.Join(slow, "|") != strings.Join(tt.want, "|") {
				t.Errorf("byte by byte: got %d lines, want %d", len(slow), len(tt.want))
			}
		})
	}
	if got := readAll(NewReader(iotest.TimeoutReader(strings.NewReader("a\nb")), 10)); len(got) == 0 || got[len(got)-1] != "timeout" {
		t.Errorf("an error of the stream: %q", got)
	}
}

// gate is a stream that lets a write through only when told.
type gate struct {
	open chan struct{}
	bytes.Buffer
	err error
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	if g.err != nil {
		return 0, g.err
	}
	return g.Buffer.Write(p)
}

func TestWriterKeepsOrderAndFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		w := NewWriter(g, nil)
		var want strings.Builder
		for i := range 50 {
			line := strings.Repeat(string(rune('a'+i%26)), i*i*40)
			want.WriteString(line + "\n")
			if err := w.Send([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if w.Queued() == 0 {
			t.Error("nothing counted as queued")
		}
		waited := make(chan struct{})
		go func() { w.WaitBelow(1); close(waited) }()
		synctest.Wait()
		select {
		case <-waited:
			t.Error("WaitBelow did not wait")
		default:
		}
		close(g.open)
		<-waited
		if !w.Close(time.Second) {
			t.Error("not flushed")
		}
		if g.String() != want.String() {
			t.Error("the bytes differ")
		}
		if err := w.Send([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("Send after Close: %v", err)
		}
	})
}

func TestWriterReportsABrokenStreamOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), err: io.ErrClosedPipe}
		close(g.open)
		calls := 0
		w := NewWriter(g, func(error) { calls++ })
		if err := w.Send([]byte("a")); err != nil {
			t.Fatal(err)
		}
		<-w.Done()
		if err := w.Send([]byte("b")); !errors.Is(err, ErrClosed) || calls != 1 {
			t.Errorf("Send %v, %d calls", err, calls)
		}
		w.WaitBelow(0) // does not wait on a broken writer
		if !w.Close(time.Second) {
			t.Error("Close of a broken writer waited")
		}
	})
}

func TestWriterCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		w := NewWriter(g, nil)
		if err := w.Send([]byte("a")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if w.Close(2*time.Second) || time.Since(start) != 2*time.Second {
			t.Errorf("Close of a stuck stream took %v", time.Since(start))
		}
		w.Unbound()
		w.WaitBelow(0)
		close(g.open)
	})
}
