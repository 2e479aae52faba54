package roomactor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runt/internal/domain"
	"runt/internal/journal"
)

// Kept describes a notebook that is not open and whose journal is in the state folder.
type Kept struct {
	ID      domain.NotebookID
	Path    string // of its file, which lacks something; "" for an untitled notebook
	Cells   int
	Title   string // the first line that says something
	Bytes   int64
	Changed time.Time
	Issue   string // why it cannot be read; "" when it can
}

// titleLength is how much of a line is shown of a notebook without a name.
const titleLength = 60

// ReadKept looks at the journal of a notebook that is not open, and changes
// nothing. refs, when not nil, is called with the blobs that it refers to; then
// a journal that cannot be read is an error.
func ReadKept(deps Deps, id domain.NotebookID, refs func(hash string)) (Kept, error) {
	k := Kept{ID: id}
	path := filepath.Join(deps.RoomsDir, string(id), journalFile)
	info, err := os.Stat(path)
	if err != nil {
		return k, fmt.Errorf("look at journal: %w", err)
	}
	k.Bytes, k.Changed = info.Size(), info.ModTime()
	r := newRoom(deps, id)
	defer r.cancel(errGone)
	if err := r.readKept(path); err != nil {
		k.Issue = err.Error()
		if refs == nil {
			err = nil
		}
		return k, err
	}
	defer r.shard.Close()
	k.Path, k.Cells = r.path, r.nb.Len()
	for _, c := range r.nb.Cells() {
		if line, _, _ := strings.Cut(strings.TrimSpace(c.Source), "\n"); line != "" && k.Title == "" {
			k.Title = cutTitle(line)
		}
	}
	if refs != nil {
		r.documentRefs(refs)
	}
	return k, nil
}

func (r *Room) readKept(path string) error {
	rec, err := journal.Check(path)
	if err != nil {
		return err
	}
	state, err := readRecords(rec.Records)
	if err != nil {
		return err
	}
	if !state.found {
		return fmt.Errorf("journal of notebook %s has no room record", r.id)
	}
	return r.loadDocs(state)
}

func cutTitle(line string) string {
	runes := []rune(line)
	if len(runes) <= titleLength {
		return line
	}
	return string(runes[:titleLength-1]) + "…"
}

// DeleteKept removes what is kept of a notebook that is not open.
func DeleteKept(roomsDir string, id domain.NotebookID) error {
	return os.RemoveAll(filepath.Join(roomsDir, string(id)))
}
