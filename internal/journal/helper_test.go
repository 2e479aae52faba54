package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// rec is the n-th record of a test.
func rec(n int) Record {
	return Record{Type: byte(n % 7), Data: []byte(fmt.Sprintf("record %d %s", n, bytes.Repeat([]byte{byte(n)}, n%50)))}
}

func recs(from, to int) []Record {
	var list []Record
	for n := from; n < to; n++ {
		list = append(list, rec(n))
	}
	return list
}

// open opens a journal that is closed at the end of the test.
func open(t *testing.T, path string, o Options) (*Journal, Recovery) {
	t.Helper()
	j, r, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, r
}

// wait waits for a position, and not for ever.
func wait(t *testing.T, j *Journal, pos uint64) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return j.Wait(ctx, pos)
}

// filled returns the path and the bytes of a journal with n records.
func filled(t *testing.T, n int) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path, Options{})
	j.Append(recs(0, n)...)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path, read(t, path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// want compares records.
func want(t *testing.T, got, want []Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].Type != want[i].Type || !bytes.Equal(got[i].Data, want[i].Data) {
			t.Fatalf("record %d is %d %q, want %d %q", i, got[i].Type, got[i].Data, want[i].Type, want[i].Data)
		}
	}
}
