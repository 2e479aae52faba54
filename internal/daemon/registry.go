package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

// entry is a room, or one that is being loaded.
type entry struct {
	ready chan struct{} // closed when room or err is set
	room  *roomactor.Room
	err   error
	path  string // guarded by the registry's mu
}

// registry is the list of open rooms: by id, and by path for those that have one.
type registry struct {
	d *Daemon

	mu     sync.Mutex // guards the fields that follow; held for no IO
	rooms  map[domain.NotebookID]*entry
	paths  map[string]domain.NotebookID
	wrecks map[domain.NotebookID]roomactor.Wreck // of rooms that failed and are not loaded again yet
	faults map[domain.NotebookID][]time.Time
	closed bool
	open   sync.WaitGroup
}

func newRegistry(d *Daemon) *registry {
	return &registry{d: d, rooms: map[domain.NotebookID]*entry{}, paths: map[string]domain.NotebookID{},
		wrecks: map[domain.NotebookID]roomactor.Wreck{}, faults: map[domain.NotebookID][]time.Time{}}
}

var errStopping = domain.Errorf(domain.CodeRestarting, "The daemon is stopping.").WithHint("Try again in a moment.")

// obtain returns the room of id, loading it with load when it is not open. Those
// who come while it loads wait for the same room.
func (g *registry) obtain(ctx context.Context, id domain.NotebookID, path string, load func(ctx context.Context) (*roomactor.Room, error)) (*roomactor.Room, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, errStopping
	}
	if path != "" {
		if other, ok := g.paths[path]; ok {
			id = other
		}
	}
	e, ok := g.rooms[id]
	if !ok {
		e = &entry{ready: make(chan struct{}), path: path}
		g.rooms[id] = e
		if path != "" {
			g.paths[path] = id
		}
		g.open.Add(1)
		go g.load(id, e, load)
	}
	g.mu.Unlock()
	select {
	case <-e.ready:
		return e.room, e.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for notebook: %w", context.Cause(ctx))
	}
}

// load runs on the daemon's own time: who asked first may leave, the others still wait.
func (g *registry) load(id domain.NotebookID, e *entry, load func(ctx context.Context) (*roomactor.Room, error)) {
	defer g.open.Done()
	ctx, cancel := context.WithTimeout(g.d.ctx, loadTimeout)
	defer cancel()
	r, err := g.safely(ctx, id, load)
	g.mu.Lock()
	if err != nil {
		g.removeLocked(id, e)
	}
	e.room, e.err = r, err
	if err == nil {
		if path := r.Info().Path; path != "" && g.paths[path] == "" {
			e.path = path
			g.paths[path] = id
		}
		g.open.Add(1)
		go func() {
			defer g.open.Done()
			<-r.Gone()
		}()
	}
	close(e.ready)
	closed := g.closed
	g.mu.Unlock()
	if err == nil && closed {
		r.Close()
	}
}

// safely loads a room: from the wreck of one that failed, if there is one. A
// panic is an error of this room.
func (g *registry) safely(ctx context.Context, id domain.NotebookID, load func(ctx context.Context) (*roomactor.Room, error)) (r *roomactor.Room, err error) {
	defer func() {
		if v := recover(); v != nil {
			g.d.log.Error("loading failed", "room", string(id), "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = domain.Errorf(domain.CodeInternal, "The notebook could not be loaded: %v.", v).WithHint("Look into the daemon's log (runt daemon logs).")
		}
	}()
	if w, ok := g.wreck(id); ok {
		return roomactor.Recover(ctx, g.d.deps, w)
	}
	return load(ctx)
}

func (g *registry) removeLocked(id domain.NotebookID, e *entry) {
	if g.rooms[id] != e {
		return
	}
	delete(g.rooms, id)
	if g.paths[e.path] == id {
		delete(g.paths, e.path)
	}
}

// Forget implements roomactor.Registry.
func (g *registry) Forget(r *roomactor.Room) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.rooms[r.ID()]; e != nil && (e.room == r || e.room == nil) {
		g.removeLocked(r.ID(), e)
	}
}

// Bind implements roomactor.Registry.
func (g *registry) Bind(id domain.NotebookID, path string) (domain.NotebookID, error) {
	g.mu.Lock()
	if other, ok := g.paths[path]; ok && other != id {
		g.mu.Unlock()
		return other, domain.Errorf(domain.CodeSaveConflict, "%s is open as notebook %s.", path, other).
			WithHint("Connect to that one, or save to another path.")
	}
	if e := g.rooms[id]; e != nil {
		if g.paths[e.path] == id {
			delete(g.paths, e.path)
		}
		e.path = path
		g.paths[path] = id
	}
	g.mu.Unlock()
	g.remember(id, path)
	return "", nil
}

// remember notes the path of a notebook for the time after this daemon.
func (g *registry) remember(id domain.NotebookID, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), catalogTimeout)
	defer cancel()
	if err := g.d.catalog.Bind(ctx, id, path, g.d.deps.Now()); err != nil {
		g.d.log.Error("path not remembered", "room", string(id), "error", err)
	}
}

// Archive implements roomactor.Registry.
func (g *registry) Archive(rec wire.ExecutionRecord) {
	select {
	case g.d.records <- record{ExecutionRecord: rec}:
	case <-g.d.ctx.Done():
	}
}

// Clone implements roomactor.Registry.
func (g *registry) Clone(ctx context.Context, from *roomactor.Room, s roomactor.Snapshot) (domain.NotebookID, error) {
	id := domain.NotebookID(g.d.deps.IDs.UUID())
	cells := make([]notebook.NewCell, 0, len(s.Cells))
	for _, c := range s.Cells {
		cells = append(cells, notebook.NewCell{ID: c.ID, Type: c.Type, Source: c.Source, Metadata: c.Metadata, Attachments: c.Attachments})
	}
	dir := ""
	if p := from.Info().Path; p != "" {
		dir = filepath.Dir(p)
	}
	_, err := g.obtain(ctx, id, "", func(ctx context.Context) (*roomactor.Room, error) {
		return roomactor.Create(ctx, g.d.deps, roomactor.NewSpec{ID: id, Ephemeral: true, WorkingDir: dir, Cells: cells, Metadata: s.Metadata})
	})
	return id, err
}

// join returns the room of an id: an open one, or one from its journal or file.
// It never makes a notebook.
func (g *registry) join(ctx context.Context, id domain.NotebookID) (*roomactor.Room, error) {
	gone := domain.Errorf(domain.CodeNotebookUnavailable, "Notebook not found: %s", id).
		WithHint("List the notebooks, connect by path, or create a new one.")
	if !domain.IsUUID(string(id)) {
		return nil, gone
	}
	return g.obtain(ctx, id, "", func(ctx context.Context) (*roomactor.Room, error) {
		if roomactor.HasJournal(g.d.deps.RoomsDir, id) {
			return roomactor.Restore(ctx, g.d.deps, id, g.d.hostsOf(id))
		}
		path, err := g.d.catalog.PathOf(ctx, id)
		if err != nil {
			return nil, err
		}
		if path == "" {
			return nil, gone
		}
		return roomactor.Open(ctx, g.d.deps, id, path)
	})
}

// openPath returns the room of a file. make says whether a missing file is made.
func (g *registry) openPath(ctx context.Context, path string, spec roomactor.NewSpec, create bool) (*roomactor.Room, error) {
	id, err := g.d.catalog.IDOf(ctx, path)
	if err != nil {
		return nil, err
	}
	if id == "" {
		id = domain.NotebookID(g.d.deps.IDs.UUID())
	}
	return g.obtain(ctx, id, path, func(ctx context.Context) (*roomactor.Room, error) {
		if roomactor.HasJournal(g.d.deps.RoomsDir, id) {
			r, err := roomactor.Restore(ctx, g.d.deps, id, g.d.hostsOf(id))
			if err == nil {
				return r, nil
			}
			return nil, err
		}
		r, err := roomactor.Open(ctx, g.d.deps, id, path)
		if create && errors.Is(err, os.ErrNotExist) {
			spec.ID, spec.Path = id, path
			r, err = roomactor.Create(ctx, g.d.deps, spec)
		}
		if err == nil {
			g.remember(id, path)
		}
		return r, err
	})
}

// list returns what is open.
func (g *registry) list() []roomactor.Info {
	g.mu.Lock()
	rooms := make([]*roomactor.Room, 0, len(g.rooms))
	for _, e := range g.rooms {
		if e.room != nil {
			rooms = append(rooms, e.room)
		}
	}
	g.mu.Unlock()
	out := make([]roomactor.Info, len(rooms))
	for i, r := range rooms {
		out[i] = r.Info()
	}
	return out
}

// find returns an open room.
func (g *registry) find(id domain.NotebookID) *roomactor.Room {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.rooms[id]; e != nil {
		return e.room
	}
	return nil
}

// close ends every room and waits for them. flush says whether files are saved first.
func (g *registry) close(ctx context.Context) {
	g.mu.Lock()
	g.closed = true
	var rooms []*roomactor.Room
	for _, e := range g.rooms {
		if e.room != nil {
			rooms = append(rooms, e.room)
		}
	}
	g.mu.Unlock()
	var wg sync.WaitGroup
	for _, r := range rooms {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.Flush(ctx)
			r.Close()
		}()
	}
	wg.Wait()
	g.open.Wait()
}
