package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// stderrGrace is how long after its end a child's stderr is still read. A
// grandchild that kept the pipe open does not hold us longer.
const stderrGrace = 200 * time.Millisecond

// Command says what to start.
type Command struct {
	Path   string
	Args   []string // without the program's name
	Env    []string // the whole environment
	Dir    string   // "" means the parent's
	Stderr io.Writer
}

// Grace bounds each step of ending a child.
type Grace struct {
	EOF  time.Duration // from closing stdin to SIGTERM; 0 sends SIGTERM with it
	Term time.Duration // from SIGTERM to SIGKILL; 0 skips SIGTERM
	Kill time.Duration // from SIGKILL to giving up
}

// Child is a started process. Its methods may be called from any goroutine.
type Child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	tail   *tail
	done   chan struct{}

	mu     sync.Mutex // guards what follows
	ending Ending
	exit   Exit // valid once done is closed
}

// Start starts a process with pipes for stdin, stdout and stderr.
func Start(c Command) (*Child, error) {
	ch := &Child{cmd: exec.Command(c.Path, c.Args...), tail: &tail{next: c.Stderr}, done: make(chan struct{})}
	ch.cmd.Env, ch.cmd.Dir, ch.cmd.SysProcAttr = c.Env, c.Dir, childAttr()
	theirs, errRead, err := ch.pipes()
	if err != nil {
		return nil, fmt.Errorf("make pipes for %s: %w", c.Path, err)
	}
	started := make(chan error)
	go ch.run(started, errRead)
	err = <-started
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		<-ch.done
		ch.stdin.Close()
		ch.stdout.Close()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return ch, nil
}

// pipes makes the three pipes. It returns the child's ends, and our end of stderr.
func (c *Child) pipes() (theirs []*os.File, errRead *os.File, err error) {
	var all []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range all {
				f.Close()
			}
			return nil, nil, err
		}
		all = append(all, r, w)
	}
	c.cmd.Stdin, c.stdin = all[0], all[1]
	c.stdout, c.cmd.Stdout = all[2], all[3]
	c.cmd.Stderr = all[5]
	return []*os.File{all[0], all[3], all[5]}, all[4], nil
}

// run starts the process and stays on the thread that did until it is reaped:
// the kernel's death signal is tied to that thread, not to our process.
func (c *Child) run(started chan<- error, errRead *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	defer errRead.Close()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(c.tail, errRead) // ends at EOF or when errRead is closed
	}()
	_ = c.cmd.Wait() // the state says more than the error
	t := time.NewTimer(stderrGrace)
	defer t.Stop()
	select {
	case <-copied:
	case <-t.C:
		errRead.Close()
		<-copied
	}
	c.finish(c.cmd.ProcessState)
}

func (c *Child) finish(st *os.ProcessState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exit = Exit{Code: st.ExitCode(), Ending: c.ending, Stderr: c.tail.String()}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		c.exit.Signal = ws.Signal()
	}
}

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Stdin is the pipe to the child.
func (c *Child) Stdin() io.WriteCloser { return c.stdin }

// Stdout is the pipe from the child. The caller closes it, after Done.
func (c *Child) Stdout() io.ReadCloser { return c.stdout }

// Done is closed when the process has been reaped and its stderr read.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how the process ended. It must be called after Done.
func (c *Child) Exit() Exit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}

// End ends the process within the bounds of g and returns how it ended.
func (c *Child) End(g Grace) Exit {
	c.step(EndedOnEOF)
	_ = c.stdin.Close() // a second close is no harm
	if c.wait(g.EOF) {
		return c.Exit()
	}
	if g.Term > 0 {
		c.step(EndedOnTerm)
		c.signal(syscall.SIGTERM)
		if c.wait(g.Term) {
			return c.Exit()
		}
	}
	c.step(EndedByKill)
	c.signal(syscall.SIGKILL)
	if c.wait(g.Kill) {
		return c.Exit()
	}
	return Exit{Code: -1, Ending: EndedUnreapable}
}

// step notes how far the ending had to go.
func (c *Child) step(e Ending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = max(c.ending, e)
}

func (c *Child) signal(s syscall.Signal) {
	if err := c.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.tail.Write([]byte("cannot send " + s.String() + ": " + err.Error() + "\n"))
	}
}

func (c *Child) wait(limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c.done:
		return true
	case <-t.C:
		return false
	}
}
