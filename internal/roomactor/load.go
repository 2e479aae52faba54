package roomactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"runt/internal/domain"
	"runt/internal/ipynb"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/runtimestate"
	"runt/internal/sidedocs"
)

// MaxFileSize is the largest notebook file that is opened, in bytes.
const MaxFileSize = 512 << 20

// NewSpec describes a notebook to be made.
type NewSpec struct {
	ID           domain.NotebookID
	Path         string // file to make, "" for none
	WorkingDir   string
	Ephemeral    bool
	KernelName   string // kernelspec; "" for the language's usual one
	Language     string // "python" when empty
	DisplayName  string // of the kernelspec
	Dependencies []string
	Cells        []notebook.NewCell // one empty code cell when nil
	Metadata     map[string]any     // on top of what the kernel says
	NoKernel     bool               // do not start one by itself
}

// Create makes a notebook and its room.
func Create(ctx context.Context, deps Deps, spec NewSpec) (*Room, error) {
	r := newRoom(deps, spec.ID)
	r.workingDir, r.kernelName, r.path = spec.WorkingDir, spec.KernelName, spec.Path
	r.kind, r.made = Untitled, true
	switch {
	case spec.Ephemeral:
		r.kind = Ephemeral
	case spec.Path != "":
		r.kind = FileBacked
	}
	if spec.Language == "" {
		spec.Language = "python"
	}
	if err := r.makeDocs(); err != nil {
		return nil, err
	}
	if err := r.fillNew(spec); err != nil {
		r.abandon()
		return nil, err
	}
	return r.begin(ctx, !spec.NoKernel)
}

func (r *Room) fillNew(spec NewSpec) error {
	cells := spec.Cells
	if cells == nil {
		cells = []notebook.NewCell{{ID: domain.CellID(r.deps.IDs.UUID()), Type: "code"}}
	}
	md := ipynb.NewNotebook(spec.Language, spec.KernelName, spec.DisplayName).Metadata
	for k, v := range spec.Metadata {
		md[k] = v
	}
	if len(spec.Dependencies) > 0 {
		deps := make([]any, len(spec.Dependencies))
		for i, d := range spec.Dependencies {
			deps[i] = d
		}
		md["runt"] = map[string]any{"schema_version": "1", "env_id": string(r.id), "uv": map[string]any{"dependencies": deps}}
	}
	_, err := r.nb.Edit(func(tx *notebook.Tx) error {
		tx.SetIdentity(r.id)
		for k, v := range md {
			if err := tx.SetMetadata(k, v); err != nil {
				return err
			}
		}
		for _, c := range cells {
			if err := tx.AddCell(c, notebook.Last); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("fill notebook: %w", err)
	}
	return r.fillRuntime()
}

func (r *Room) fillRuntime() error {
	_, err := r.rs.Edit(func(tx *runtimestate.Tx) error {
		if err := tx.SetIdentity(r.id); err != nil {
			return err
		}
		if err := tx.SetPath(r.path); err != nil {
			return err
		}
		return tx.SetTrust("trusted", false)
	})
	if err != nil {
		return fmt.Errorf("fill runtime state: %w", err)
	}
	return nil
}

// makeDocs makes the four documents from their genesis.
func (r *Room) makeDocs() error {
	shard, err := r.deps.Engine.NewShard()
	if err != nil {
		return fmt.Errorf("place room: %w", err)
	}
	r.shard = shard
	nb, err1 := notebook.New(shard, r.docActor(""))
	rs, err2 := runtimestate.New(shard, r.docActor("state:"))
	comms, err3 := sidedocs.Comms(shard, r.docActor("comms:"))
	comments, err4 := sidedocs.Comments(shard, r.docActor("comments:"))
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		shard.Close()
		return fmt.Errorf("make documents: %w", err)
	}
	r.setDocs(nb, rs, comms, comments)
	return nil
}

// docActor names the daemon as the author of changes. It is another actor at
// every load: a change that was sent but not yet on disk when an earlier daemon
// died must never share its number with a new one.
func (r *Room) docActor(what string) string {
	return "runtimed:" + what + r.deps.IDs.UUID()[:12]
}

// Open makes the room of a notebook file. id is the one the path had before, or a new one.
func Open(ctx context.Context, deps Deps, id domain.NotebookID, path string) (*Room, error) {
	data, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	r := newRoom(deps, id)
	r.path, r.kind = path, FileBacked
	if err := r.makeDocs(); err != nil {
		return nil, err
	}
	if err := r.fillFromFile(file); err != nil {
		r.abandon()
		return nil, err
	}
	r.file = fileState{base: file, hash: hashBytes(data), known: true}
	return r.begin(ctx, true)
}

func parse(path string, data []byte) (*ipynb.File, error) {
	file, err := ipynb.Parse(data, nil)
	var de *domain.Error
	if errors.As(err, &de) {
		named := *de
		named.Message = path + ": " + de.Message
		return nil, &named
	}
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	return file, nil
}

// ReadFile reads a notebook file, with errors that say what to do.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, domain.Errorf(domain.CodeNotebookUnavailable, "There is no file %s: %w", path, err).
			WithHint("Check the path, or make the notebook with create_notebook.")
	case err != nil:
		return nil, domain.Errorf(domain.CodeFileUnreadable, "Cannot look at %s: %w", path, err).WithHint("Check the path and its permissions.")
	case info.IsDir():
		return nil, domain.Errorf(domain.CodeFileUnreadable, "%s is a folder, not a notebook.", path).WithHint("Name a .ipynb file in it.")
	case info.Size() > MaxFileSize:
		return nil, domain.Errorf(domain.CodeFileUnreadable, "%s has %d bytes; the limit is %d.", path, info.Size(), MaxFileSize).
			WithHint("Clear its outputs with another tool first.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, domain.Errorf(domain.CodeFileUnreadable, "Cannot read %s: %w", path, err).WithHint("Check its permissions.")
	}
	return data, nil
}

// fillFromFile writes cells and metadata of a file into the documents.
func (r *Room) fillFromFile(file *ipynb.File) error {
	latest := map[domain.CellID]domain.ExecutionID{}
	var list []room.Execution
	for first, cells := range batches(file.Cells) {
		_, err := r.nb.Edit(func(tx *notebook.Tx) error {
			if first == 0 {
				if err := fillHead(tx, r.id, file.Metadata); err != nil {
					return err
				}
			}
			for _, c := range cells {
				nc := newCell(c)
				if x, ok := r.loadedExecution(c, uint64(len(list))); ok {
					nc.ExecutionID, latest[nc.ID] = string(x.ID), x.ID
					list = append(list, x)
				}
				if err := tx.AddCell(nc, notebook.Last); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("fill notebook: %w", err)
		}
	}
	if err := r.fillRuntime(); err != nil {
		return err
	}
	_, err := r.rs.Edit(func(tx *runtimestate.Tx) error {
		for _, x := range list {
			if err := tx.PutExecution(runtimeExecution(x)); err != nil {
				return err
			}
		}
		return nil
	})
	r.core.Restore(room.Restored{Executions: list, Latest: latest, Kernel: r.rs.Kernel()})
	return err
}

// batchSize is how many characters of source one change of the document gets. A
// character is an operation, and a change must not have too many of them.
const batchSize = 1 << 20

// batches cuts cells into runs of at most batchSize characters, or one larger
// cell, with the index of the first. There is at least one run, which may be empty.
func batches(cells []ipynb.Cell) iter.Seq2[int, []ipynb.Cell] {
	return func(yield func(int, []ipynb.Cell) bool) {
		first, size := 0, 0
		for i, c := range cells {
			if i > first && size+len(c.Source) > batchSize {
				if !yield(first, cells[first:i]) {
					return
				}
				first, size = i, 0
			}
			size += len(c.Source)
		}
		yield(first, cells[first:])
	}
}

func fillHead(tx *notebook.Tx, id domain.NotebookID, metadata map[string]any) error {
	tx.SetIdentity(id)
	for k, v := range metadata {
		if err := tx.SetMetadata(k, v); err != nil {
			return err
		}
	}
	return nil
}

func runtimeExecution(x room.Execution) runtimestate.Execution {
	return runtimestate.Execution{ID: string(x.ID), CellID: string(x.Cell), Status: x.Status, Source: x.Source,
		Submitter: x.Submitter, Count: x.Count, Success: x.Success, Seq: x.Seq, Outputs: x.Outputs}
}

func newCell(c ipynb.Cell) notebook.NewCell {
	count := "null"
	if c.ExecutionCount != nil {
		count = fmt.Sprint(*c.ExecutionCount)
	}
	return notebook.NewCell{ID: domain.CellID(c.ID), Type: c.Type, Source: c.Source, Metadata: c.Metadata,
		Attachments: c.Attachments, ExecutionCount: count}
}

// loadedExecution makes the execution that stands for the outputs of a cell in a file.
func (r *Room) loadedExecution(c ipynb.Cell, seq uint64) (room.Execution, bool) {
	if c.Type != ipynb.TypeCode || len(c.Outputs) == 0 && c.ExecutionCount == nil {
		return room.Execution{}, false
	}
	ok := true
	x := room.Execution{ID: domain.ExecutionID(r.deps.IDs.UUID()), Cell: domain.CellID(c.ID), Source: c.Source, Count: c.ExecutionCount,
		Success: &ok, Seq: seq, Status: "done", Created: r.deps.Now(), Ended: r.deps.Now()}
	for i, o := range c.Outputs {
		m := room.OutputManifest(o.Value, r.deps.Config.InlineText, func(b []byte, mt string) { r.putBlob(room.PutBlob{Data: b, MediaType: mt}) })
		id := r.deps.IDs.UUID()
		m["output_id"] = id
		x.Outputs = append(x.Outputs, runtimestate.Output{ID: id, Seq: uint64(i), Manifest: m})
		if o.Value["output_type"] == "error" {
			ok, x.Status = false, "error"
		}
	}
	return x, true
}

// begin opens the journal of a room whose documents are filled and starts its actor.
func (r *Room) begin(ctx context.Context, kernel bool) (*Room, error) {
	if r.kind != Ephemeral {
		if err := r.openJournal(); err != nil {
			r.abandon()
			return nil, err
		}
		pos := r.journal.Rewrite(r.fullRecords())
		if err := r.journal.Wait(ctx, pos); err != nil {
			r.closeJournal()
			r.abandon()
			return nil, domain.Errorf(domain.CodeSaveFailed, "The journal of the notebook cannot be written: %w", err).
				WithHint("Make room on the disk that holds the state folder.")
		}
	}
	r.goLive(kernel)
	return r, nil
}

// goLive starts the actor.
func (r *Room) goLive(kernel bool) {
	for _, id := range r.nb.Order() {
		r.cells[id] = true
	}
	if r.kind == FileBacked {
		r.core.BindFile()
		r.watch()
	}
	r.publishInfo()
	go r.run()
	r.post(func() {
		r.chooseKernel("")
		if kernel {
			r.handle(room.LaunchRequested{Automatic: true})
		}
		r.handle(room.Unattended{})
		if r.kind == FileBacked && r.made {
			r.handle(room.SaveRequested{})
			return
		}
		r.checkDisk()
	})
}

// abandon frees a room whose actor never ran.
func (r *Room) abandon() {
	r.cancel(errGone)
	r.closeJournal()
	r.shard.Close()
	close(r.gone)
}

// roomMeta is what the journal says about a room besides its documents.
type roomMeta struct {
	ID         string    `json:"id"`
	Path       string    `json:"path,omitempty"`
	Kind       Kind      `json:"kind"`
	WorkingDir string    `json:"working_dir,omitempty"`
	KernelName string    `json:"kernel_name,omitempty"`
	FileHash   string    `json:"file_hash,omitempty"` // of the file as last read or written
	At         time.Time `json:"at"`
}

func (r *Room) meta() roomMeta {
	return roomMeta{ID: string(r.id), Path: r.path, Kind: r.kind, WorkingDir: r.workingDir, KernelName: r.kernelName,
		FileHash: r.file.hash, At: r.deps.Now().UTC()}
}

func (m roomMeta) encode() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("roomactor: room meta: %v", err)) // plain fields always encode
	}
	return b
}

// hasNotebookSuffix says whether a path looks like a notebook file.
func hasNotebookSuffix(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".ipynb") }
