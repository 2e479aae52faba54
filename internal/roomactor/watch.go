package roomactor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchQuiet is how long the file must be left alone before it is read: editors
// write in several steps.
const watchQuiet = 100 * time.Millisecond

// watcher watches the folder of the notebook file.
type watcher struct {
	fs   *fsnotify.Watcher
	once sync.Once
	done chan struct{}
}

// watch begins to watch the room's file. A folder that cannot be watched is
// noted: outside changes are then found at the next save.
func (r *Room) watch() {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(filepath.Dir(r.path)); err != nil {
			err = errors.Join(err, w.Close())
		}
	}
	if err != nil {
		r.log.Warn("file not watched", "path", r.path, "error", err)
		return
	}
	r.file.watch = &watcher{fs: w, done: make(chan struct{})}
	fw, path := r.file.watch, r.path
	r.start(func(ctx context.Context) {
		defer close(fw.done)
		r.hearFile(ctx, fw, path)
	})
}

func (r *Room) hearFile(ctx context.Context, w *watcher, path string) {
	quiet := time.NewTimer(0)
	<-quiet.C
	for {
		select {
		case ev, ok := <-w.fs.Events:
			if !ok {
				return
			}
			if ev.Name == path && !ev.Has(fsnotify.Chmod) {
				quiet.Reset(watchQuiet)
			}
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			r.log.Warn("file watcher", "error", err)
		case <-quiet.C:
			r.readDisk(path)
		case <-ctx.Done():
			return
		}
	}
}

// readDisk reads the file and hands it to the actor.
func (r *Room) readDisk(path string) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return // renamed away or about to be written again; a save says so
	}
	r.post(func() { r.diskRead(path, data, err) })
}

// checkDisk looks at the file at once, without waiting for the watcher.
func (r *Room) checkDisk() {
	path := r.path
	if path != "" {
		r.start(func(context.Context) { r.readDisk(path) })
	}
}

func (r *Room) closeWatcher() {
	w := r.file.watch
	if w == nil {
		return
	}
	r.file.watch = nil
	w.once.Do(func() {
		if err := w.fs.Close(); err != nil {
			r.log.Debug("file watcher closed", "error", err)
		}
	})
}
