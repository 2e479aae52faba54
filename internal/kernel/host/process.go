package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"runt/internal/kernel/link"
	"runt/internal/kernel/proc"
)

const (
	tailSize    = 16 << 10
	drainStderr = 100 * time.Millisecond
)

// process is a kernel process and what guards its group.
type process struct {
	pid    int
	start  string
	tail   *tail
	exit   link.Exit     // valid once ended is closed
	ended  chan struct{} // closed when the process is reaped and its group killed
	guard  *guard
	waiter sync.WaitGroup
}

// startProcess starts argv in a process group of its own. One locked thread
// starts it and waits for it, because the operating system ends the kernel when that thread ends.
func startProcess(argv, env []string, dir string) (*process, error) {
	g, err := startGuard()
	if err != nil {
		return nil, err
	}
	p := &process{tail: &tail{}, ended: make(chan struct{}), guard: g}
	started := make(chan error, 1)
	p.waiter.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		p.run(argv, env, dir, started)
	})
	if err := <-started; err != nil {
		p.waiter.Wait()
		g.stop()
		return nil, err
	}
	return p, nil
}

// run starts the process, says so, and stays until it is reaped.
func (p *process) run(argv, env []string, dir string, started chan<- error) {
	r, w, err := os.Pipe()
	if err != nil {
		started <- fmt.Errorf("make pipe: %w", err)
		return
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, dir, w, w
	cmd.SysProcAttr = processAttributes()
	err = cmd.Start()
	_ = w.Close() // the process has its own copy
	if err != nil {
		_ = r.Close()
		started <- fmt.Errorf("start %s: %w", argv[0], err)
		return
	}
	p.pid = cmd.Process.Pid
	p.start, _ = proc.Start(p.pid) // empty when it has ended already
	p.guard.watch(p.pid)
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(p.tail, r) }) // ends with the last writer, or the deadline below
	started <- nil

	proc.AwaitExit(p.pid)
	_ = proc.SignalGroup(p.pid, syscall.SIGKILL) // whatever it started; nothing left is no error
	err = cmd.Wait()
	_ = r.SetReadDeadline(time.Now().Add(drainStderr))
	copying.Wait()
	_ = r.Close()
	p.exit = exitOf(cmd.ProcessState, err)
	p.exit.Stderr = p.tail.String()
	close(p.ended)
	p.guard.stop()
}

func exitOf(s *os.ProcessState, err error) link.Exit {
	var failed *exec.ExitError
	if s == nil || err != nil && !errors.As(err, &failed) {
		return link.Exit{Code: -1, Reason: fmt.Sprintf("cannot tell how the kernel ended: %v", err)}
	}
	e := link.Exit{Code: s.ExitCode()}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	switch e.Signal {
	case "":
		e.Reason = fmt.Sprintf("the kernel exited with code %d", e.Code)
	case "SIGKILL":
		e.Reason = "the kernel was ended by SIGKILL, possibly out of memory"
	default:
		e.Reason = "the kernel was ended by " + e.Signal
	}
	return e
}

// wait returns once every goroutine of the process is done.
func (p *process) wait() { p.waiter.Wait() }

// guard is a shell that kills the kernel's process group when this process is gone.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
	once sync.Once
}

// guardScript reads the group, then waits for the pipe to end.
const guardScript = `read -r group || exit 0; read -r end; kill -s KILL -- "-$group"`

func startGuard() (*guard, error) {
	cmd := exec.Command("/bin/sh", "-c", guardScript)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Dir = "/"
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe to the kernel's guard: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the kernel's guard: %w", err)
	}
	return &guard{cmd: cmd, pipe: pipe}, nil
}

// watch tells the guard which group to kill.
func (g *guard) watch(pgid int) { _, _ = fmt.Fprintln(g.pipe, pgid) } // without a guard the kernel still runs

// stop ends the guard without letting it kill anything.
func (g *guard) stop() {
	g.once.Do(func() {
		_ = g.cmd.Process.Kill()
		_ = g.pipe.Close()
		_ = g.cmd.Wait() // it was killed
	})
}

// tail keeps the last bytes that were written to it. It is safe for concurrent use.
type tail struct {
	mu sync.Mutex // guards b
	b  []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > 2*tailSize {
		t.b = append(t.b[:0], t.b[len(t.b)-tailSize:]...)
	}
	return len(p), nil
}

// forget drops what was written so far.
func (t *tail) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = nil
}

// String returns the end of what was written, as valid text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.b
	if len(b) > tailSize {
		b = b[len(b)-tailSize:]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// kill ends the process group.
func (p *process) kill() { _ = proc.SignalGroup(p.pid, syscall.SIGKILL) }
