package roomactor

import (
	"context"
	"os"
	"slices"
	"time"

	"runt/internal/domain"
	"runt/internal/kernel"
	"runt/internal/room"
)

// catchUpLimit bounds the replay of what a host kept for the next daemon.
const catchUpLimit = 30 * time.Second

// adoption is a host that was taken over, and what it has to say of the time before.
type adoption struct {
	host    *kernel.Host
	dir     string
	seq     uint64 // the last event that is in the documents
	backlog []kernel.Event
	known   map[domain.ExecutionID]bool // executions that it accepted in that time
}

// restoreKernel adopts the host that still runs for the room, or ends what the
// lost kernel was running, and starts the actor.
func (r *Room) restoreKernel(ctx context.Context, s recovered, hosts []string) {
	found := s.host != "" || s.left != "" || len(hosts) > 0
	a := r.adopt(ctx, s, r.choose(s, hosts))
	hadKernel := r.rs.Kernel().Lifecycle
	r.hostDir = s.host
	r.goLive(false)
	r.post(func() {
		if a == nil || s.host != "" && s.host != a.dir {
			lost := room.HostLost{Reason: "The kernel was lost while the daemon was down.", Hint: "Run the cell again.", Unstarted: !found}
			if a != nil {
				lost.Known = a.known
			}
			r.handle(lost)
		}
		switch {
		case a != nil:
			r.adopted(a)
		case hadKernel != room.NotStarted && hadKernel != room.Shutdown || r.core.Busy():
			r.handle(room.LaunchRequested{Automatic: true})
		}
		if r.kind == FileBacked {
			r.handle(room.DocumentChanged{}) // whether the file has everything is not known
		}
	})
}

// choose returns which host the room goes on with: the one that the journal
// names, unless it was given up, else the newest, which had no time to be noted. The others are ended.
func (r *Room) choose(s recovered, hosts []string) string {
	chosen := ""
	lifecycle := r.rs.Kernel().Lifecycle
	switch {
	case s.host != "" && slices.Contains(hosts, s.host):
		if lifecycle == room.Launching || lifecycle == room.Running {
			chosen = s.host
		}
	case len(hosts) > 0 && hosts[0] != s.left:
		chosen = hosts[0]
	}
	for _, dir := range hosts {
		if dir != chosen {
			r.reap(dir)
		}
	}
	return chosen
}

// adopt connects to a host and hears what it has to say. One that cannot be reached is ended.
func (r *Room) adopt(ctx context.Context, s recovered, dir string) *adoption {
	if dir == "" {
		return nil
	}
	a := &adoption{dir: dir, known: map[domain.ExecutionID]bool{}}
	if s.host == dir {
		a.seq = s.seq
	}
	var err error
	if a.host, err = kernel.Adopt(ctx, dir, a.seq, r.log); err != nil {
		r.log.Warn("kernel host not adopted", "dir", dir, "error", err)
		r.reap(dir)
		return nil
	}
	a.catchUp(ctx)
	return a
}

// catchUp collects the events of the time before.
func (a *adoption) catchUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	last := a.host.Welcome().Last
	for seq := a.seq; seq < last; {
		select {
		case ev, ok := <-a.host.Events():
			if !ok {
				return
			}
			a.backlog = append(a.backlog, ev)
			if seq = max(seq, ev.Seq); ev.Kind == kernel.EventAccepted {
				a.known[domain.ExecutionID(ev.ExecutionID)] = true
			}
			if ev.Kind == kernel.EventLost {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// reap ends a host that nobody wants.
func (r *Room) reap(dir string) {
	m, err := kernel.ReadManifest(dir)
	if err == nil {
		err = kernel.Reap(m)
	}
	if err != nil {
		r.log.Warn("kernel host not reaped", "dir", dir, "error", err)
		return
	}
	r.removeHostDir(dir)
}

// removeHostDir removes what a host that has ended left on disk.
func (r *Room) removeHostDir(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		r.log.Warn("folder of a kernel host not removed", "dir", dir, "error", err)
	}
}

// adopted takes over a host. Nobody else is heard before its backlog.
func (r *Room) adopted(a *adoption) {
	m, err := kernel.ReadManifest(a.dir)
	if err != nil {
		r.log.Warn("manifest of a kernel host not read", "dir", a.dir, "error", err)
	}
	ready := a.host.Welcome().Phase == "ready"
	h := &hostHandle{room: r, host: a.host, dir: a.dir, generation: r.core.Generation() + 1, written: a.seq, done: make(chan struct{})}
	r.host, r.hostDir = h, a.dir
	r.handle(room.HostAdopted{Kernel: kernelInfo(m.KernelName, m.Language, m.EnvSource), Ready: ready, Seq: a.seq})
	r.kernelEvents(h, a.backlog)
	r.handle(room.HostCaughtUp{Generation: h.generation})
	if r.host == h {
		r.hold(h)
	}
	r.log.Info("kernel host adopted", "dir", a.dir, "seq", a.seq, "events", len(a.backlog), "ready", ready)
}
