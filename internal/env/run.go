package env

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Bounds on what is kept of a subprocess's output.
const (
	keptOutput   = 1 << 20
	tailLines    = 6
	tailLineMax  = 400
	progressLine = 160
)

// command is one run of a helper program such as python, uv or pip.
type command struct {
	argv     []string
	dir      string
	env      []string
	timeout  time.Duration
	progress func(string) // gets each line of standard error; may be nil
}

// runError says how a helper program failed.
type runError struct {
	argv   []string
	cause  error
	code   int    // exit code, -1 when there is none
	stderr string // its last lines
}

func (e *runError) Error() string {
	line, _, _ := strings.Cut(strings.Join(e.argv, " "), "\n")
	s := fmt.Sprintf("%s: %v", cut(line, tailLineMax), e.cause)
	if e.stderr != "" {
		s += ": " + e.stderr
	}
	return s
}

func (e *runError) Unwrap() error { return e.cause }

// run runs the program to its end and returns its standard output. The program
// and its children are killed when ctx ends or the time is over.
func (c command) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no end after %v", c.timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stdout capped
	tail := &lineTail{progress: c.progress}
	cmd.Stdout, cmd.Stderr = &stdout, tail
	err := cmd.Run()
	tail.flush()
	if err == nil {
		return stdout.buf.Bytes(), nil
	}
	code := -1
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	text := tail.String()
	if text == "" {
		text = lastLines(stdout.buf.String())
	}
	return nil, &runError{argv: c.argv, cause: err, code: code, stderr: text}
}

// capped keeps the first keptOutput bytes and drops the rest.
type capped struct{ buf bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if room := keptOutput - c.buf.Len(); room > 0 {
		c.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// lineTail keeps the last lines written to it and tells each to progress.
type lineTail struct {
	progress func(string)
	part     []byte
	lines    []string
}

var _ io.Writer = (*lineTail)(nil)

func (t *lineTail) Write(p []byte) (int, error) {
	t.part = append(t.part, p...)
	for {
		i := bytes.IndexAny(t.part, "\r\n")
		if i < 0 {
			break
		}
		t.line(string(t.part[:i]))
		t.part = t.part[i+1:]
	}
	if len(t.part) > tailLineMax {
		t.flush()
	}
	return len(p), nil
}

func (t *lineTail) flush() {
	t.line(string(t.part))
	t.part = nil
}

func (t *lineTail) line(s string) {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	if s == "" {
		return
	}
	if t.progress != nil {
		t.progress(cut(s, progressLine))
	}
	t.lines = append(t.lines, cut(s, tailLineMax))
	if len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
}

func (t *lineTail) String() string { return strings.Join(t.lines, "\n") }

func lastLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// without returns environ less the named variables, and with the added ones last.
func without(environ, names []string, add ...string) []string {
	out := make([]string, 0, len(environ)+len(add))
next:
	for _, kv := range environ {
		for _, n := range names {
			if strings.HasPrefix(kv, n+"=") {
				continue next
			}
		}
		out = append(out, kv)
	}
	return append(out, add...)
}
