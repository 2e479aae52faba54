package daemon

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"runt/internal/domain"
	"runt/internal/kernel"
	"runt/internal/roomactor"
)

// takeBackKernels loads the rooms whose kernels outlived an earlier daemon and
// ends the hosts that no room can have. It is done before the socket listens, so
// that whoever joins finds the room whole.
func (d *Daemon) takeBackKernels() {
	dirs, err := filepath.Glob(filepath.Join(d.hostsDir(), "*"))
	if err != nil {
		d.log.Error("kernel hosts not listed", "error", err)
		return
	}
	var hosts []kernel.Manifest
	for _, dir := range dirs {
		m, err := kernel.ReadManifest(dir)
		if err != nil {
			d.dropHostDir(dir, err)
			continue
		}
		m.Dir = dir
		hosts = append(hosts, m)
	}
	// Of two hosts of one room the older one was about to end.
	sort.Slice(hosts, func(a, b int) bool { return hosts[a].CreatedAt.After(hosts[b].CreatedAt) })
	var wg sync.WaitGroup
	for _, m := range hosts {
		dir := m.Dir
		id := domain.NotebookID(m.RoomID)
		if !domain.IsUUID(m.RoomID) || !roomactor.HasJournal(d.deps.RoomsDir, id) || !d.claimHost(id, dir) {
			d.reap(m, dir)
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			d.takeBack(id, m, dir)
		}()
	}
	wg.Wait()
}

func (d *Daemon) takeBack(id domain.NotebookID, m kernel.Manifest, dir string) {
	ctx, cancel := context.WithTimeout(d.ctx, takeBackTimeout)
	defer cancel()
	r, err := d.rooms.join(ctx, id)
	if err != nil {
		d.log.Error("room of a running kernel not loaded", "room", string(id), "error", err)
		d.reap(m, dir)
		return
	}
	if path := r.Info().Path; path != "" {
		if _, err := d.rooms.Bind(id, path); err != nil {
			d.log.Error("path of a room not bound", "room", string(id), "error", err)
		}
	}
}

// claimHost notes the host of a room; a room has only one.
func (d *Daemon) claimHost(id domain.NotebookID, dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := d.hosts[id]; taken {
		return false
	}
	d.hosts[id] = dir
	return true
}

// hostOf returns, once, the host that outlived an earlier daemon for a room.
func (d *Daemon) hostOf(id domain.NotebookID) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.hosts[id]
	if dir != "" {
		d.hosts[id] = ""
	}
	return dir
}

func (d *Daemon) reap(m kernel.Manifest, dir string) {
	d.log.Warn("kernel host reaped", "dir", dir, "room", m.RoomID)
	if err := kernel.Reap(m); err != nil {
		d.log.Error("kernel host not reaped", "dir", dir, "error", err)
	}
}

// dropHostDir removes the folder of a host that never came up.
func (d *Daemon) dropHostDir(dir string, cause error) {
	d.log.Debug("folder without a kernel host", "dir", dir, "cause", cause)
	if err := os.RemoveAll(dir); err != nil {
		d.log.Warn("folder of a kernel host not removed", "dir", dir, "error", err)
	}
}
