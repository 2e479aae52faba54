package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"runt/internal/kernel/link"
)

// What the launcher puts into the loop's mailbox.
type (
	launched struct {
		proc  *process
		chans *channels
	}
	launchFailed struct{ exit link.Exit }
)

var errProcessEnded = errors.New("the kernel process ended")

// launcher starts the kernel process and connects to it.
type launcher struct {
	dir     string
	spec    link.LaunchSpec
	log     *slog.Logger
	put     func(any)
	started func(*process) // called when a process exists; may be called more than once, for other transports
	conn    connection
}

// launch starts the kernel on the transports that are to be tried, in order. It
// returns the process once the channels are connected, or how the last one ended.
func (l *launcher) launch(ctx context.Context) (launched, *link.Exit) {
	transports := []string{l.spec.Transport}
	if l.spec.Transport == "" {
		transports = []string{transportIPC, transportTCP}
	}
	var exit *link.Exit
	for _, t := range transports {
		for range portTries {
			var up launched
			if up, exit = l.attempt(ctx, t); exit == nil {
				return up, nil
			}
			if t != transportTCP || !portTaken(exit.Stderr) {
				break
			}
		}
		if ctx.Err() != nil || hopeless(exit) {
			break
		}
	}
	return launched{}, exit
}

const portTries = 3

func portTaken(stderr string) bool {
	return strings.Contains(strings.ToLower(stderr), "address already in use")
}

// hopeless says that another transport would not help: the kernel could not be
// started at all, lacks a module, or chose to end.
func hopeless(e *link.Exit) bool {
	neverRan := e.Code < 0 && e.Signal == ""
	return neverRan || e.Code == 0 || strings.Contains(e.Stderr, "No module named")
}

// attempt starts the kernel on one transport.
func (l *launcher) attempt(ctx context.Context, transport string) (launched, *link.Exit) {
	if err := ctx.Err(); err != nil {
		return launched{}, failure(err)
	}
	conn, err := newConnection(l.dir, transport, l.spec.KernelName)
	if err != nil {
		return launched{}, failure(err)
	}
	l.conn = conn
	file := filepath.Join(l.dir, link.ConnectionFile)
	if err := conn.write(file); err != nil {
		return launched{}, failure(err)
	}
	if len(l.spec.Argv) == 0 {
		return launched{}, failure(errors.New("the kernel has no command to start it with"))
	}
	if info, err := os.Stat(l.spec.Dir); l.spec.Dir != "" && (err != nil || !info.IsDir()) {
		return launched{}, failure(fmt.Errorf("the working directory %s does not exist", l.spec.Dir))
	}
	p, err := startProcess(fillIn(l.spec.Argv, file), environment(l.spec.Env, l.dir), l.spec.Dir)
	if err != nil {
		return launched{}, failure(err)
	}
	l.started(p)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	go func() { // waited for below
		defer close(watching)
		select {
		case <-p.ended:
			cancel(errProcessEnded)
		case <-ctx.Done():
		}
	}()
	chans, err := dialChannels(ctx, conn, "runt", l.log, l.put)
	cancel(nil)
	<-watching
	if err == nil {
		return launched{p, chans}, nil
	}
	select {
	case <-p.ended:
	default:
		l.log.Warn("cannot connect to the kernel", "error", err)
		p.kill()
	}
	<-p.ended // it is dead or was just killed
	p.wait()
	conn.removeSockets()
	exit := p.exit
	if !errors.Is(err, errProcessEnded) {
		exit.Reason = fmt.Sprintf("cannot connect to the kernel: %v", err)
	}
	return launched{}, &exit
}

func failure(err error) *link.Exit { return &link.Exit{Code: -1, Reason: err.Error()} }

func fillIn(argv []string, connectionFile string) []string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = strings.ReplaceAll(a, "{connection_file}", connectionFile)
	}
	return out
}

// environment is the host's own, without what only the host is told, and with what the kernelspec sets.
func environment(set map[string]string, dir string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := set[name]; !replaced && name != link.EnvListenFD && name != link.EnvHostDir {
			env = append(env, kv)
		}
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return append(env, link.EnvHostDir+"="+dir)
}
