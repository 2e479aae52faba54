package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"runt/internal/domain"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

// When blobs that nothing refers to any more are removed.
const (
	firstCollection = 10 * time.Minute // after the start
	collectionEvery = 6 * time.Hour
	collectionAge   = time.Hour // younger ones are kept: who refers to them may be about to be written
	collectionLimit = 10 * time.Minute
)

// collect removes blobs from time to time.
func (d *Daemon) collect() {
	defer d.wg.Done()
	timer := time.NewTimer(firstCollection)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-d.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(d.ctx, collectionLimit)
		if err := d.collectBlobs(ctx, collectionAge); err != nil {
			d.log.Warn("blobs not collected", "error", err)
		}
		cancel()
		timer.Reset(collectionEvery)
	}
}

// collectBlobs removes the blobs that no open room, journal or record refers to.
// It removes nothing when one of them cannot be read.
func (d *Daemon) collectBlobs(ctx context.Context, olderThan time.Duration) error {
	used := map[string]bool{}
	add := func(hash string) { used[hash] = true }
	if d.rooms.wrecked() {
		return errors.New("a room has failed and is not loaded again yet")
	}
	ids, err := d.journals()
	if err != nil {
		return err
	}
	for _, i := range d.rooms.list() {
		ids = append(ids, i.ID)
	}
	for _, id := range ids {
		if err := d.notebookRefs(ctx, id, add); err != nil {
			return fmt.Errorf("read blobs of notebook %s: %w", id, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := d.catalog.Each(ctx, func(rec wire.ExecutionRecord) { recordRefs(rec, add) }); err != nil {
		return err
	}
	sum, err := d.deps.Blobs.Collect(ctx, func(hash string) bool { return used[hash] }, olderThan)
	if err != nil {
		return err
	}
	d.log.Info("blobs collected", "removed", sum.Blobs, "bytes", sum.Bytes, "used", len(used))
	return nil
}

// notebookRefs finds the blobs of a notebook, in its room or in its journal. One
// that is opened or closed meanwhile refers to no others than before, or to young ones.
func (d *Daemon) notebookRefs(ctx context.Context, id domain.NotebookID, add func(hash string)) error {
	if r := d.rooms.find(id); r != nil {
		err := r.BlobRefs(ctx, add)
		if domain.CodeOf(err) != domain.CodeNotebookUnavailable {
			return err
		}
	}
	if _, err := roomactor.ReadKept(d.deps, id, add); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func recordRefs(rec wire.ExecutionRecord, add func(hash string)) {
	for _, raw := range rec.Outputs {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			roomactor.ExecutionRefs([]any{v}, add)
		}
	}
}
