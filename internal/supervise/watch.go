package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a program file must be left alone before it is hashed: it
// may still be being written.
const settle = 250 * time.Millisecond

// Watch reports when the content of a program file changes.
type Watch struct {
	path   string
	sums   *Fingerprints
	log    *slog.Logger
	notify func(sum string)
	fs     *fsnotify.Watcher
	cancel context.CancelFunc
	done   chan struct{}
}

// WatchProgram watches the folder of path (and of what it links to) and calls
// notify, from its own goroutine, with the SHA-256 of the file whenever its
// folder saw a change and the file can be run. The same sum may be told again.
// Close ends it.
func WatchProgram(path string, sums *Fingerprints, log *slog.Logger, notify func(sum string)) (*Watch, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch program: %w", err)
	}
	for _, dir := range realFolders(path) {
		if err := w.Add(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("watch folder %s: %w", dir, err), w.Close())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	wt := &Watch{path: path, sums: sums, log: log, notify: notify, fs: w, cancel: cancel, done: make(chan struct{})}
	go wt.run(ctx)
	return wt, nil
}

// Path returns the watched file.
func (w *Watch) Path() string { return w.path }

// Close stops watching and waits for a call of notify under way.
func (w *Watch) Close() {
	w.cancel()
	<-w.done
}

func (w *Watch) run(ctx context.Context) {
	defer close(w.done)
	defer w.fs.Close()
	quiet := time.NewTimer(settle)
	defer quiet.Stop() // the first look is soon after the start: the file may have changed just before
	for {
		select {
		case <-ctx.Done():
			return
		case ev, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if w.concerns(ev.Name) {
				quiet.Reset(settle)
			}
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			w.log.Warn("watching the program's folder failed", "path", w.path, "err", err)
			quiet.Reset(settle)
		case <-quiet.C:
			if again := w.look(); again {
				quiet.Reset(settle)
			}
		}
	}
}

// concerns says whether a change of the file called name may change the program.
func (w *Watch) concerns(name string) bool {
	base := filepath.Base(name)
	if base == filepath.Base(w.path) {
		return true
	}
	real, err := filepath.EvalSymlinks(w.path)
	return err == nil && base == filepath.Base(real)
}

// look hashes the file and tells its sum. It returns whether to look again soon.
func (w *Watch) look() (again bool) {
	for _, dir := range realFolders(w.path) {
		if err := w.fs.Add(dir); err != nil { // where a link points at may be new
			w.log.Warn("the program's folder cannot be watched", "path", dir, "err", err)
		}
	}
	sum, err := w.sums.Sum(w.path)
	switch {
	case errors.Is(err, ErrChanged):
		return true
	case errors.Is(err, fs.ErrNotExist): // between two versions; its arrival is another event
	case err != nil:
		w.log.Warn("the program cannot be read", "path", w.path, "err", err)
	case IsProgram(w.path):
		w.notify(sum)
	}
	return false
}
