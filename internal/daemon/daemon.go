package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"runt/internal/automerge"
	"runt/internal/blob"
	"runt/internal/catalog"
	"runt/internal/domain"
	"runt/internal/env"
	"runt/internal/filewatch"
	"runt/internal/room"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

// Bounds of what the daemon waits for.
const (
	loadTimeout      = 2 * time.Minute  // loading a notebook
	catalogTimeout   = 10 * time.Second // the catalog's disk
	handshakeTimeout = 10 * time.Second // a peer's first messages
	stopTimeout      = 20 * time.Second // saving and closing everything at the end
	recordsWaiting   = 256              // execution records on their way to the catalog
)

// DefaultOrphanAfter is how long a kernel lives without a daemon.
const DefaultOrphanAfter = 30 * time.Minute

// Options says where a daemon lives and what it is.
type Options struct {
	Socket      string
	StateDir    string
	SharedDir   string // of all daemons of the user: private environments
	CacheDir    string
	HostsDir    string        // "" for one under StateDir, or a shorter place
	HostCommand []string      // starts a kernel host; "" for this program's own subcommand
	Version     string        // of this build
	OrphanAfter time.Duration // 0 for the default
	PeerIdle    time.Duration // how long a peer may say nothing; 0 for the default
	CompactAt   int64         // size of a journal that is rewritten; 0 for the default
	Config      room.Config   // zero for the default
	Log         *slog.Logger
	Environ     []string // for environments; os.Environ() when nil
}

// Daemon is a running daemon.
type Daemon struct {
	opt      Options
	log      *slog.Logger
	deps     roomactor.Deps
	rooms    *registry
	catalog  *catalog.Catalog
	engine   *automerge.Engine
	files    *filewatch.Watcher
	lock     *os.File
	listener net.Listener
	http     *httpServer
	info     wire.Implementation
	started  time.Time
	records  chan record

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu    sync.Mutex // guards hosts and conns
	hosts map[domain.NotebookID][]string
	conns map[net.Conn]bool
}

// ErrStopped is why everything ends when the daemon was asked to stop.
var ErrStopped = errors.New("daemon: stopped")

// AlreadyRunning is the error of a second daemon on one socket.
type AlreadyRunning struct{ Socket, Holder string }

// Error says who holds the socket and what to do.
func (e *AlreadyRunning) Error() string {
	return fmt.Sprintf("a daemon is already running on %s (%s); stop it with runt daemon stop", e.Socket, e.Holder)
}

// Start takes the lock, opens what the daemon keeps, takes back kernels of an
// earlier one, and listens. Everything it starts ends with Close.
func Start(opt Options) (*Daemon, error) {
	d := &Daemon{opt: opt, log: opt.Log, started: time.Now(), hosts: map[domain.NotebookID][]string{}, conns: map[net.Conn]bool{},
		records: make(chan record, recordsWaiting)}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	if err := d.prepare(); err != nil {
		d.cancel(ErrStopped)
		return nil, err
	}
	d.wg.Add(1)
	go d.keepRecords()
	d.takeBackKernels()
	if err := d.listen(); err != nil {
		d.Close()
		return nil, err
	}
	d.wg.Add(2)
	go d.accept()
	go d.collect()
	d.log.Info("daemon started", "socket", opt.Socket, "version", opt.Version, "pid", os.Getpid())
	return d, nil
}

func (d *Daemon) prepare() error {
	for _, dir := range []string{filepath.Dir(d.opt.Socket), d.opt.StateDir, d.opt.CacheDir, d.roomsDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return domain.Errorf(domain.CodeInternal, "The folder %s cannot be made: %w", dir, err).WithHint("Check its permissions.")
		}
	}
	lock, err := lockSocket(d.opt.Socket)
	if err != nil {
		return err
	}
	d.lock = lock
	if d.catalog, err = catalog.Open(filepath.Join(d.opt.StateDir, "catalog.db")); err != nil {
		return errors.Join(err, lock.Close())
	}
	blobs, err := d.openBlobs()
	if err != nil {
		return errors.Join(err, d.catalog.Close(), lock.Close())
	}
	d.engine = automerge.Open(automerge.Options{CacheDir: filepath.Join(d.opt.CacheDir, "wasm"), Logger: d.log})
	ids := domain.RandomIDs{Rand: rand.Reader}
	d.info = wire.Implementation{Name: "runt", Version: d.opt.Version, Extensions: wire.Extensions, Incarnation: ids.UUID()}
	d.rooms, d.files = newRegistry(d), filewatch.New(d.log)
	d.deps = roomactor.Deps{Engine: d.engine, Blobs: blobs, Env: d.resolver(), Files: d.files, Registry: d.rooms, RoomsDir: d.roomsDir(),
		HostsDir: d.hostsDir(), HostCommand: d.hostCommand(), OrphanAfter: d.orphanAfter(), PeerIdle: d.opt.PeerIdle, CompactAt: d.opt.CompactAt,
		Info: d.info, Version: d.versionLabel(),
		User: userName(), IDs: ids, Now: time.Now, Config: d.config(), Log: d.log}
	if d.http, err = serveHTTP(blobs, ids.UUID(), d.log); err != nil {
		return errors.Join(err, d.catalog.Close(), lock.Close())
	}
	return nil
}

func (d *Daemon) roomsDir() string { return filepath.Join(d.opt.StateDir, "rooms") }

// maxHostsDir keeps the sockets of a kernel within what a socket address holds.
const maxHostsDir = 70

// hostsDir returns where kernel hosts live: a folder with a short path.
func (d *Daemon) hostsDir() string {
	if d.opt.HostsDir != "" {
		return d.opt.HostsDir
	}
	return HostsDir(d.opt.StateDir)
}

// HostsDir returns where the kernel hosts of a daemon with that state folder
// live when it is not told otherwise.
func HostsDir(state string) string {
	dir := filepath.Join(state, "hosts")
	if len(dir) <= maxHostsDir {
		return dir
	}
	return filepath.Join(os.TempDir(), "runt-"+domain.DerivedUUID(state)[:8])
}

func (d *Daemon) hostCommand() []string {
	if len(d.opt.HostCommand) > 0 {
		return d.opt.HostCommand
	}
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return []string{exe, "kernel-host"}
}

func (d *Daemon) orphanAfter() time.Duration {
	if d.opt.OrphanAfter > 0 {
		return d.opt.OrphanAfter
	}
	return DefaultOrphanAfter
}

func (d *Daemon) config() room.Config {
	if d.opt.Config == (room.Config{}) {
		return room.DefaultConfig()
	}
	return d.opt.Config
}

// versionLabel is daemon_version: clients of protocol v4 show it and nothing more.
func (d *Daemon) versionLabel() string { return "2.9.0+runt." + d.opt.Version }

func userName() string {
	if u := os.Getenv("USER"); u != "" && !strings.ContainsAny(u, "/:") {
		return u
	}
	return fmt.Sprintf("uid%d", os.Getuid())
}

func (d *Daemon) openBlobs() (*blob.Store, error) {
	root := filepath.Join(d.opt.StateDir, "blobs")
	blobs, err := blob.Open(root, blob.Options{})
	if err != nil {
		return nil, fmt.Errorf("open blobs: %w", err)
	}
	// Clients of protocol v4 look for blobs in this folder beside the socket.
	link := filepath.Join(filepath.Dir(d.opt.Socket), "blobs")
	if link == root {
		return blobs, nil
	}
	if at, err := os.Readlink(link); err == nil && at != root {
		if err := os.Remove(link); err != nil {
			return nil, fmt.Errorf("replace link to blobs: %w", err)
		}
	}
	if _, err := os.Lstat(link); errors.Is(err, os.ErrNotExist) {
		if err := os.Symlink(root, link); err != nil {
			return nil, fmt.Errorf("link blobs: %w", err)
		}
	}
	return blobs, nil
}

// record is an execution for the catalog, or a question whether all before it
// are there, or the last one.
type record struct {
	wire.ExecutionRecord
	flushed chan struct{}
	last    bool
}

// keepRecords writes execution records to the catalog, one after the other.
func (d *Daemon) keepRecords() {
	defer d.wg.Done()
	for rec := range d.records { // never closed: who asks at the very end must not panic
		if rec.last {
			return
		}
		if rec.flushed != nil {
			close(rec.flushed)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), catalogTimeout)
		if err := d.catalog.AddExecution(ctx, rec.ExecutionRecord); err != nil {
			d.log.Error("execution record not kept", "execution", rec.ExecutionID, "error", err)
		}
		cancel()
	}
}

// Close stops listening, saves and closes every room, leaves the kernels
// running, and returns when everything has ended.
func (d *Daemon) Close() {
	d.log.Info("daemon stops")
	if d.listener != nil {
		if err := d.listener.Close(); err != nil {
			d.log.Debug("listener closed", "error", err)
		}
		// Nobody else's: the lock is held until the end of this function.
		if err := os.Remove(d.opt.Socket); err != nil {
			d.log.Debug("socket not removed", "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	d.rooms.close(ctx)
	d.cancel(ErrStopped)
	d.mu.Lock()
	for c := range d.conns {
		_ = c.Close() // its server sees it
	}
	d.mu.Unlock()
	d.records <- record{last: true}
	d.http.close(ctx)
	d.wg.Wait()
	if err := errors.Join(d.files.Close(), d.catalog.Close(), d.engine.Close(), d.lock.Close()); err != nil {
		d.log.Error("daemon not closed cleanly", "error", err)
	}
}

// Wait returns when the daemon was asked to stop over its socket or ctx ends.
func (d *Daemon) Wait(ctx context.Context) {
	select {
	case <-d.ctx.Done():
	case <-ctx.Done():
	}
}

func (d *Daemon) resolver() roomactor.Resolver {
	return env.New(env.Options{StateDir: d.opt.SharedDir, Logger: d.log, Environ: d.opt.Environ})
}
