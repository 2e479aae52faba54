package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"runt/internal/kernel/jmsg"
	"runt/internal/kernel/zmtp"
)

// rawKey signs the messages of a raw kernel.
const rawKey = "bench"

// rawKernel is an ipykernel with nothing between it and us but our ZMTP client:
// what it takes is the least that anything built on it can take.
type rawKernel struct {
	cmd          *exec.Cmd
	dir          string
	codec        *jmsg.Codec
	shell, iopub *zmtp.Conn
	asked        int
}

// startRawKernel starts a kernel and returns when it answers and is heard.
func startRawKernel(ctx context.Context, python string, env []string) (*rawKernel, error) {
	dir, err := os.MkdirTemp("", "rb")
	if err != nil {
		return nil, err
	}
	k := &rawKernel{dir: dir}
	if err := k.start(ctx, python, env); err != nil {
		return nil, errors.Join(failed("start kernel", err), k.close())
	}
	return k, nil
}

func (k *rawKernel) start(ctx context.Context, python string, env []string) error {
	file := filepath.Join(k.dir, "kernel.json")
	b, err := json.Marshal(map[string]any{"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5,
		"ip": filepath.Join(k.dir, "k"), "key": rawKey, "transport": "ipc", "signature_scheme": "hmac-sha256"})
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(python, "-m", "ipykernel_launcher", "-f", file)
	cmd.Env, cmd.Dir = env, k.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	k.cmd = cmd
	if k.codec, err = jmsg.NewCodec("hmac-sha256", rawKey); err != nil {
		return err
	}
	if k.iopub, err = k.dial(ctx, 2, zmtp.Sub); err != nil {
		return err
	}
	if k.shell, err = k.dial(ctx, 1, zmtp.Dealer); err != nil {
		return err
	}
	if err := k.iopub.Subscribe(""); err != nil {
		return err
	}
	return k.listen()
}

func (k *rawKernel) dial(ctx context.Context, channel int, kind zmtp.SocketType) (conn *zmtp.Conn, err error) {
	endpoint := "ipc://" + filepath.Join(k.dir, "k-"+strconv.Itoa(channel))
	err = await(ctx, startLimit, func() error {
		conn, err = zmtp.Dial(ctx, endpoint, zmtp.Options{Type: kind, Identity: []byte("bench")})
		return err
	})
	return conn, err
}

// listen asks the kernel for its info until it is heard on iopub: what it says
// before it knows of our subscription is lost.
func (k *rawKernel) listen() error {
	heard := make(chan error, 1)
	go func() { // ends with the first message, or with the connection
		_, err := k.iopub.Recv()
		heard <- err
	}()
	for {
		id, err := k.send("kernel_info_request", struct{}{})
		if err != nil {
			return err
		}
		if _, err := k.until(k.shell, id, "kernel_info_reply", ""); err != nil {
			return err
		}
		select {
		case err := <-heard:
			return err
		default:
		}
	}
}

func (k *rawKernel) send(kind string, content any) (id string, err error) {
	k.asked++
	id = "raw-" + strconv.Itoa(k.asked)
	raw, err := json.Marshal(content)
	if err != nil {
		return "", err
	}
	parts, err := k.codec.Encode(jmsg.Message{Content: raw, Header: jmsg.Header{ID: id, Session: "bench", Type: kind, Version: jmsg.ProtocolVersion}})
	if err != nil {
		return "", err
	}
	return id, k.shell.Send(parts...)
}

// execute runs code and returns when its reply and its idle are there.
func (k *rawKernel) execute(code string) (streams int, err error) {
	id, err := k.send("execute_request", map[string]any{"code": code, "silent": false, "store_history": true,
		"user_expressions": struct{}{}, "allow_stdin": false, "stop_on_error": false})
	if err != nil {
		return 0, err
	}
	if _, err := k.until(k.shell, id, "execute_reply", ""); err != nil {
		return 0, err
	}
	return k.until(k.iopub, id, "status", "idle")
}

// until reads a channel up to the answer of a kind, and counts the stream messages before it.
func (k *rawKernel) until(c *zmtp.Conn, id, kind, state string) (streams int, err error) {
	for {
		parts, err := c.Recv()
		if err != nil {
			return streams, err
		}
		m, err := k.codec.Decode(parts)
		if err != nil {
			return streams, err
		}
		if m.Parent.ID != id {
			continue
		}
		if m.Header.Type == "stream" {
			streams++
		}
		var s struct {
			State string `json:"execution_state"`
		}
		if m.Header.Type == kind && json.Unmarshal(m.Content, &s) == nil && s.State == state {
			return streams, nil
		}
	}
}

// close kills the kernel.
func (k *rawKernel) close() error {
	for _, c := range []*zmtp.Conn{k.shell, k.iopub} {
		if c != nil {
			_ = c.Close() // the kernel is killed in a moment
		}
	}
	if k.cmd != nil {
		if err := syscall.Kill(-k.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("end kernel: %w", err)
		}
		_ = k.cmd.Wait() // says that it was killed
	}
	return os.RemoveAll(k.dir)
}
