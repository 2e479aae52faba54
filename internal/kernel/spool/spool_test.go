package spool

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

func open(t testing.TB, o Options) *Spool {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "spool"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func data(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d,", i), i%50) }

func fill(t testing.TB, s *Spool, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		if err := s.Append(uint64(i), data(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// want fails the test unless the next records are from..to.
func want(t testing.TB, r *Reader, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		seq, got, err := r.Next(t.Context())
		if err != nil || seq != uint64(i) || !bytes.Equal(got, data(i)) {
			t.Fatalf("record %d: number %d, %d bytes, %v", i, seq, len(got), err)
		}
	}
}

func TestReadFromMemoryAndDisk(t *testing.T) {
	for name, o := range map[string]Options{
		"memory":              {},
		"disk":                {Memory: 1},
		"disk, many segments": {Memory: 1, SegmentSize: 500},
		"both":                {Memory: 2000, SegmentSize: 700},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, o)
			fill(t, s, 1, 300)
			r := s.ReadAfter(0)
			want(t, r, 1, 150)
			fill(t, s, 301, 400)
			want(t, r, 151, 400)
			late := s.ReadAfter(250)
			want(t, late, 251, 400)
			if s.Last() != 400 || s.Backlog() == 0 {
				t.Errorf("last %d, backlog %d", s.Last(), s.Backlog())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("after close: %v", err)
			}
		})
	}
}

func TestAckRemovesSegments(t *testing.T) {
	s := open(t, Options{Memory: 1, SegmentSize: 400})
	fill(t, s, 1, 200)
	r := s.ReadAfter(0)
	want(t, r, 1, 5)
	if err := s.Ack(100); err != nil {
		t.Fatal(err)
	}
	firsts, err := segmentsIn(s.dir)
	if err != nil || firsts[0] < 90 || firsts[0] > 101 {
		t.Errorf("segments begin at %v, %v", firsts, err)
	}
	want(t, r, 101, 200) // what was acknowledged meanwhile is skipped
	if err := s.Ack(10_000); err != nil || s.Acked() != 200 {
		t.Errorf("acknowledged %d, %v", s.Acked(), err)
	}
	if firsts, err = segmentsIn(s.dir); err != nil || len(firsts) != 1 {
		t.Errorf("segments %v, %v", firsts, err)
	}
	fill(t, s, 201, 220)
	want(t, s.ReadAfter(0), 201, 220)
}

func TestReaderWaitsForAppends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		r := s.ReadAfter(0)
		got := make(chan uint64, 10)
		go func() {
			for {
				seq, _, err := r.Next(t.Context())
				if err != nil {
					close(got)
					return
				}
				got <- seq
			}
		}()
		synctest.Wait()
		if err := s.AppendQuietly(1, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) != 0 {
			t.Error("a quiet append woke the reader")
		}
		s.Wake()
		if seq := <-got; seq != 1 {
			t.Errorf("got %d", seq)
		}
		fill(t, s, 2, 2)
		if seq := <-got; seq != 2 {
			t.Errorf("got %d", seq)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, more := <-got; more {
			t.Error("the reader did not end")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := open(t, Options{}).ReadAfter(0).Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("without its context: %v", err)
		}
	})
}

func TestReadDirAfterTheWriterDied(t *testing.T) {
	s := open(t, Options{SegmentSize: 400})
	fill(t, s, 1, 100)
	read := func(after uint64) (n int, first uint64) {
		err := ReadDir(s.dir, after, func(seq uint64, b []byte) error {
			if n++; first == 0 {
				first = seq
			}
			if !bytes.Equal(b, data(int(seq))) {
				t.Errorf("record %d has %d bytes", seq, len(b))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return n, first
	}
	if n, first := read(0); n != 100 || first != 1 {
		t.Errorf("%d records from %d", n, first)
	}
	if n, first := read(60); n != 40 || first != 61 {
		t.Errorf("%d records from %d", n, first)
	}
	last := segmentPath(s.dir, s.segments[len(s.segments)-1])
	b, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	torn := 100 - int(s.segments[len(s.segments)-1])
	for cut := 0; cut < len(b); cut += 11 { // whatever was written of the last segment, what is whole is read
		if err := os.WriteFile(last, b[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if n, _ := read(0); n < 99-torn || n > 99 {
			t.Fatalf("cut at %d: %d records", cut, n)
		}
	}
	b[headSize] ^= 1
	if err := os.WriteFile(last, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, _ := read(0); n != 99-torn {
		t.Errorf("flipped bit: %d records", n)
	}
	stop := errors.New("stop")
	if err := ReadDir(s.dir, 0, func(uint64, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if err := ReadDir(filepath.Join(s.dir, "none"), 0, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeWrittenStaysInMemory(t *testing.T) {
	s := open(t, Options{Memory: 1})
	fill(t, s, 1, 10)
	if err := s.file.Close(); err != nil { // every write fails from here
		t.Fatal(err)
	}
	for i := 11; i <= 30; i++ {
		if err := s.Append(uint64(i), data(i)); err == nil && i == 11 {
			t.Fatal("a write to a closed file succeeded")
		}
	}
	want(t, s.ReadAfter(0), 1, 30)
	if err := s.Ack(30); err != nil || len(s.tail) != 0 {
		t.Errorf("%d records in memory after all were acknowledged, %v", len(s.tail), err)
	}
}

func TestOpenRefusesTheSpoolOfAnother(t *testing.T) {
	s := open(t, Options{})
	fill(t, s, 1, 1)
	if _, err := Open(s.dir, Options{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
}

// The golden segment is what version 1 wrote; every later version must read it.
func TestGoldenSegmentOfVersion1(t *testing.T) {
	var b []byte
	for i := 1; i <= 3; i++ {
		b = append(append(b, recordHead(uint64(i), data(i))...), data(i)...)
	}
	const golden = "00000002788ea9ef0000000000000001312c00000004975aee9a0000000000000002322c322c00000006835f19e60000000000000003332c332c332c"
	if got := hex.EncodeToString(b); got != golden {
		t.Errorf("segment %s, want %s", got, golden)
	}
}

func TestConcurrentReadersWriterAndAcks(t *testing.T) {
	s := open(t, Options{Memory: 500, SegmentSize: 2000})
	const n = 3000
	errs := make(chan error, 3)
	for range 3 {
		go func() {
			r := s.ReadAfter(0)
			defer r.Close()
			last := uint64(0)
			for last < n {
				seq, got, err := r.Next(t.Context())
				if err == nil && (seq <= last || !bytes.Equal(got, data(int(seq)))) {
					err = fmt.Errorf("record %d after %d has %d bytes", seq, last, len(got))
				}
				if err != nil {
					errs <- err
					return
				}
				last = seq
			}
			errs <- nil
		}()
	}
	for i := 1; i <= n; i++ {
		if err := s.Append(uint64(i), data(i)); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if err := s.Ack(uint64(i - 90)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add(append(recordHead(1, []byte("abc")), "abc"...))
	f.Add([]byte(strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			if _, _, err := readRecord(r); err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, errTorn) {
					t.Fatal(err)
				}
				return
			}
		}
	})
}
