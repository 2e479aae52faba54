package journal

import (
	"fmt"
	"os"
	"path/filepath"
)

// run writes what is queued whenever it is woken, until the journal is closed.
func (j *Journal) run() {
	defer close(j.done)
	for range j.kick {
		j.mu.Lock()
		batch := append([]entry(nil), j.queue...)
		closing := j.closed
		j.mu.Unlock()
		if len(batch) > 0 {
			j.attempt(batch)
		}
		if closing {
			j.shut()
			return
		}
	}
}

// shut closes the file after the last attempt.
func (j *Journal) shut() {
	err := j.file.Close()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil && err != nil {
		j.err = fmt.Errorf("close journal: %w", err)
	}
}

// attempt writes a batch, which is the beginning of the queue, and tells
// everybody how it went.
func (j *Journal) attempt(batch []entry) {
	last := batch[len(batch)-1].pos
	written := len(batch)
	batch = j.compact(batch)
	end, err := j.write(batch)
	var queued int64
	j.mu.Lock()
	j.attempts++
	j.err = err
	if err == nil {
		j.durable = last
		j.queue = append([]entry(nil), j.queue[written:]...)
		j.end = end
	} else {
		j.covered = last
		j.queue = append(batch, j.queue[written:]...)
	}
	for _, e := range j.queue {
		queued += e.record.size()
	}
	j.size = j.end + queued
	close(j.changed)
	j.changed = make(chan struct{})
	j.mu.Unlock()
	switch {
	case err != nil && j.options.OnError != nil:
		j.options.OnError(err)
	case err == nil && j.options.OnDurable != nil:
		j.options.OnDurable(last)
	}
}

// write puts a batch after the end of the log and returns the new end. When it
// fails, the file ends where it ended before, as far as the disk allows.
func (j *Journal) write(batch []entry) (int64, error) {
	end := j.end
	var buf []byte
	if end == 0 {
		buf = appendHeader(buf, Version)
	}
	for _, e := range batch {
		if e.done {
			continue
		}
		var err error
		if buf, err = appendRecord(buf, e.record); err != nil {
			return end, fmt.Errorf("append to journal: %w", err)
		}
	}
	if err := j.put(buf, end); err != nil {
		_ = j.step(StepTruncate, func() error { return j.file.Truncate(end) })
		return end, err
	}
	return end + int64(len(buf)), nil
}

// put writes b at an offset and waits until it is on disk.
func (j *Journal) put(b []byte, offset int64) error {
	if len(b) > 0 {
		err := j.step(StepWrite, func() error { _, err := j.file.WriteAt(b, offset); return err })
		if err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
		if err := j.step(StepSync, func() error { return syncData(j.file) }); err != nil {
			return fmt.Errorf("sync journal: %w", err)
		}
	}
	if !j.dirSynced {
		if err := j.step(StepSyncDir, func() error { return syncDir(filepath.Dir(j.path)) }); err != nil {
			return fmt.Errorf("sync journal folder: %w", err)
		}
		j.dirSynced = true
	}
	return nil
}

// step performs one step on the disk, unless a test makes it fail.
func (j *Journal) step(name string, do func() error) error {
	if j.options.Fail != nil {
		if err := j.options.Fail(name); err != nil {
			return err
		}
	}
	return do()
}

// compact performs the last replacement of a batch. When it succeeds the
// entries before it need not be written any more; when it fails they are
// written to the old file.
func (j *Journal) compact(batch []entry) []entry {
	at := -1
	for i, e := range batch {
		if e.rewrite != nil {
			at = i
		}
	}
	if at < 0 {
		return batch
	}
	err := j.replace(batch[at].rewrite)
	if err != nil && j.options.OnError != nil {
		j.options.OnError(err)
	}
	rest := make([]entry, 0, len(batch))
	for i, e := range batch {
		switch {
		case e.rewrite != nil && (err != nil || i == at):
			rest = append(rest, entry{pos: e.pos, done: true})
		case i < at && err == nil: // its meaning is in the new file
		default:
			rest = append(rest, e)
		}
	}
	return rest
}

// replace puts a new file with these records in the place of the old one.
func (j *Journal) replace(records []Record) error {
	buf := appendHeader(nil, Version)
	var err error
	for _, r := range records {
		if buf, err = appendRecord(buf, r); err != nil {
			return fmt.Errorf("rewrite journal: %w", err)
		}
	}
	f, err := j.createNew(buf)
	if err != nil {
		return fmt.Errorf("rewrite journal: %w", err)
	}
	if err := j.step(StepRename, func() error { return os.Rename(f.Name(), j.path) }); err != nil {
		return fmt.Errorf("rewrite journal: %w", discard(f, err))
	}
	_ = j.file.Close() // its content is in the new file
	j.file, j.dirSynced = f, false
	j.end = int64(len(buf))
	return nil
}

// createNew writes a file beside the journal and syncs it.
func (j *Journal) createNew(b []byte) (*os.File, error) {
	var f *os.File
	err := j.step(StepCreate, func() (err error) {
		f, err = os.OpenFile(j.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := j.step(StepWrite, func() error { _, err := f.Write(b); return err }); err != nil {
		return nil, discard(f, err)
	}
	if err := j.step(StepSync, func() error { return syncData(f) }); err != nil {
		return nil, discard(f, err)
	}
	return f, nil
}

// discard removes a file that could not be finished and returns the reason.
func discard(f *os.File, reason error) error {
	_ = f.Close()
	_ = os.Remove(f.Name())
	return reason
}
