package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"runt/internal/domain"
	"runt/internal/kernel/host"
	"runt/internal/kernel/link"
)

// detachScript starts a program in the background, so that it is nobody's child.
const detachScript = `log=$1; shift; "$@" </dev/null >>"$log" 2>&1 &`

// StartHost starts a kernel host, and through it a kernel, and connects to it.
// It returns before the kernel is ready; Ready or Failed is an event. ctx
// bounds the start of the host only.
func StartHost(ctx context.Context, c HostConfig, spec LaunchSpec) (*Host, error) {
	if len(c.Command) == 0 {
		return nil, domain.Errorf(domain.CodeInternal, "no command to start a kernel host with.")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("find folder of the kernel host: %w", err)
	}
	if err := link.CheckSocketPath(filepath.Join(dir, link.SocketFile)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the kernel host: %w", err)
	}
	launch := link.Launch{Spec: spec, RoomID: c.RoomID, OrphanAfter: c.OrphanAfter}
	if err := link.WriteLaunch(dir, launch); err != nil {
		return nil, err
	}
	if err := spawn(ctx, dir, c.Command); err != nil {
		return nil, err
	}
	h := newHost(dir, 0, c.Logger)
	conn, err := h.dial(ctx)
	if err != nil {
		h.stop()
		log, _ := os.ReadFile(filepath.Join(dir, link.LogFile)) // without it the error says less
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "the kernel host did not start: %w.\n%s", err, lastBytes(log))
	}
	h.run(conn)
	return h, nil
}

func lastBytes(b []byte) []byte { return b[max(0, len(b)-4<<10):] }

// spawn starts the host with a socket that listens already, so that nobody has to wait for it.
func spawn(ctx context.Context, dir string, command []string) error {
	l, err := host.ListenSocket(dir)
	if err != nil {
		return err
	}
	f, err := l.File()
	if err = errors.Join(err, l.Close()); err != nil {
		return fmt.Errorf("pass socket to the kernel host: %w", err)
	}
	defer func() { _ = f.Close() }() // the host has its own copy
	args := append([]string{"-c", detachScript, "sh", filepath.Join(dir, link.LogFile)}, command...)
	cmd := exec.CommandContext(ctx, "/bin/sh", append(args, dir)...)
	cmd.Env = append(os.Environ(), link.EnvListenFD+"=3")
	cmd.ExtraFiles = []*os.File{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("start kernel host: %w", err)
	}
	return nil
}

// Adopt connects to the host of a folder and has every event after number from
// replayed, once. When the host is gone, what it left on disk is replayed, and Lost follows.
func Adopt(ctx context.Context, dir string, from uint64, log *slog.Logger) (*Host, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("adopt kernel host: %w", err)
	}
	if m.Dir != "" && m.Dir != dir {
		dir = m.Dir
	}
	h := newHost(dir, from, log)
	conn, err := h.dial(ctx)
	if err != nil {
		if hostAlive(m) {
			h.stop()
			return nil, fmt.Errorf("connect to kernel host: %w", err)
		}
		h.replayAndLose()
	}
	h.run(conn)
	return h, nil
}

// alive says whether the host of a folder runs.
func alive(dir string) bool {
	m, err := ReadManifest(dir)
	return err == nil && hostAlive(m)
}

func dialSocket(ctx context.Context, dir string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", filepath.Join(dir, link.SocketFile))
}
