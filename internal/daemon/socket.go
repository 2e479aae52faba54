package daemon

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// lockSocket takes the lock that belongs to a socket and keeps it until the file
// is closed, however the process ends.
func lockSocket(socket string) (*os.File, error) {
	f, err := os.OpenFile(socket+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		text, _ := io.ReadAll(io.LimitReader(f, 100)) // only for the message
		_ = f.Close()                                 // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &AlreadyRunning{Socket: socket, Holder: strings.TrimSpace(string(text))}
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(fmt.Sprintf("pid %d\n", os.Getpid())), 0)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("write lock: %w", err), f.Close())
		}
	}
	return f, nil
}

// listen replaces a stale socket file. The new socket appears under its name
// only when it listens and has its mode.
func (d *Daemon) listen() error {
	tmp := d.opt.Socket + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(tmp, 0o600); err != nil {
		return errors.Join(fmt.Errorf("protect socket: %w", err), l.Close())
	}
	if err := os.Rename(tmp, d.opt.Socket); err != nil {
		return errors.Join(fmt.Errorf("publish socket: %w", err), l.Close())
	}
	d.listener = l
	return nil
}
