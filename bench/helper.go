package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

//go:embed floor.py
var floorScript string

//go:embed peer.py
var peerScript string

// helper is a Python process that does what a line tells it and answers with a line.
type helper struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr tail
}

// task is what a helper is told to do.
type task struct {
	Do   string `json:"do"` // run or start
	Code string `json:"code,omitempty"`
}

// outcome is what it answers.
type outcome struct {
	Seconds  float64 `json:"seconds"`
	Messages int     `json:"messages"` // of kind stream
	Error    string  `json:"error"`
}

func startHelper(ctx context.Context, python, script string, env []string) (*helper, error) {
	h := &helper{cmd: exec.CommandContext(ctx, python, "-u", "-c", script)}
	h.cmd.Env, h.cmd.Stderr = env, &h.stderr
	in, err1 := h.cmd.StdinPipe()
	out, err2 := h.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	h.in, h.out = in, bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	return h, nil
}

// do has the helper do something and returns what it measured.
func (h *helper) do(t task) (outcome, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return outcome{}, err
	}
	if _, err := h.in.Write(append(b, '\n')); err != nil {
		return outcome{}, fmt.Errorf("helper is gone: %w\n%s", err, h.stderr.String())
	}
	line, err := h.out.ReadBytes('\n')
	if err != nil {
		return outcome{}, fmt.Errorf("helper gave no answer: %w\n%s", err, h.stderr.String())
	}
	var o outcome
	if err := json.Unmarshal(line, &o); err != nil {
		return outcome{}, fmt.Errorf("helper answered %q: %w", line, err)
	}
	if o.Error != "" {
		return o, errors.New(o.Error)
	}
	return o, nil
}

// runs makes a run of code, timed by the helper itself.
func (h *helper) runs(code func(round int) string) func(int) (time.Duration, error) {
	return func(round int) (time.Duration, error) {
		o, err := h.do(task{Do: "run", Code: code(round)})
		return time.Duration(o.Seconds * float64(time.Second)), err
	}
}

// close lets the helper end.
func (h *helper) close() error {
	_ = h.in.Close() // that is how it is told
	return h.cmd.Wait()
}
