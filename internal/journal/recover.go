package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// Recovery is what Open found.
type Recovery struct {
	Records []Record // all whole records, in order
	Torn    bool     // a tail that was never acknowledged has been cut
	Corrupt string   // what is damaged, in a sentence; empty when nothing is
	Aside   string   // where a copy of the damaged file is kept
	Gap     int      // with Corrupt: index of the first record after the damage; Records before it are complete
}

// Open opens the journal at path, or makes an empty one, repairs what a crash
// has left and returns what it holds. The folder must exist.
func Open(path string, o Options) (*Journal, Recovery, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Recovery{}, fmt.Errorf("read journal: %w", err)
	}
	found, err := readFile(b)
	if err != nil {
		return nil, Recovery{}, fmt.Errorf("read journal %s: %w", path, err)
	}
	j := &Journal{path: path, options: o, kick: make(chan struct{}, 1), done: make(chan struct{}), changed: make(chan struct{})}
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, Recovery{}, fmt.Errorf("open journal: %w", err)
	}
	_ = os.Remove(path + ".new") // of a rewrite that was cut off
	j.end = int64(found.end)
	r := Recovery{Records: found.records, Torn: found.torn}
	switch {
	case found.corrupt():
		err = j.setAside(b, found, &r)
	case found.torn:
		err = j.cut(b[found.end:])
	}
	if err != nil {
		_ = j.file.Close()
		return nil, Recovery{}, err
	}
	j.size = j.end
	go j.run()
	return j, r, nil
}

// cut removes the tail after the last whole record. Unless it is zeros, a copy
// is kept if the disk has room: damage to the very last record looks the same.
func (j *Journal) cut(tail []byte) error {
	name := ""
	if !allZero(tail) {
		var err error
		if name, err = keepCopy(j.path+".torn", tail); err != nil {
			j.options.Logger.Warn("torn journal tail not kept", "path", j.path, "error", err)
		}
	}
	j.options.Logger.Info("journal tail cut", "path", j.path, "offset", j.end, "bytes", len(tail), "kept", name)
	if err := j.step(StepTruncate, func() error { return j.file.Truncate(j.end) }); err != nil {
		return fmt.Errorf("cut journal: %w", err)
	}
	if err := j.step(StepSync, j.file.Sync); err != nil {
		return fmt.Errorf("cut journal: %w", err)
	}
	return nil
}

// setAside keeps a copy of a damaged file and goes on with what could be read of it.
func (j *Journal) setAside(b []byte, found contents, r *Recovery) error {
	err := j.step(StepAside, func() (err error) {
		r.Aside, err = keepCopy(j.path+".corrupt", b)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep damaged journal: %w", err)
	}
	if err := j.replace(found.records); err != nil {
		return err
	}
	r.Gap = found.gap
	r.Corrupt = fmt.Sprintf("The journal is damaged at byte %d of %d; %d records could be read, %d of them after the damage. The damaged file is kept as %s.",
		found.at, len(b), len(found.records), len(found.records)-found.gap, r.Aside)
	j.options.Logger.Error("journal damaged", "path", j.path, "offset", found.at, "size", len(b), "records", len(found.records), "kept", r.Aside)
	return nil
}

// keepCopy writes b to the first free name that is prefix and a number, and syncs it.
func keepCopy(prefix string, b []byte) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", prefix, n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if _, err = f.Write(b); err == nil {
			err = f.Sync()
		}
		if err != nil {
			return "", discard(f, err)
		}
		if err := f.Close(); err != nil {
			return "", err
		}
		return name, syncDir(filepath.Dir(prefix))
	}
}
