package client

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"time"

	"runt/internal/wire"
)

const (
	// heartbeat is how often a daemon that is there is asked whether it still is.
	heartbeat = 10 * time.Second
	// answerLimit is how long it may take to answer before it counts as gone.
	answerLimit = 20 * time.Second

	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 2 * time.Second
)

// EventKind says what happened to the connection with the daemon.
type EventKind int

// The kinds of events. The first event is Connected, as soon as there is a daemon.
const (
	// Connected: the daemon is there, and the same as before. It comes after a
	// loss and with every heartbeat.
	Connected EventKind = iota
	// Disconnected: the daemon is gone. It follows one of the other two.
	Disconnected
	// Upgraded: the daemon is there again, as a new process.
	Upgraded
)

// String returns the name of the kind.
func (k EventKind) String() string {
	switch k {
	case Connected:
		return "connected"
	case Disconnected:
		return "disconnected"
	case Upgraded:
		return "upgraded"
	}
	return "unknown"
}

// Incarnation tells one run of a daemon from any other.
type Incarnation struct {
	PID       int
	StartedAt time.Time
	Version   string
	Impl      string // "runt" for ours, "" for daemons that do not say
	Token     string // made at random by the daemon, if it is ours
}

func incarnationOf(info wire.DaemonInfo) Incarnation {
	i := Incarnation{PID: info.PID, StartedAt: info.StartedAt.UTC(), Version: info.DaemonVersion}
	if info.Runt != nil {
		i.Impl, i.Token = info.Runt.Name, info.Runt.Incarnation
		if info.Runt.Version != "" {
			i.Version = info.Runt.Version
		}
	}
	return i
}

// Event is what Watch tells. A Disconnected names the daemon that is gone.
type Event struct {
	Kind        EventKind
	Incarnation Incarnation
	Info        wire.DaemonInfo // all the daemon said of itself; ports and tokens change with every run
}

// Watch tells when the daemon is there, gone, or replaced, until ctx ends; then
// the channel is closed. While the daemon is gone, the folder of its socket is
// watched, and dialled with a growing pause between attempts besides. A reader
// that is slow delays the next event and nothing else.
func Watch(ctx context.Context, o Options) <-chan Event {
	events := make(chan Event)
	w := &watcher{o: o.withDefaults(), events: events}
	go w.run(ctx)
	return events
}

// watcher belongs to the goroutine that run is.
type watcher struct {
	o      Options
	events chan<- Event
	last   Event // the last one told; its Kind is Disconnected before the first
	known  bool  // last names a daemon
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.events)
	for {
		p, info := w.connect(ctx)
		if p == nil {
			return
		}
		w.hold(ctx, p, info)
		p.close()
		if !w.tell(ctx, Event{Disconnected, w.last.Incarnation, w.last.Info}) {
			return
		}
	}
}

// tell hands over an event and says whether ctx still stands.
func (w *watcher) tell(ctx context.Context, e Event) bool {
	w.last, w.known = e, true
	select {
	case w.events <- e:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// connect tries until the daemon answers. It returns nil when ctx has ended.
func (w *watcher) connect(ctx context.Context) (*pool, wire.DaemonInfo) {
	folder := &folderWatch{notify: w.o.Notify, path: filepath.Dir(w.o.Socket)}
	defer folder.close()
	pause := firstBackoff
	for ctx.Err() == nil {
		changes := folder.open() // before dialling, so that no start falls in between
		p, info, err := w.dial(ctx)
		if err == nil {
			return p, info
		}
		w.o.Logger.Debug("daemon not reached", "socket", w.o.Socket, "error", err)
		timer := time.NewTimer(jitter(pause))
		select {
		case <-timer.C:
			pause = min(2*pause, lastBackoff)
		case <-changes:
			pause = firstBackoff
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil, wire.DaemonInfo{}
}

func (w *watcher) dial(ctx context.Context) (*pool, wire.DaemonInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	p, err := openPool(ctx, w.o)
	if err != nil {
		return nil, wire.DaemonInfo{}, err
	}
	info, err := w.ask(ctx, p)
	if err != nil {
		p.close()
		return nil, wire.DaemonInfo{}, err
	}
	return p, info, nil
}

func (w *watcher) ask(ctx context.Context, p *pool) (wire.DaemonInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var info wire.DaemonInfo
	err := p.call(ctx, wire.PoolRequest{Type: wire.PoolGetDaemonInfo}, wire.PoolDaemonInfo, &info)
	return info, err
}

// hold tells of a connection, and keeps it until it breaks or ctx ends.
func (w *watcher) hold(ctx context.Context, p *pool, info wire.DaemonInfo) {
	kind := Connected
	if w.known && incarnationOf(info) != w.last.Incarnation {
		kind = Upgraded
	}
	for w.tell(ctx, Event{kind, incarnationOf(info), info}) {
		kind = Connected
		if err := p.idle(ctx, heartbeat); err != nil {
			w.o.Logger.Debug("daemon lost", "socket", w.o.Socket, "error", err)
			return
		}
		var err error
		if info, err = w.ask(ctx, p); err != nil {
			w.o.Logger.Debug("daemon lost", "socket", w.o.Socket, "error", err)
			return
		}
	}
}

// jitter returns d changed by up to a quarter, so that many clients of one
// daemon do not come back all at once.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2)
}
