package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "blobs"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, data, mediaType string) Ref {
	t.Helper()
	ref, err := s.Put([]byte(data), mediaType)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// names lists all files below the store's folder.
func names(t *testing.T, s *Store) (all []string) {
	t.Helper()
	err := filepath.WalkDir(s.Root(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(s.Root(), path)
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPutAndGet(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, err := Open(filepath.Join(t.TempDir(), "a", "b"), Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	ref := put(t, s, "hello", "text/plain")
	const hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if ref != (Ref{hash, 5}) {
		t.Errorf("ref %+v", ref)
	}
	data, meta, err := s.Get(hash)
	if want := (Meta{"text/plain", 5, at, Durable}); err != nil || string(data) != "hello" || meta != want {
		t.Errorf("%q %+v, %v", data, meta, err)
	}
	f, meta, err := s.Open(hash)
	if err != nil || meta.Size != 5 {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
	if got, want := strings.Join(names(t, s), " "), hash[:2]+"/"+hash[2:]+" "+hash[:2]+"/"+hash[2:]+".meta"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	raw, err := os.ReadFile(filepath.Join(s.Root(), hash[:2], hash[2:]+".meta"))
	if want := `{"media_type":"text/plain","size":5,"created_at":"2026-01-02T03:04:05Z","durability":"durable"}`; err != nil || string(raw) != want {
		t.Errorf("meta %s, %v", raw, err)
	}
	info, err := os.Stat(filepath.Join(s.Root(), hash[:2], hash[2:]))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestEmptyBlob(t *testing.T) {
	s := open(t)
	ref := put(t, s, "", "")
	if data, meta, err := s.Get(ref.Hash); err != nil || len(data) != 0 || meta.MediaType != DefaultMediaType {
		t.Errorf("%q %+v, %v", data, meta, err)
	}
}

func TestPutAgainKeepsTheBestOfBoth(t *testing.T) {
	s := open(t)
	for i, c := range []struct {
		mediaType, durability string
		want                  Meta
	}{
		{"", Ephemeral, Meta{MediaType: DefaultMediaType, Durability: Ephemeral}},
		{"image/png", Ephemeral, Meta{MediaType: "image/png", Durability: Ephemeral}},
		{"text/html", Durable, Meta{MediaType: "image/png", Durability: Durable}},
		{"image/png", Ephemeral, Meta{MediaType: "image/png", Durability: Durable}},
	} {
		ref, err := s.PutAs([]byte("x"), c.mediaType, c.durability)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Stat(ref.Hash)
		if err != nil || got.MediaType != c.want.MediaType || got.Durability != c.want.Durability || got.Size != 1 {
			t.Errorf("put %d: %+v, %v", i, got, err)
		}
	}
}

func TestMissingBadAndCorruptBlobs(t *testing.T) {
	s := open(t)
	none := Hash([]byte("never stored"))
	if _, err := s.Stat(none); !errors.Is(err, ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, h := range []string{"", "..", strings.Repeat("a", 63), strings.Repeat("A", 64), "../" + strings.Repeat("a", 61), strings.Repeat("a", 63) + "/"} {
		if _, _, err := s.Get(h); !errors.Is(err, ErrBadHash) {
			t.Errorf("%q: %v", h, err)
		}
	}
	ref := put(t, s, "whole", "text/plain")
	path := s.path(ref.Hash)
	if err := os.WriteFile(path, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get(ref.Hash); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("who"), 0o600); err != nil {
		t.Fatal(err)
	}
	put(t, s, "whole", "text/plain") // mends what is not even of the right size
	if data, _, err := s.Get(ref.Hash); err != nil || string(data) != "whole" {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.WriteFile(path+metaSuffix, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Stat(ref.Hash); err != nil || m.MediaType != DefaultMediaType || m.Size != 5 || m.CreatedAt.IsZero() {
		t.Errorf("broken meta data: %+v, %v", m, err)
	}
	dir := Hash([]byte("a folder"))
	if err := os.MkdirAll(s.path(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("a folder: %v", err)
	}
}

func TestTooLargeBlobIsRefused(t *testing.T) {
	s := open(t)
	if _, err := s.Put(make([]byte, MaxSize+1), ""); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if n := names(t, s); n != nil {
		t.Errorf("left behind: %v", n)
	}
}

func TestManyPutTheSameAtOnce(t *testing.T) {
	s := open(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			body := data
			if i%2 == 1 {
				body = data[:len(data)/2]
			}
			ref, err := s.Put(body, "text/plain")
			if err != nil {
				t.Error(err)
				return
			}
			if got, _, err := s.Get(ref.Hash); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	if n := names(t, s); len(n) != 4 {
		t.Errorf("files %v", n)
	}
	if len(s.locks.held) != 0 {
		t.Errorf("%d locks are kept", len(s.locks.held))
	}
}

// TestCrashLeavesNoHalfBlob ends a Put before each of its renames, as a crash
// would, and looks at what the next process finds.
func TestCrashLeavesNoHalfBlob(t *testing.T) {
	crash := errors.New("crash")
	for at := range 2 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			dead := open(t)
			renames := 0
			dead.rename = func(old, new string) error {
				if renames++; renames > at {
					// A process that is gone removes no temporary file.
					if err := os.Link(old, old+"-left"); err != nil {
						t.Error(err)
					}
					return crash
				}
				return os.Rename(old, new)
			}
			if _, err := dead.Put([]byte("data"), "text/plain"); !errors.Is(err, crash) {
				t.Fatal(err)
			}
			hash := Hash([]byte("data"))
			clock := time.Now()
			next, err := Open(dead.Root(), Options{Now: func() time.Time { return clock }})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := next.Stat(hash); !errors.Is(err, ErrNotFound) {
				t.Errorf("after the crash: %v", err)
			}
			clock = clock.Add(2 * tempAge)
			if _, err := next.Collect(t.Context(), func(string) bool { return true }, time.Hour); err != nil {
				t.Error(err)
			}
			if n := names(t, next); n != nil {
				t.Errorf("left behind: %v", n)
			}
			put(t, next, "data", "text/plain")
			if data, meta, err := next.Get(hash); err != nil || string(data) != "data" || meta.MediaType != "text/plain" {
				t.Errorf("%q %+v, %v", data, meta, err)
			}
		})
	}
}

func TestPutFailsCleanlyWithoutItsFolder(t *testing.T) {
	s := open(t)
	if err := os.RemoveAll(s.Root()); err != nil {
		t.Fatal(err)
	}
	put(t, s, "back", "") // the folder is made again
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(blocked, "x"), Options{}); err == nil {
		t.Error("a store was opened inside a file")
	}
}

func BenchmarkPut(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 100<<10)
	i := 0
	for b.Loop() {
		i++
		copy(data, fmt.Sprint(i))
		if _, err := s.Put(data, "image/png"); err != nil {
			b.Fatal(err)
		}
	}
}
