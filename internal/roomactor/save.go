package roomactor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"runt/internal/domain"
	"runt/internal/failpoint"
	"runt/internal/filewatch"
	"runt/internal/ipynb"
	"runt/internal/journal"
	"runt/internal/room"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// fileState is what the room knows of its file.
type fileState struct {
	base  *ipynb.File // as last read or written
	hash  string      // of its bytes
	known bool        // base and hash are set
	watch *filewatch.Watch
}

func hashBytes(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// saveJob is one save, as the goroutine that performs it needs it.
type saveJob struct {
	number   uint64
	path     string
	as       bool // to another path than the room's own
	replace  bool // an existing file may be replaced
	snapshot Snapshot
	base     *ipynb.File
	hash     string // of the file on disk that may be replaced; "" when there is none
	data     []byte
	parsed   *ipynb.File
	taken    domain.NotebookID
}

func (r *Room) saveFile(e room.SaveFile) {
	path := e.Path
	if path == "" {
		path = r.path
	}
	if path == "" {
		r.saveWithoutPath(e)
		return
	}
	if !hasNotebookSuffix(path) {
		path += ".ipynb"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.workingDir, path)
	}
	job := saveJob{number: e.Number, path: path, as: path != r.path, replace: e.Overwrite, snapshot: r.snapshot(true)}
	if !job.as {
		job.base, job.hash = r.file.base, r.file.hash
	}
	r.start(func(ctx context.Context) {
		err := r.performSave(&job)
		r.post(func() { r.saved(job, err) })
	})
}

// saveWithoutPath ends the save of a notebook without a file: its final save is
// the journal, anything else needs a path.
func (r *Room) saveWithoutPath(e room.SaveFile) {
	fin := room.SaveFinished{Number: e.Number}
	if !e.Final {
		fin.Err = domain.Errorf(domain.CodeSaveFailed, "The notebook has no file yet.").WithHint("Pass a path to save it to.")
	}
	r.handle(fin)
}

// performSave writes the file. It runs in a goroutine of its own and touches
// nothing of the room but deps.
func (r *Room) performSave(job *saveJob) error {
	r.pass("roomactor/save")
	if job.as {
		if err := r.claimPath(job); err != nil {
			return err
		}
	}
	if err := checkTarget(*job); err != nil {
		return err
	}
	n, err := fileNotebook(job.snapshot, job.base, r.deps.Blobs)
	if err == nil {
		job.data, err = ipynb.Render(job.base, n)
	}
	if err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "The notebook could not be written as a file: %w", err).
			WithHint("Nothing was changed; look into the daemon's log (runt daemon logs).")
	}
	if job.parsed, err = ipynb.Parse(job.data, nil); err != nil {
		return domain.Errorf(domain.CodeInternal, "The notebook could not be read back before it was written: %w", err)
	}
	if hashBytes(job.data) == job.hash {
		return nil
	}
	return writeFile(job.path, job.data)
}

// claimPath makes the path the room's own, with its folder.
func (r *Room) claimPath(job *saveJob) error {
	if err := os.MkdirAll(filepath.Dir(job.path), 0o755); err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "The folder of %s cannot be made: %w", job.path, err).WithHint("Choose another folder.")
	}
	path, err := Canonical(job.path)
	if err != nil {
		return err
	}
	job.path = path
	if _, err := os.Lstat(path); err == nil && !job.replace {
		return domain.Errorf(domain.CodeSaveConflict, "There is a file %s already.", path).
			WithHint("Choose another path, or pass overwrite to replace it.")
	}
	job.taken, err = r.deps.Registry.Bind(r.id, path)
	return err
}

// checkTarget refuses to write over a file that is read-only or that somebody
// else has changed.
func checkTarget(job saveJob) error {
	info, err := os.Stat(job.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(job.path)); err != nil {
			return domain.Errorf(domain.CodeSaveFailed, "The folder %s is not there any more: %w", filepath.Dir(job.path), err).
				WithHint("Bring it back, or save the notebook to another path.")
		}
		return nil
	}
	if err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "Cannot look at %s: %w", job.path, err).WithHint("Check its permissions.")
	}
	if info.Mode().Perm()&0o222 == 0 {
		return domain.Errorf(domain.CodeSaveFailed, "%s is read-only (permission denied).", job.path).
			WithHint("Make it writable with chmod u+w, or save to another path.")
	}
	if job.as || job.replace || job.hash == "" {
		return nil
	}
	data, err := os.ReadFile(job.path)
	if err == nil && hashBytes(data) != job.hash {
		return domain.Errorf(domain.CodeSaveConflict, "%s was changed by another program since it was read.", job.path).
			WithHint("Pass overwrite to replace it, or save to another path.")
	}
	return nil
}

// Canonical returns the absolute path with symlinks resolved, also of a file
// that is not there yet.
func Canonical(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalidArgument, "The path %q cannot be made absolute: %w", path, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return abs, nil
	}
	return filepath.Join(dir, filepath.Base(abs)), nil
}

// writeFile replaces a file by a whole new version: temporary file in the same
// folder, mode and owner as before, on disk, then renamed.
func writeFile(path string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = saveError(path, err)
		}
	}()
	f, err := os.CreateTemp(filepath.Dir(path), ".runt-save-*")
	if err != nil {
		return err
	}
	tmp := f.Name()
	defer func() {
		if err != nil {
			_ = f.Close()      // a second error says nothing new
			_ = os.Remove(tmp) // nor does this one
		}
	}()
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if st, ok := info.Sys().(*syscall.Stat_t); ok && (int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid()) {
			_ = f.Chown(int(st.Uid), int(st.Gid)) // only root may; the file is saved anyway
		}
	}
	if _, err = f.Write(data); err != nil {
		return err
	}
	if err = failpoint.Inject("roomactor/disk-full"); err != nil {
		return errors.Join(syscall.ENOSPC, err)
	}
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func saveError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return domain.Errorf(domain.CodeSaveFailed, "There is no space left on the disk of %s: %w", path, err).
			WithHint("Make room and save again; the notebook is kept as it is.")
	case errors.Is(err, fs.ErrPermission):
		return domain.Errorf(domain.CodeSaveFailed, "%s may not be written: %w", path, err).WithHint("Check the permissions of file and folder, or save to another path.")
	}
	return domain.Errorf(domain.CodeSaveFailed, "%s could not be written: %w", path, err).WithHint("Save it to another path; the notebook is kept as it is.")
}

// saved takes note of the end of a save.
func (r *Room) saved(job saveJob, err error) {
	fin := room.SaveFinished{Number: job.number, Bound: r.path != "", Saved: wire.NotebookSaved{Path: job.path}, TakenBy: string(job.taken)}
	if err != nil {
		if fin.Err = asDomain(err); fin.Err.Code == domain.CodeSaveConflict {
			r.checkDisk()
		}
		r.log.Warn("notebook not saved", "path", job.path, "error", err)
		r.handle(fin)
		r.releaseSaved()
		return
	}
	if job.as {
		r.closeWatcher()
		r.path, r.kind = job.path, FileBacked
		r.publishInfo() // who is told of the save finds it listed under its new path
	}
	r.file.base, r.file.hash, r.file.known = job.parsed, hashBytes(job.data), true
	if job.as {
		r.watch()
	}
	if err := r.writeBaseBytes(job.data); err != nil {
		r.log.Warn("last saved version not kept", "error", err)
	}
	at := r.deps.Now().UTC().Format(time.RFC3339Nano)
	upd, err := r.rs.Edit(func(tx *runtimestate.Tx) error {
		if err := tx.SetPath(r.path); err != nil {
			return err
		}
		if err := tx.SetFileState(runtimestate.FileState{ExportedHeads: job.snapshot.Heads, SaveSequence: job.number}); err != nil {
			return err
		}
		return tx.SetLastSaved(at)
	})
	if err != nil {
		r.log.Error("runtime state edit failed", "error", err)
	}
	r.changed(docRuntime, upd, nil, journal.Record{Type: recMeta, Data: r.meta().encode()})
	fin.Bound = true
	fin.Saved.ExportedHeads, fin.Saved.SaveSequence = job.snapshot.Heads, job.number
	r.log.Debug("notebook saved", "path", job.path, "bytes", len(job.data))
	r.handle(fin)
	r.releaseSaved()
}

func asDomain(err error) *domain.Error {
	var de *domain.Error
	if errors.As(err, &de) {
		return de
	}
	return domain.Errorf(domain.CodeInternal, "The notebook could not be saved: %w", err)
}

// writeBase keeps a copy of the file as it was read, for merges and for the bytes of untouched parts.
func (r *Room) writeBase() error {
	if r.kind != FileBacked || !r.file.known {
		return nil
	}
	data, err := os.ReadFile(r.path)
	if err != nil {
		return fmt.Errorf("read file: %w", err)
	}
	return r.writeBaseBytes(data)
}

func (r *Room) writeBaseBytes(data []byte) error {
	if r.kind == Ephemeral {
		return nil
	}
	path := filepath.Join(r.dir(), baseFile)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return writeFile(path, data)
}
