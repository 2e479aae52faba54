package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"runt/internal/domain"
	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/link"
	"runt/internal/kernel/mailbox"
	"runt/internal/kernel/proc"
	"runt/internal/kernel/spool"
)

// The bounds of the host's own waits.
const (
	defaultOrphan = 10 * time.Minute
	drainIOPub    = 500 * time.Millisecond // for what the kernel published before it ended
	linger        = 2 * time.Millisecond   // for quiet events to find company
	drainDaemon   = 5 * time.Second        // for the daemon to take the last events
)

// What else reaches the loop.
type (
	timer        struct{ f func() }
	kernelExited struct{ p *process }
	stopAsked    struct{}
	joined       struct{ d *daemon }
	left         struct{ d *daemon }
	commanded    struct {
		d   *daemon
		cmd link.Command
	}
)

// host is one running kernel host. Its fields belong to the loop's goroutine
// unless they say otherwise.
type host struct {
	dir    string
	launch link.Launch
	log    *slog.Logger
	box    *mailbox.Box[any] // used by everybody
	spool  *spool.Spool      // appended to by the loop, read by senders, acknowledged by readers
	core   *core
	seq    uint64
	ids    domain.RandomIDs

	mu   sync.Mutex // guards proc, which the launcher sets and anyone signals
	proc *process

	chans     *channels // nil until connected
	conn      connection
	daemon    *daemon // nil when none is connected
	goneAt    time.Time
	manifest  link.Manifest
	orphaned  bool               // it ends because nobody wants it
	lingering bool               // a call of wakeSender is coming
	watching  bool               // a call of checkOrphan is coming
	dropped   dropping           // outputs that are not recorded
	abort     context.CancelFunc // ends a launch in progress
	wg        sync.WaitGroup
}

// Run is a kernel host from start to end. dir is its folder, with the launch
// file in it. It returns when the kernel is gone and nobody needs what it said,
// or, after ending the kernel, when ctx is done or SIGTERM came.
func Run(ctx context.Context, dir string, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	_, _ = syscall.Setsid() // refused when it leads a group already, which is as good
	// Handled signals are reset to their default for the kernel; ignored ones would stay ignored.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM)
	defer signal.Stop(signals)

	launch, err := link.TakeLaunch(dir)
	if err != nil {
		return fmt.Errorf("read launch file: %w", err)
	}
	if launch.OrphanAfter <= 0 {
		launch.OrphanAfter = defaultOrphan
	}
	listener, err := listen(dir)
	if err != nil {
		return err
	}
	sp, err := spool.Open(filepath.Join(dir, link.SpoolFolder), spool.Options{})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h := &host{dir: dir, launch: launch, log: log, box: mailbox.New[any](), spool: sp,
		ids: domain.RandomIDs{Rand: rand.Reader}, goneAt: time.Now()}
	h.core = newCore(h, log, launch.Spec)
	if err := h.writeManifest(nil); err != nil {
		return errors.Join(err, listener.Close(), sp.Close())
	}
	h.wg.Go(func() { h.watchSignals(ctx, signals) })
	h.wg.Go(func() { h.serve(listener) })
	launching, abort := context.WithCancel(ctx)
	h.abort = abort
	h.wg.Go(func() { h.start(launching) })
	h.after(startLimit, h.startedTooLate)
	h.watchOrphan(launch.OrphanAfter)
	h.loop()
	stop()
	return h.finish(listener)
}

// listen takes over the socket that the daemon made, or makes it.
func listen(dir string) (net.Listener, error) {
	if os.Getenv(link.EnvListenFD) == "3" {
		f := os.NewFile(3, link.SocketFile)
		l, err := net.FileListener(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("take over socket: %w", err)
		}
		return l, nil
	}
	return ListenSocket(dir)
}

// ListenSocket makes the socket of a host in its folder, for this user only.
func ListenSocket(dir string) (*net.UnixListener, error) {
	path := filepath.Join(dir, link.SocketFile)
	if err := link.CheckSocketPath(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect %s: %w", path, err), l.Close())
	}
	return l, nil
}

func (h *host) watchSignals(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGTERM {
				h.box.Put(stopAsked{})
			}
		case <-ctx.Done():
			h.box.Put(stopAsked{})
			return
		}
	}
}

// start launches the kernel and then waits for its end.
func (h *host) start(ctx context.Context) {
	l := &launcher{dir: h.dir, spec: h.launch.Spec, log: h.log, put: func(v any) { h.box.Put(v) }, started: h.setProcess}
	up, exit := l.launch(ctx)
	if exit != nil {
		h.box.Put(launchFailed{*exit})
		return
	}
	h.box.Put(connectedKernel{up, l.conn})
	<-up.proc.ended
	t := time.NewTimer(drainIOPub)
	defer t.Stop()
	select {
	case <-up.chans.heard:
	case <-t.C:
	}
	h.box.Put(kernelExited{up.proc})
	up.proc.wait()
}

type connectedKernel struct {
	launched
	conn connection
}

// setProcess notes the process, so that it can be signalled and found by the next daemon.
func (h *host) setProcess(p *process) {
	h.mu.Lock()
	h.proc = p
	h.mu.Unlock()
	h.box.Put(processStarted{p})
}

type processStarted struct{ p *process }

// loop hands everything that happens to the core, until the host has nothing left to do.
func (h *host) loop() {
	for !h.over() {
		items, ok := h.box.Take(context.Background())
		if !ok {
			return
		}
		for _, x := range items {
			h.handle(x)
		}
		if h.core.phase == phaseStopping {
			h.abort()
		}
	}
}

func (h *host) handle(x any) {
	switch x := x.(type) {
	case received:
		h.kernelMessage(x)
	case commanded:
		if x.cmd.Op == link.OpAck {
			return // done by the reader; over looks at it
		}
		h.core.command(x.cmd, h.answerTo(x.d, x.cmd.ID))
	case timer:
		x.f()
	case joined:
		h.join(x.d)
	case left:
		h.leave(x.d)
	case tooLarge:
		h.core.lostOutput(x)
	case channelEnded:
		h.core.channelLost(x.channel)
	case heartbeat:
		h.core.heartbeat(x.answered)
	case processStarted:
		if err := h.writeManifest(x.p); err != nil {
			h.log.Error("cannot write manifest", "error", err)
		}
		h.endLaunch()
	case connectedKernel:
		h.chans, h.conn = x.chans, x.conn
		h.core.connected()
		h.endLaunch()
	case launchFailed:
		h.core.exited(x.exit)
	case kernelExited:
		h.core.exited(x.p.exit)
	case stopAsked:
		h.orphaned = true
		h.core.shutdown(nil)
	}
}

func (h *host) kernelMessage(x received) {
	switch x.channel {
	case chIOPub:
		h.core.iopubMessage(x.msg)
	case chShell:
		h.core.shellMessage(x.msg)
	case chStdin:
		h.core.stdinMessage(x.msg)
	case chControl:
		h.core.answered(x.msg)
	}
}

// over says whether the host may end: the kernel is gone and nobody is to come for its events.
func (h *host) over() bool {
	if h.core.phase != phaseEnded {
		return false
	}
	return h.orphaned || h.core.requested || h.spool.Acked() >= h.seq
}

// endLaunch ends a kernel that came up after it was told to stop.
func (h *host) endLaunch() {
	if h.core.phase == phaseStopping {
		h.core.kill(syscall.SIGKILL)
	}
}

func (h *host) startedTooLate() {
	if h.core.phase == phaseStarting {
		h.log.Warn("kernel did not start in time")
		h.core.lateReason = fmt.Sprintf("the kernel did not answer within %s", startLimit)
		h.core.kill(syscall.SIGKILL)
	}
}

// watchOrphan has checkOrphan called after d, unless that is coming anyway.
func (h *host) watchOrphan(d time.Duration) {
	if h.watching {
		return
	}
	h.watching = true
	h.after(d, func() {
		h.watching = false
		h.checkOrphan()
	})
}

// checkOrphan ends the kernel when no daemon came for the orphan time and nothing runs.
func (h *host) checkOrphan() {
	if h.daemon != nil || h.orphaned {
		return // the next leave starts the clock again
	}
	since := h.goneAt
	if h.core.idleFrom.After(since) {
		since = h.core.idleFrom
	}
	wait := h.launch.OrphanAfter - time.Since(since)
	if h.core.busy() && h.core.phase != phaseEnded {
		wait = h.launch.OrphanAfter
	}
	if wait > 0 {
		h.watchOrphan(wait)
		return
	}
	h.log.Info("nobody came for the kernel", "room", h.launch.RoomID)
	h.orphaned = true
	h.core.shutdown(nil)
}

// finish ends what is left, after the loop.
func (h *host) finish(listener net.Listener) error {
	h.box.Close()
	items, _ := h.box.Grab()
	for _, x := range items {
		if j, ok := x.(joined); ok {
			_ = j.d.conn.Close() // it came too late
		}
	}
	err := h.spool.Close() // senders hand out the rest, then end
	if h.daemon != nil {
		h.daemon.closeAfter(drainDaemon)
	}
	err = errors.Join(err, listener.Close(), os.Remove(filepath.Join(h.dir, link.SocketFile)))
	h.wg.Wait()
	if h.chans != nil {
		h.chans.close()
	}
	h.conn.removeSockets()
	_ = os.Remove(filepath.Join(h.dir, link.ConnectionFile)) // a launch may have failed before it was written
	return err
}

func (h *host) writeManifest(p *process) error {
	pid := os.Getpid()
	start, err := proc.Start(pid)
	if err != nil {
		return err
	}
	s := h.launch.Spec
	if h.manifest.CreatedAt.IsZero() {
		h.manifest = link.Manifest{Version: link.Version, RoomID: h.launch.RoomID, Dir: h.dir,
			Socket: filepath.Join(h.dir, link.SocketFile), PID: pid, Start: start, CreatedAt: time.Now(),
			KernelName: s.KernelName, DisplayName: s.DisplayName, Language: s.Language, EnvSource: s.EnvSource}
	}
	if p != nil {
		h.manifest.KernelPID, h.manifest.KernelStart = p.pid, p.start
	}
	return link.WriteManifest(h.manifest)
}

// The effects that the core asks for.

func (h *host) now() time.Time { return time.Now() }

func (h *host) newID() string { return h.ids.UUID() }

// after runs f in the loop. The timer needs no owner: when the loop has ended its box is closed.
func (h *host) after(d time.Duration, f func()) {
	time.AfterFunc(d, func() { h.box.Put(timer{f}) })
}

func (h *host) emit(e link.Event) {
	if h.dropped.drop(e, h.spool.Backlog()) {
		return
	}
	if n, ok := h.dropped.note(e); ok {
		h.record(n)
	}
	h.record(e)
	if e.Kind == link.EventReady && h.proc != nil {
		h.proc.tail.forget() // what a kernel says while it starts tells nothing of its end
	}
}

// record numbers an event and puts it into the spool.
func (h *host) record(e link.Event) {
	h.seq++
	e.Seq = h.seq
	data, err := link.EncodeEvent(e)
	if err != nil {
		h.log.Error("cannot encode event", "kind", string(e.Kind), "error", err)
		e.Message, e.Execute = nil, nil
		if data, err = link.EncodeEvent(e); err != nil {
			return
		}
	}
	if quiet(e) {
		err = h.spool.AppendQuietly(h.seq, data)
		if !h.lingering {
			h.lingering = true
			h.after(linger, h.wakeSender)
		}
	} else {
		err = h.spool.Append(h.seq, data)
	}
	if err != nil {
		h.log.Error("cannot write event to disk", "seq", h.seq, "error", err)
	}
}

// quiet says that nobody is kept waiting when an event goes out a moment later, with the next
// one: waking the daemon for each takes the processor from the kernel.
func quiet(e link.Event) bool {
	if e.Kind == link.EventMessage {
		return e.Message.Type == "status" || e.Message.Type == "execute_input"
	}
	return e.Kind == link.EventAccepted
}

func (h *host) wakeSender() {
	h.lingering = false
	h.spool.Wake()
}

func (h *host) send(channel string, m jmsg.Message) {
	if h.chans == nil {
		h.log.Error("message to a kernel that is not connected", "type", m.Header.Type)
		return
	}
	h.chans.send(channel, m)
}

func (h *host) hearing() bool { return h.chans != nil && h.chans.taking.Load() }

func (h *host) signal(sig syscall.Signal) error {
	h.mu.Lock()
	p := h.proc
	h.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.ended:
		return nil
	default:
		return proc.SignalGroup(p.pid, sig)
	}
}
