package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// MaxSize is the greatest number of bytes in a blob.
const MaxSize = 100 << 20

// DefaultMediaType is that of a blob whose own is not known.
const DefaultMediaType = "application/octet-stream"

// Durabilities of a blob, as its meta data name them.
const (
	Durable   = "durable"
	Ephemeral = "ephemeral"
)

// Errors of a Store. ErrNotFound is also fs.ErrNotExist.
var (
	ErrNotFound = fmt.Errorf("blob not found: %w", fs.ErrNotExist)
	ErrBadHash  = errors.New("blob: not a SHA-256 in lower case hex")
	ErrTooLarge = fmt.Errorf("blob: more than %d bytes", MaxSize)
	ErrCorrupt  = errors.New("blob: the bytes on disk do not have the hash of their name")
)

// Ref names a blob.
type Ref struct {
	Hash string // 64 digits, lower case
	Size int64
}

// Meta is what is known of a blob beside its bytes.
type Meta struct {
	MediaType  string    `json:"media_type"`
	Size       int64     `json:"size"`
	CreatedAt  time.Time `json:"created_at"`
	Durability string    `json:"durability"`
}

// Options of a Store. The zero value is good.
type Options struct {
	Now func() time.Time // nil: time.Now
}

// Store is a folder of blobs.
type Store struct {
	root  string
	now   func() time.Time
	locks keyLock
	// rename is os.Rename, or what a test puts in its place.
	rename func(old, new string) error
}

const (
	tempPrefix = ".tmp-"
	metaSuffix = ".meta"
	// tempAge is the age from which a temporary file is left over from a crash.
	tempAge = time.Hour
)

// Open returns the store in the folder root, which is made if it is not there.
func Open(root string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	s := &Store{root: root, now: o.Now, rename: os.Rename}
	if err := s.removeTemps(); err != nil {
		return nil, fmt.Errorf("open blob store: %w", err)
	}
	return s, nil
}

// Root returns the folder of the store.
func (s *Store) Root() string { return s.root }

// Hash returns the name of data.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ValidHash says whether h is the name of some blob.
func ValidHash(h string) bool {
	if len(h) != 2*sha256.Size {
		return false
	}
	for i := range len(h) {
		if c := h[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func (s *Store) path(hash string) string { return filepath.Join(s.root, hash[:2], hash[2:]) }

// Put stores data durably. Putting the same bytes again makes them young
// again, see the package comment, and keeps the media type they have.
func (s *Store) Put(data []byte, mediaType string) (Ref, error) {
	return s.PutAs(data, mediaType, Durable)
}

// PutAs is Put with a durability. A durable blob stays durable.
func (s *Store) PutAs(data []byte, mediaType, durability string) (Ref, error) {
	if len(data) > MaxSize {
		return Ref{}, ErrTooLarge
	}
	ref := Ref{Hash: Hash(data), Size: int64(len(data))}
	unlock := s.locks.lock(ref.Hash)
	defer unlock()
	if err := s.put(ref, data, mediaType, durability); err != nil {
		return Ref{}, fmt.Errorf("put blob: %w", err)
	}
	return ref, nil
}

// put is called with the hash locked.
func (s *Store) put(ref Ref, data []byte, mediaType, durability string) error {
	now, path := s.now(), s.path(ref.Hash)
	want := Meta{MediaType: cleanMediaType(mediaType), Size: ref.Size, CreatedAt: now.UTC(), Durability: durability}
	info, err := os.Stat(path)
	there := err == nil && info.Mode().IsRegular() && info.Size() == ref.Size
	if there {
		have := s.meta(ref.Hash, info)
		better := have
		if have.MediaType == DefaultMediaType {
			better.MediaType = want.MediaType
		}
		if durability == Durable {
			better.Durability = Durable
		}
		if better != have {
			if err := s.writeMeta(path, better); err != nil {
				return err
			}
		}
		return os.Chtimes(path, now, now)
	}
	if err := s.makeShard(path); err != nil {
		return err
	}
	if err := s.writeMeta(path, want); err != nil {
		return err
	}
	if err := s.write(path, data, true); err != nil {
		return err
	}
	if err := os.Chtimes(path, now, now); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func (s *Store) makeShard(path string) error {
	dir := filepath.Dir(path)
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		return syncDir(s.root)
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist): // somebody removed the whole store
		return os.MkdirAll(dir, 0o700)
	default:
		return err
	}
}

func (s *Store) writeMeta(path string, m Meta) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.write(path+metaSuffix, b, false)
}

// write makes the file path whole or not at all, with sync also when the power fails.
func (s *Store) write(path string, data []byte, sync bool) (err error) {
	f, err := os.CreateTemp(s.root, tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// The first error is the one that counts.
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if sync {
		if err = f.Sync(); err != nil {
			return err
		}
	}
	if err = f.Close(); err != nil {
		return err
	}
	return s.rename(f.Name(), path)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Stat returns what is known of a blob, or ErrNotFound.
func (s *Store) Stat(hash string) (Meta, error) {
	info, err := s.info(hash)
	if err != nil {
		return Meta{}, err
	}
	return s.meta(hash, info), nil
}

// Open returns the bytes of a blob as a file that the caller must close.
func (s *Store) Open(hash string) (*os.File, Meta, error) {
	info, err := s.info(hash)
	if err != nil {
		return nil, Meta{}, err
	}
	f, err := os.Open(s.path(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Meta{}, ErrNotFound
	}
	if err != nil {
		return nil, Meta{}, fmt.Errorf("open blob: %w", err)
	}
	return f, s.meta(hash, info), nil
}

// Get returns the bytes of a blob. It checks them against the hash and returns
// ErrCorrupt when they differ.
func (s *Store) Get(hash string) ([]byte, Meta, error) {
	f, meta, err := s.Open(hash)
	if err != nil {
		return nil, Meta{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, Meta{}, fmt.Errorf("read blob: %w", err)
	}
	if Hash(data) != hash {
		return nil, Meta{}, ErrCorrupt
	}
	return data, meta, nil
}

func (s *Store) info(hash string) (fs.FileInfo, error) {
	if !ValidHash(hash) {
		return nil, ErrBadHash
	}
	info, err := os.Lstat(s.path(hash))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("stat blob: %w", err)
	}
	return info, nil
}

// meta reads the meta data of a blob. Without them, or with broken ones, what
// the file tells has to do.
func (s *Store) meta(hash string, info fs.FileInfo) Meta {
	m := Meta{}
	b, err := os.ReadFile(s.path(hash) + metaSuffix)
	if err != nil || json.Unmarshal(b, &m) != nil {
		m = Meta{CreatedAt: info.ModTime().UTC(), Durability: Durable}
	}
	m.MediaType = cleanMediaType(m.MediaType)
	m.Size = info.Size()
	return m
}

// cleanMediaType returns m if it is a media type, else the default one.
func cleanMediaType(m string) string {
	t, _, err := mime.ParseMediaType(m)
	if err != nil || !strings.Contains(t, "/") {
		return DefaultMediaType
	}
	return m
}
