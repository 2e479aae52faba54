package filewatch

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// ErrClosed is returned by a Watcher that was closed.
var ErrClosed = errors.New("file watcher is closed")

// Watcher watches files. See the package comment.
type Watcher struct {
	log *slog.Logger
	wg  sync.WaitGroup

	system sync.Mutex // held while folders are added and removed; taken before mu

	mu      sync.Mutex        // guards the fields that follow
	fs      *fsnotify.Watcher // nil before the first file
	files   map[string][]*Watch
	folders map[string]int // files watched in each
	closed  bool
}

// New returns a Watcher of nothing. The caller must call Close.
func New(log *slog.Logger) *Watcher {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Watcher{log: log, files: map[string][]*Watch{}, folders: map[string]int{}}
}

// Watch is the watch of one file by one receiver.
type Watch struct {
	w       *Watcher
	path    string
	changes chan struct{} // of capacity 1
	done    chan struct{} // closed by Close
	once    sync.Once
}

// Changes has a value when the file was written, made, renamed or removed since the last one.
func (x *Watch) Changes() <-chan struct{} { return x.changes }

// Done is closed when the watch has ended.
func (x *Watch) Done() <-chan struct{} { return x.done }

// Watch begins to watch a file in a folder that exists. The caller must call its Close.
func (w *Watcher) Watch(path string) (*Watch, error) {
	path = filepath.Clean(path)
	x := &Watch{w: w, path: path, changes: make(chan struct{}, 1), done: make(chan struct{})}
	folder := filepath.Dir(path)
	w.system.Lock()
	defer w.system.Unlock()
	fs, err := w.open()
	if err != nil {
		return nil, err
	}
	if err := fs.Add(folder); err != nil { // again when it is watched already, which does nothing
		return nil, fmt.Errorf("watch folder %s: %w", folder, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path] = append(w.files[path], x)
	w.folders[folder]++
	return x, nil
}

// open returns the watcher of the system, making it at the first time. system must be held.
func (w *Watcher) open() (*fsnotify.Watcher, error) {
	w.mu.Lock()
	fs, closed := w.fs, w.closed
	w.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case fs != nil:
		return fs, nil
	}
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	w.mu.Lock()
	w.fs = fs
	w.mu.Unlock()
	w.wg.Go(func() { w.hear(fs) })
	return fs, nil
}

// hear takes the system's events until it is closed.
func (w *Watcher) hear(fs *fsnotify.Watcher) {
	for {
		select {
		case ev, ok := <-fs.Events:
			if !ok {
				return
			}
			if ev.Op != fsnotify.Chmod {
				tell(w.watching(ev.Name))
			}
		case err, ok := <-fs.Errors:
			if !ok {
				return
			}
			w.log.Warn("file watcher", "error", err)
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				tell(w.everything())
			}
		}
	}
}

// watching returns the watches of a file.
func (w *Watcher) watching(path string) []*Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*Watch(nil), w.files[path]...)
}

func (w *Watcher) everything() []*Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*Watch
	for _, xs := range w.files {
		all = append(all, xs...)
	}
	return all
}

func tell(all []*Watch) {
	for _, x := range all {
		select {
		case x.changes <- struct{}{}:
		default:
		}
	}
}

// Close ends the watch. It may be called twice.
func (x *Watch) Close() {
	x.once.Do(func() {
		close(x.done)
		x.w.forget(x)
	})
}

// forget takes a watch out, and its folder when it was the last one there.
func (w *Watcher) forget(x *Watch) {
	folder := filepath.Dir(x.path)
	w.system.Lock()
	defer w.system.Unlock()
	w.mu.Lock()
	var left []*Watch
	for _, other := range w.files[x.path] {
		if other != x {
			left = append(left, other)
		}
	}
	if w.files[x.path] = left; len(left) == 0 {
		delete(w.files, x.path)
	}
	w.folders[folder]--
	last := w.folders[folder] == 0
	if last {
		delete(w.folders, folder)
	}
	fs, closed := w.fs, w.closed
	w.mu.Unlock()
	if !last || closed {
		return
	}
	if err := fs.Remove(folder); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
		w.log.Debug("folder still watched", "folder", folder, "error", err)
	}
}

// Close ends every watch and waits until the goroutine is gone. It may be called twice.
func (w *Watcher) Close() error {
	w.system.Lock()
	w.mu.Lock()
	fs, again := w.fs, w.closed
	w.closed = true
	w.mu.Unlock()
	w.system.Unlock()
	var err error
	if fs != nil && !again {
		err = fs.Close()
	}
	w.wg.Wait()
	for _, x := range w.everything() {
		x.Close()
	}
	return err
}
