package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// offsets returns where each record of a journal of n records starts, and the end.
func offsets(n int) []int {
	at := []int{headerSize}
	for i := range n {
		at = append(at, at[i]+int(rec(i).size()))
	}
	return at
}

func TestD02_NoFileAndEmptyFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty"), nil)
	for _, name := range []string{"missing", "empty"} {
		path := filepath.Join(dir, name)
		j, r := open(t, path, Options{})
		if len(r.Records) != 0 || r.Torn || r.Corrupt != "" {
			t.Errorf("%s: recovery %+v", name, r)
		}
		if err := wait(t, j, j.Append(rec(0))); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		_, r = open(t, path, Options{})
		want(t, r.Records, recs(0, 1))
	}
	if _, _, err := Open(filepath.Join(dir, "no", "folder"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want not exist", err)
	}
}

// TestD02_TornTail cuts the file at every length: the records before the cut
// are there, the rest is cut, and the journal goes on.
func TestD02_TornTail(t *testing.T) {
	const n = 4
	path, b := filled(t, n)
	at := offsets(n)
	for cut := range len(b) {
		write(t, path, b[:cut])
		whole, boundary := 0, cut == 0 || cut == headerSize
		for i := range n {
			if at[i+1] <= cut {
				whole = i + 1
				boundary = boundary || at[i+1] == cut
			}
		}
		j, r := open(t, path, Options{})
		if r.Torn == boundary || r.Corrupt != "" {
			t.Fatalf("cut at %d: torn %v, corrupt %q", cut, r.Torn, r.Corrupt)
		}
		want(t, r.Records, recs(0, whole))
		j.Append(rec(whole))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		j, r = open(t, path, Options{})
		want(t, r.Records, recs(0, whole+1))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestD02_TailOfZeros is what a file system may leave after a power cut.
func TestD02_TailOfZeros(t *testing.T) {
	for _, n := range []int{0, 3} {
		path, b := filled(t, n)
		write(t, path, append(bytes.Clone(b), make([]byte, 5000)...))
		_, r := open(t, path, Options{})
		if !r.Torn || r.Corrupt != "" {
			t.Errorf("recovery %+v", r)
		}
		want(t, r.Records, recs(0, n))
		if got := read(t, path); !bytes.Equal(got, b) {
			t.Error("the zeros are still there")
		}
	}
}

// TestD02_FlippedByte flips every byte of a journal in turn. Records that are
// not hit are returned, the damaged file is kept, and what cannot be told from
// a torn tail is kept as well.
func TestD02_FlippedByte(t *testing.T) {
	const n = 4
	path, b := filled(t, n)
	at := offsets(n)
	for i := range b {
		dir := t.TempDir()
		p := filepath.Join(dir, filepath.Base(path))
		bad := bytes.Clone(b)
		bad[i] ^= 0x40
		write(t, p, bad)
		hit := -1
		for k := range n {
			if i >= at[k] && i < at[k+1] {
				hit = k
			}
		}
		expected := recs(0, n)
		if hit >= 0 {
			expected = append(recs(0, hit), recs(hit+1, n)...)
		}
		j, r := open(t, p, Options{})
		want(t, r.Records, expected)
		kept, _ := filepath.Glob(filepath.Join(dir, "*-1"))
		if len(kept) != 1 {
			t.Fatalf("byte %d: kept %v, %+v", i, kept, r)
		}
		got := read(t, kept[0])
		switch {
		case r.Corrupt == "" && (!r.Torn || hit != n-1 || !bytes.Equal(got, bad[at[n-1]:])):
			t.Fatalf("byte %d: recovery %+v", i, r)
		case r.Corrupt != "" && (!bytes.Equal(got, bad) || r.Aside != kept[0] || r.Gap != max(hit, 0) || !strings.Contains(r.Corrupt, kept[0])):
			t.Fatalf("byte %d: recovery %+v", i, r)
		}
		j.Append(rec(n))
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		_, r = open(t, p, Options{})
		if r.Corrupt != "" || r.Torn {
			t.Fatalf("byte %d: still damaged: %+v", i, r)
		}
		want(t, r.Records, append(expected, rec(n)))
	}
}

// TestD02_SecondDamageKeepsTheFirstCopy damages a journal twice.
func TestD02_SecondDamageKeepsTheFirstCopy(t *testing.T) {
	path, b := filled(t, 5)
	var kept []string
	for range 2 {
		b[headerSize+recordHeader] ^= 1
		write(t, path, b)
		j, r := open(t, path, Options{})
		kept = append(kept, r.Aside)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		b = read(t, path)
	}
	if kept[0] == kept[1] {
		t.Errorf("both copies are %s", kept[0])
	}
	want(t, mustRead(t, kept[0]).records, recs(1, 5))
	want(t, mustRead(t, path).records, recs(2, 5))
}

func mustRead(t *testing.T, path string) contents {
	t.Helper()
	c, err := readFile(read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestD02_NewerVersionIsLeftAlone(t *testing.T) {
	path, b := filled(t, 3)
	newer := append(appendHeader(nil, Version+1), b[headerSize:]...)
	refuse(t, path, newer, ErrNewerVersion)
}

func TestD02_OtherFilesAreLeftAlone(t *testing.T) {
	path, _ := filled(t, 3)
	refuse(t, path, []byte("x"), ErrNotJournal)
	refuse(t, path, []byte(`{"cells": [], "metadata": {}, "nbformat": 4}`), ErrNotJournal)
}

func refuse(t *testing.T, path string, b []byte, reason error) {
	t.Helper()
	write(t, path, b)
	if _, _, err := Open(path, Options{}); !errors.Is(err, reason) {
		t.Errorf("error %v, want %v", err, reason)
	}
	if !bytes.Equal(read(t, path), b) {
		t.Error("the file was changed")
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("files were made: %v", left)
	}
}

// TestD02_DamageOnAFullDisk cannot keep a copy: the journal is refused and not touched.
func TestD02_DamageOnAFullDisk(t *testing.T) {
	path, b := filled(t, 5)
	b[headerSize+recordHeader] ^= 1
	for _, at := range []string{StepAside, StepCreate, StepRename} {
		write(t, path, b)
		_, _, err := Open(path, Options{Fail: func(step string) error {
			if step == at {
				return os.ErrPermission
			}
			return nil
		}})
		if !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: error %v", at, err)
		}
		if !bytes.Equal(read(t, path), b) {
			t.Errorf("%s: the file was changed", at)
		}
	}
}

func TestLeftoverOfARewriteIsRemoved(t *testing.T) {
	path, _ := filled(t, 3)
	write(t, path+".new", []byte("half a fi"))
	_, r := open(t, path, Options{})
	want(t, r.Records, recs(0, 3))
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("the leftover is still there")
	}
}

var update = flag.Bool("update", false, "write the golden files of the current version")

// TestGoldenFiles reads the files that version 1 wrote, and writes the same bytes.
func TestGoldenFiles(t *testing.T) {
	golden := map[string][]Record{
		"v1-empty.journal":   nil,
		"v1-records.journal": {{1, []byte("first")}, {2, nil}, {255, []byte("\x00\x1fRJ\xa7 data that looks like a record")}},
	}
	for name, records := range golden {
		path := filepath.Join("testdata", name)
		b := appendHeader(nil, 1)
		for _, r := range records {
			b, _ = appendRecord(b, r)
		}
		if *update {
			write(t, path, b)
		}
		if !bytes.Equal(read(t, path), b) {
			t.Errorf("%s is written differently now", name)
		}
		want(t, mustRead(t, path).records, records)
	}
	if crc32.Checksum([]byte("123456789"), castagnoli) != 0xe3069283 {
		t.Error("the checksum is not CRC-32C")
	}
}

// FuzzRead reads any bytes: it never panics, and whatever it finds is written in them.
func FuzzRead(f *testing.F) {
	b := appendHeader(nil, 1)
	for _, r := range recs(0, 5) {
		b, _ = appendRecord(b, r)
	}
	f.Add(b)
	f.Add(b[:40])
	f.Add(append(bytes.Clone(b[:70]), b[90:]...))
	f.Add([]byte{})
	long := bytes.Clone(b)
	binary.LittleEndian.PutUint32(long[headerSize+4:], 1<<31)
	f.Add(long)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readFile(b)
		if err != nil {
			return
		}
		if c.end > len(b) || c.gap > len(c.records) {
			t.Errorf("end %d of %d, gap %d of %d", c.end, len(b), c.gap, len(c.records))
		}
		if c.corrupt() {
			return
		}
		again := appendHeader(nil, Version)
		for _, r := range c.records {
			again, _ = appendRecord(again, r)
		}
		if c.end > 0 && !bytes.Equal(again, b[:c.end]) {
			t.Error("the records are not what the file says")
		}
	})
}
