package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/profile"
	"runt/internal/trace"
)

const (
	startLimit = 60 * time.Second // for a daemon, a kernel or a helper to come up
	stopLimit  = 30 * time.Second // for a daemon to end
	retry      = 2 * time.Millisecond
)

// bed is a daemon in a folder of its own, and the environment in which its clients find it.
type bed struct {
	bin, dir string
	socket   string
	python   string
	env      []string
	daemon   *exec.Cmd
	log      *os.File
}

// newBed makes the folders and the environment; nothing runs yet. More is added to the environment.
func newBed(bin, python string, more ...string) (*bed, error) {
	dir, err := os.MkdirTemp("", "rb")
	if err != nil {
		return nil, err
	}
	b := &bed{bin: bin, dir: dir, socket: filepath.Join(dir, "s"), python: python}
	venv := filepath.Dir(filepath.Dir(python))
	b.env = append(os.Environ(), "RUNTIMED_SOCKET_PATH="+b.socket, "RUNT_STATE_DIR="+filepath.Join(dir, "state"),
		"VIRTUAL_ENV="+venv, "PATH="+filepath.Dir(python)+string(os.PathListSeparator)+os.Getenv("PATH"))
	b.env = append(b.env, more...)
	return b, nil
}

// traced are the variables that make the programs write a trace into the bed's folder.
func (b *bed) traced() error {
	b.env = append(b.env, trace.EnvDir+"="+b.dir)
	return trace.To(b.dir)
}

// profiled makes the programs serve profiles in the bed's folder.
func (b *bed) profiled() { b.env = append(b.env, profile.EnvDir+"="+b.dir) }

// start starts the daemon and waits until it answers.
func (b *bed) start(ctx context.Context, command ...string) error {
	if len(command) == 0 {
		command = []string{filepath.Join(b.bin, "runtimed")}
	}
	log, err := os.Create(filepath.Join(b.dir, "daemon.log"))
	if err != nil {
		return err
	}
	b.log = log
	b.daemon = exec.Command(command[0], command[1:]...)
	b.daemon.Env, b.daemon.Dir, b.daemon.Stdout, b.daemon.Stderr = b.env, b.dir, log, log
	b.daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.daemon.Start(); err != nil {
		b.daemon = nil
		return fmt.Errorf("start daemon: %w", err)
	}
	return await(ctx, startLimit, func() error { _, err := client.Ping(ctx, b.socket); return err })
}

// await tries until it works or the time is over.
func await(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t := time.NewTicker(retry)
	defer t.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return err
		}
	}
}

// command makes one of the programs, to be started in the bed.
func (b *bed) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, program), args...)
	cmd.Env, cmd.Dir = b.env, b.dir
	return cmd
}

// has says whether a program was built.
func (b *bed) has(program string) bool {
	_, err := os.Stat(filepath.Join(b.bin, program))
	return err == nil
}

// endNotebooks closes every notebook of the daemon, with its kernel.
func (b *bed) endNotebooks(ctx context.Context) error {
	rooms, err := client.ListRooms(ctx, b.socket)
	if err != nil {
		return fmt.Errorf("list rooms: %w", err)
	}
	for _, r := range rooms {
		if _, err := client.ShutdownNotebook(ctx, b.socket, domain.NotebookID(r.NotebookID)); err != nil {
			return fmt.Errorf("end notebook: %w", err)
		}
	}
	return nil
}

// close ends the daemon with its kernels and removes the folder.
func (b *bed) close() error {
	if b.daemon == nil {
		return os.RemoveAll(b.dir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	err := b.endNotebooks(ctx)
	if err != nil {
		text, _ := os.ReadFile(b.log.Name()) // without it the error says less
		err = fmt.Errorf("%w\n%s", err, text[max(0, len(text)-4<<10):])
	}
	pid := b.daemon.Process.Pid
	kill := time.AfterFunc(stopLimit, func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
	defer kill.Stop()
	err = errors.Join(err, b.daemon.Process.Signal(syscall.SIGTERM))
	_ = b.daemon.Wait()                     // a daemon that was told to end may say so by its exit code
	_ = syscall.Kill(-pid, syscall.SIGKILL) // what it started and left behind; mostly nothing
	return errors.Join(err, b.log.Close(), await(ctx, stopLimit, func() error { return os.RemoveAll(b.dir) }))
}

// tail keeps the end of what a process says on its standard error.
type tail struct{ bytes.Buffer }

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	const kept = 4 << 10
	t.Buffer.Write(p)
	if extra := t.Len() - kept; extra > 0 {
		t.Next(extra)
	}
	return len(p), nil
}

func failed(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
