package roomactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"runt/internal/domain"
	"runt/internal/ipynb"
	"runt/internal/journal"
	"runt/internal/kernel"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
)

// Files in the folder of a room.
const (
	journalFile = "journal"
	baseFile    = "base.ipynb" // the notebook file as last read or written
)

// compactAt is the size of a journal above which it is rewritten from its
// documents, unless those alone are larger than half of it.
const compactAt = 8 << 20

func (r *Room) dir() string { return filepath.Join(r.deps.RoomsDir, string(r.id)) }

// HasJournal says whether a notebook of that id is kept in the state folder.
func HasJournal(roomsDir string, id domain.NotebookID) bool {
	_, err := os.Stat(filepath.Join(roomsDir, string(id), journalFile))
	return err == nil
}

func (r *Room) journalOptions() journal.Options {
	return journal.Options{
		OnDurable: func(uint64) {
			select {
			case r.durable <- struct{}{}:
			default:
			}
		},
		OnError: func(err error) { r.log.Error("journal not written", "error", err) },
	}
}

func (r *Room) openJournal() error {
	if err := os.MkdirAll(r.dir(), 0o700); err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "The state folder cannot be written: %w", err).WithHint("Check its permissions.")
	}
	j, _, err := journal.Open(filepath.Join(r.dir(), journalFile), r.journalOptions())
	if err != nil {
		return domain.Errorf(domain.CodeSaveFailed, "The journal of notebook %s cannot be opened: %w", r.id, err).
			WithHint("Run runt doctor.")
	}
	r.journal = j
	if err := r.writeBase(); err != nil {
		r.log.Warn("last saved version not kept", "error", err)
	}
	return nil
}

func (r *Room) closeJournal() {
	if r.journal == nil {
		return
	}
	if err := r.journal.Close(); err != nil {
		r.log.Error("journal not closed", "error", err)
	}
}

// fullRecords returns the records that say everything about the room.
func (r *Room) fullRecords() []journal.Record {
	recs := []journal.Record{{Type: recMeta, Data: r.meta().encode()}}
	for i, d := range r.docs {
		b, err := d.engine.Save()
		if err != nil {
			r.log.Error("document not saved", "doc", i, "error", err)
			return nil
		}
		recs = append(recs, journal.Record{Type: recNotebookSave + byte(i), Data: b})
	}
	if r.host != nil {
		recs = append(recs, r.host.progressRecord(r.core.HostSeq()))
	}
	return recs
}

// forgetJournal removes what is kept of a room that closes when its file has everything.
func (r *Room) forgetJournal() {
	if r.journal == nil || r.kind != FileBacked || r.core.Status().Dirty {
		return
	}
	r.closeJournal()
	if err := os.RemoveAll(r.dir()); err != nil {
		r.log.Warn("journal not removed", "error", err)
	}
}

// recovered is what a journal says.
type recovered struct {
	meta  roomMeta
	docs  [numDocs][]byte
	host  hostProgress
	found bool
}

func readRecords(recs []journal.Record) (recovered, error) {
	var out recovered
	for _, rec := range recs {
		switch {
		case rec.Type == recMeta:
			if err := json.Unmarshal(rec.Data, &out.meta); err != nil {
				return out, fmt.Errorf("decode room record: %w", err)
			}
			out.found = true
		case rec.Type == recHostSeq:
			if err := json.Unmarshal(rec.Data, &out.host); err != nil {
				return out, fmt.Errorf("decode host record: %w", err)
			}
		case rec.Type >= recNotebookSave && rec.Type < recNotebookSave+numDocs:
			out.docs[rec.Type-recNotebookSave] = rec.Data
		case rec.Type >= recNotebookChanges && rec.Type < recNotebookChanges+numDocs:
			i := rec.Type - recNotebookChanges
			out.docs[i] = append(out.docs[i][:len(out.docs[i]):len(out.docs[i])], rec.Data...)
		}
	}
	return out, nil
}

// Restore makes the room of a notebook from its journal. adopt is the folder of
// a kernel host that still runs for it, or "".
func Restore(ctx context.Context, deps Deps, id domain.NotebookID, adopt string) (*Room, error) {
	r := newRoom(deps, id)
	j, rec, err := journal.Open(filepath.Join(r.dir(), journalFile), r.journalOptions())
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "The journal of notebook %s cannot be read: %w", id, err).
			WithHint("Run runt doctor; nothing was changed.")
	}
	r.journal = j
	state, err := readRecords(rec.Records)
	if err == nil && !state.found {
		err = errors.New("it has no room record")
	}
	if err == nil {
		err = r.loadDocs(state)
	}
	if err != nil {
		r.cancel(errGone)
		r.closeJournal()
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "The journal of notebook %s cannot be used: %w", id, err).
			WithHint("Run runt doctor; nothing was changed.")
	}
	if rec.Torn || rec.Corrupt != "" {
		r.log.Warn("journal was damaged", "torn", rec.Torn, "kept", rec.Corrupt)
	}
	r.restoreFile(state.meta)
	r.restoreExecutions()
	r.restoreKernel(ctx, state, adopt)
	return r, nil
}

func (r *Room) loadDocs(s recovered) error {
	r.path, r.kind, r.workingDir, r.kernelName = s.meta.Path, s.meta.Kind, s.meta.WorkingDir, s.meta.KernelName
	shard, err := r.deps.Engine.NewShard()
	if err != nil {
		return fmt.Errorf("place room: %w", err)
	}
	r.shard = shard
	nb, err1 := notebook.Load(shard, s.docs[docNotebook], r.docActor(""))
	rs, err2 := runtimestate.Load(shard, s.docs[docRuntime], r.docActor("state:"))
	comms, err3 := shard.Load(s.docs[docComms], r.docActor("comms:"))
	comments, err4 := shard.Load(s.docs[docComments], r.docActor("comments:"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		shard.Close()
		return err
	}
	r.setDocs(nb, rs, comms, comments)
	return nil
}

// restoreFile reads the version of the file that the documents were last equal to.
func (r *Room) restoreFile(m roomMeta) {
	if r.kind != FileBacked {
		return
	}
	r.file.hash = m.FileHash
	data, err := os.ReadFile(filepath.Join(r.dir(), baseFile))
	if err != nil {
		r.log.Warn("last saved version not found", "error", err)
		return
	}
	if base, err := ipynb.Parse(data, nil); err == nil {
		r.file.base, r.file.known = base, true
	}
}

func (r *Room) restoreExecutions() {
	latest := map[domain.CellID]domain.ExecutionID{}
	for _, c := range r.nb.Cells() {
		if c.ExecutionID != "" {
			latest[c.ID] = domain.ExecutionID(c.ExecutionID)
		}
	}
	var execs []room.Execution
	for _, x := range r.rs.Executions() {
		execs = append(execs, room.Execution{ID: domain.ExecutionID(x.ID), Cell: domain.CellID(x.CellID), Status: x.Status,
			Source: x.Source, Submitter: x.Submitter, Count: x.Count, Success: x.Success, Seq: x.Seq, Outputs: x.Outputs, Created: r.deps.Now()})
	}
	_, queued := r.rs.Queue()
	ids := make([]domain.ExecutionID, len(queued))
	for i, q := range queued {
		ids[i] = domain.ExecutionID(q)
	}
	r.core.Restore(execs, latest, ids)
}

// restoreKernel adopts the host that still runs for the room, or ends what the
// lost kernel was running, and starts the actor.
func (r *Room) restoreKernel(ctx context.Context, s recovered, adopt string) {
	var host *kernel.Host
	if adopt != "" {
		from := uint64(0)
		if s.host.Dir == adopt {
			from = s.host.Seq
		}
		var err error
		if host, err = kernel.Adopt(ctx, adopt, from, r.log); err != nil {
			r.log.Warn("kernel host not adopted", "dir", adopt, "error", err)
			host = nil
		}
	}
	executing, _ := r.rs.Queue()
	hadKernel := r.rs.Kernel().Lifecycle
	r.goLive(false)
	r.post(func() {
		if host != nil {
			r.adopted(host, adopt, domain.ExecutionID(executing))
			return
		}
		for _, e := range r.core.AbandonUnfinished(r.deps.Now(), "The kernel was lost while the daemon was down.", "Run the cell again.") {
			r.perform(e)
		}
		if hadKernel != room.NotStarted && hadKernel != room.Shutdown {
			r.handle(room.LaunchRequested{Automatic: true})
		}
	})
}

// adopted takes over a host. Its events follow from where the documents end.
func (r *Room) adopted(host *kernel.Host, dir string, executing domain.ExecutionID) {
	m, err := kernel.ReadManifest(dir)
	if err != nil {
		r.log.Warn("manifest of a kernel host not read", "dir", dir, "error", err)
	}
	ready := host.Welcome().Phase == "ready"
	r.handle(room.HostAdopted{Kernel: kernelInfo(m.KernelName, m.Language, m.EnvSource),
		Running: executing, Ready: ready})
	r.hold(&hostHandle{room: r, host: host, dir: dir, generation: r.core.Generation(), done: make(chan struct{})})
	r.log.Info("kernel host adopted", "dir", dir, "execution", string(executing), "ready", ready)
}
