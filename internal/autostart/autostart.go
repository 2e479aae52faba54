// Package autostart makes sure that a daemon serves a socket: it starts one in
// the background when none answers. Any number of processes may do so at once;
// the daemon's own lock lets one win, the others find it listening. Nothing here
// outlives a call but the daemon itself.
package autostart

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"runt/internal/domain"
	"runt/internal/paths"
)

// Timeout is how long a started daemon may take until it listens.
const Timeout = 20 * time.Second

// EnvBinary names the environment variable that overrides which daemon is started.
const EnvBinary = "RUNTIMED_BIN"

const (
	dialTimeout = time.Second
	retry       = 10 * time.Millisecond
	program     = "runtimed"
)

// Ensure returns when a daemon accepts connections on the socket of p, starting
// one by need. The error names the log to read when it does not come up.
func Ensure(ctx context.Context, p paths.Places) error {
	if listens(ctx, p.Socket) {
		return nil
	}
	bin, err := Find(program, EnvBinary)
	if err != nil {
		return err
	}
	ended, err := start(bin, p)
	if err != nil {
		return domain.Errorf(domain.CodeSessionDisconnected, "The daemon could not be started: %w", err).WithHint("Start it by hand: %s --socket %s", bin, p.Socket)
	}
	return await(ctx, bin, p, ended)
}

// exitRunning is the exit code of a daemon that found the lock held by another.
const exitRunning = 3

// mayStartAgain says whether a start that ended so is worth another: it found the
// lock held, and now nobody holds it. The holder was being killed, then.
func mayStartAgain(how error, p paths.Places) bool {
	var exit *exec.ExitError
	if !errors.As(how, &exit) || exit.ExitCode() != exitRunning {
		return false
	}
	free, err := unlocked(p.Socket + ".lock")
	return err == nil && free
}

// Find returns the program of that name: what the environment variable says, the one beside
// this program, or the one on PATH.
func Find(name, envVar string) (string, error) {
	if bin := os.Getenv(envVar); bin != "" {
		return bin, nil
	}
	if exe, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(exe), name); isProgram(beside) {
			return beside, nil
		}
	}
	if bin, err := exec.LookPath(name); err == nil {
		return bin, nil
	}
	return "", domain.Errorf(domain.CodeSessionDisconnected, "The program %s was not found.", name).
		WithHint("Install it beside this one, or set %s to its path.", envVar)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func listens(ctx context.Context, socket string) bool {
	d := net.Dialer{Timeout: dialTimeout}
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = c.Close() // it was only a question
	return true
}

// start runs the daemon in a session of its own, so that it does not end with
// its starter. The channel gets how it ended, if it ends while somebody waits.
func start(bin string, p paths.Places) (<-chan error, error) {
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open daemon log: %w", err)
	}
	cmd := exec.Command(bin, "--socket", p.Socket)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	if err = errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	// This goroutine ends with the daemon: it reaps it when this process lives that long.
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

// await waits until the socket is served. A daemon of ours that ended lost the
// race against another, which then serves it.
func await(ctx context.Context, bin string, p paths.Places, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	tick := time.NewTicker(retry)
	defer tick.Stop()
	var how error
	for {
		if listens(ctx, p.Socket) {
			return nil
		}
		select {
		case how = <-ended:
			ended = nil
		case <-tick.C:
			if ended == nil && mayStartAgain(how, p) {
				var err error
				if ended, err = start(bin, p); err != nil {
					return domain.Errorf(domain.CodeSessionDisconnected, "The daemon could not be started: %w", err).WithHint("Start it by hand: %s --socket %s", bin, p.Socket)
				}
			}
		case <-ctx.Done():
			if how == nil {
				how = context.Cause(ctx)
			}
			return domain.Errorf(domain.CodeSessionDisconnected, "The daemon does not answer on %s: %w", p.Socket, how).
				WithHint("Read its log %s, or run runt doctor.", p.LogFile())
		}
	}
}

// AwaitUnlocked returns when no daemon holds the socket of p any more, or with
// the end of ctx.
func AwaitUnlocked(ctx context.Context, p paths.Places) error {
	tick := time.NewTicker(retry)
	defer tick.Stop()
	for {
		free, err := unlocked(p.Socket + ".lock")
		if err != nil || free {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func unlocked(lock string) (bool, error) {
	f, err := os.Open(lock)
	if errors.Is(err, os.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("open lock: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
