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
	sort.Slice(hosts, func(a, b int) bool { return hosts[a].CreatedAt.After(hosts[b].CreatedAt) })
	byRoom := map[domain.NotebookID][]kernel.Manifest{}
	for _, m := range hosts {
		id := domain.NotebookID(m.RoomID)
		if !domain.IsUUID(m.RoomID) || !roomactor.HasJournal(d.deps.RoomsDir, id) {
			d.reap(m, m.Dir)
			continue
		}
		byRoom[id] = append(byRoom[id], m)
	}
	var wg sync.WaitGroup
	for id, ms := range byRoom {
		wg.Add(1)
		go func() {
			defer wg.Done()
			d.takeBack(id, ms)
		}()
	}
	wg.Wait()
}

// takeBack loads a room with the hosts that were found for it, the newest first.
func (d *Daemon) takeBack(id domain.NotebookID, hosts []kernel.Manifest) {
	ctx, cancel := context.WithTimeout(d.ctx, takeBackTimeout)
	defer cancel()
	d.mu.Lock()
	for _, m := range hosts {
		d.hosts[id] = append(d.hosts[id], m.Dir)
	}
	d.mu.Unlock()
	if _, err := d.rooms.join(ctx, id); err != nil {
		d.log.Error("room of a running kernel not loaded", "room", string(id), "error", err)
		for _, m := range hosts {
			d.reap(m, m.Dir)
		}
	}
}

// hostsOf returns, once, the hosts that outlived an earlier daemon for a room.
func (d *Daemon) hostsOf(id domain.NotebookID) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	dirs := d.hosts[id]
	delete(d.hosts, id)
	return dirs
}

func (d *Daemon) reap(m kernel.Manifest, dir string) {
	d.log.Warn("kernel host reaped", "dir", dir, "room", m.RoomID)
	if err := kernel.Reap(m); err != nil {
		d.log.Error("kernel host not reaped", "dir", dir, "error", err)
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		d.log.Warn("folder of a kernel host not removed", "dir", dir, "error", err)
	}
}

// dropHostDir removes the folder of a host that never came up.
func (d *Daemon) dropHostDir(dir string, cause error) {
	d.log.Debug("folder without a kernel host", "dir", dir, "cause", cause)
	if err := os.RemoveAll(dir); err != nil {
		d.log.Warn("folder of a kernel host not removed", "dir", dir, "error", err)
	}
}
