package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestD02_CheckChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		j.Append(Record{Type: 1, Data: bytes.Repeat([]byte("x"), 40)})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(whole)/2] ^= 1
	for _, tc := range []struct {
		name    string
		content []byte
		torn    bool
		corrupt bool
		records int
	}{
		{"whole", whole, false, false, 3},
		{"torn", whole[:len(whole)-1], true, false, 2},
		{"flipped", flipped, false, true, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(path, tc.content, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Check(path)
			if err != nil || r.Torn != tc.torn || (r.Corrupt != "") != tc.corrupt || len(r.Records) != tc.records {
				t.Errorf("got torn %v, corrupt %q, %d records, %v", r.Torn, r.Corrupt, len(r.Records), err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, tc.content) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}
