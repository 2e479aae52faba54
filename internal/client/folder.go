package client

import (
	"fmt"

	"github.com/fsnotify/fsnotify"
)

// folderWatch watches a folder that may not be there yet.
type folderWatch struct {
	notify  func(string) (<-chan struct{}, func() error, error)
	path    string
	changes <-chan struct{}
	stop    func() error
}

// open begins to watch unless that was done before, and returns the channel
// that tells of changes, or nil while the folder cannot be watched.
func (f *folderWatch) open() <-chan struct{} {
	if f.changes != nil {
		return f.changes
	}
	changes, stop, err := f.notify(f.path)
	if err != nil {
		return nil // no folder yet; dialling again finds out
	}
	f.changes, f.stop = changes, stop
	return changes
}

func (f *folderWatch) close() {
	if f.stop != nil {
		// Nothing depends on a watch that is no more wanted.
		_ = f.stop()
	}
}

// watchFolder tells when entries of a folder come, go or change. Several
// changes that nobody has looked at yet are told once.
func watchFolder(folder string) (<-chan struct{}, func() error, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, nil, fmt.Errorf("watch folder: %w", err)
	}
	if err := w.Add(folder); err != nil {
		return nil, nil, fmt.Errorf("watch folder: %w", firstError(err, w.Close()))
	}
	changes := make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case _, ok := <-w.Events:
				if !ok {
					return
				}
			case _, ok := <-w.Errors:
				if !ok {
					return
				}
			}
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}()
	stop := func() error {
		err := w.Close()
		<-ended
		return err
	}
	return changes, stop, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
