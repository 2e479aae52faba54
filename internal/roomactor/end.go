package roomactor

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"runt/internal/domain"
	"runt/internal/room"
)

// Flush saves the file, if the room has one that is behind, and waits for it
// and for the journal. Errors are logged: the journal has everything.
func (r *Room) Flush(ctx context.Context) {
	done := make(chan struct{})
	ok := r.post(func() {
		r.onSaved = append(r.onSaved, func() { r.afterDurable(r.journalEnd(), func() { close(done) }) })
		if r.path == "" || !r.core.Status().Dirty {
			r.releaseSaved()
			return
		}
		r.handle(room.SaveRequested{From: room.Caller{}})
	})
	if !ok {
		return
	}
	select {
	case <-done:
	case <-r.gone:
	case <-ctx.Done():
		r.log.Warn("room not flushed in time")
	}
}

// releaseSaved tells those who wait for a save that it is over.
func (r *Room) releaseSaved() {
	waiting := r.onSaved
	r.onSaved = nil
	for _, f := range waiting {
		f()
	}
}

// End saves the room, stops its kernel and closes it, whoever is connected.
func (r *Room) End(ctx context.Context) error {
	r.Flush(ctx)
	if !r.post(func() { r.handle(room.EndRequested{}) }) {
		return nil
	}
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// MustNotExist refuses a path where there is something already.
func MustNotExist(path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return domain.Errorf(domain.CodeFileUnreadable, "Cannot look at %s: %w", path, err).WithHint("Check the path and its permissions.")
	}
	return domain.Errorf(domain.CodeSaveConflict, "There is a file %s already.", path).
		WithHint("Open it with connect_notebook, or choose another path.")
}
