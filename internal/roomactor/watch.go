package roomactor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"runt/internal/filewatch"
)

// watchQuiet is how long the file must be left alone before it is read: editors
// write in several steps.
const watchQuiet = 100 * time.Millisecond

// watch begins to watch the room's file. A folder that cannot be watched is
// noted: outside changes are then found at the next save.
func (r *Room) watch() {
	w, err := r.deps.Files.Watch(r.path)
	if err != nil {
		r.log.Warn("file not watched", "path", r.path, "error", err)
		return
	}
	r.file.watch = w
	path := r.path
	r.start(func(ctx context.Context) { r.hearFile(ctx, w, path) })
}

func (r *Room) hearFile(ctx context.Context, w *filewatch.Watch, path string) {
	quiet := time.NewTimer(0)
	<-quiet.C
	for {
		select {
		case <-w.Changes():
			quiet.Reset(watchQuiet)
		case <-quiet.C:
			r.readDisk(path)
		case <-w.Done():
			return
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
	if w := r.file.watch; w != nil {
		r.file.watch = nil
		w.Close()
	}
}
