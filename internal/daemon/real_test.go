package daemon

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/automerge"
	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/kernel"
	"runt/internal/testenv"
	"runt/internal/testenv/pyenv"
)

// real is the daemon as a program, with a home of its own, that tests may kill.
type real struct {
	t      *testing.T
	dir    string
	socket string
	state  string
	env    []string
	cmd    *exec.Cmd
	log    *bytes.Buffer // of the running daemon; read when it has ended
	engine *automerge.Engine
}

func newReal(t *testing.T) *real {
	t.Helper()
	dir := testenv.ShortDir(t)
	python := pyenv.Python(t)
	cache := testCache(t)
	r := &real{t: t, dir: dir, socket: filepath.Join(dir, "s"), state: filepath.Join(dir, "st"),
		engine: automerge.Open(automerge.Options{CacheDir: cache})}
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "RUNT_STATE_DIR="+r.state, "XDG_STATE_HOME="+filepath.Join(dir, "xs"),
		"XDG_CACHE_HOME="+filepath.Dir(cache), "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), "VIRTUAL_ENV="+filepath.Dir(filepath.Dir(python)))
	t.Cleanup(func() {
		r.end()
		if err := r.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	r.start()
	return r
}

func (r *real) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	r.t.Cleanup(cancel)
	return ctx
}

// start starts the daemon and returns when it answers.
func (r *real) start() {
	r.t.Helper()
	r.log = &bytes.Buffer{}
	r.cmd = exec.Command(testenv.Binaries(r.t).Runtd, "--socket", r.socket, "--log-level", "info")
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = r.env, r.log, r.log
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	testenv.Await(r.t, r.ctx(), "the daemon's answer", func() bool {
		_, err := client.Ping(r.t.Context(), r.socket)
		return err == nil
	})
}

// stop ends the daemon with a signal and returns when it is gone.
func (r *real) stop(sig syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
	err := r.cmd.Wait()
	if sig != syscall.SIGKILL && err != nil {
		r.t.Errorf("the daemon ended with %v:\n%s", err, r.log)
	}
	for _, line := range strings.Split(r.log.String(), "\n") {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") {
			r.t.Errorf("the daemon's log has: %s", line)
		}
	}
}

// end closes all notebooks and the daemon, and makes sure that no process is left.
func (r *real) end() {
	if r.cmd.ProcessState != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	rooms, err := client.ListRooms(ctx, r.socket)
	if err != nil {
		r.t.Errorf("list rooms: %v", err)
	}
	for _, room := range rooms {
		if _, err := client.ShutdownNotebook(ctx, r.socket, domain.NotebookID(room.NotebookID)); err != nil {
			r.t.Errorf("shut down notebook: %v", err)
		}
	}
	r.stop(syscall.SIGTERM)
	testenv.Await(r.t, ctx, "the end of every process", func() bool { return len(r.processes()) == 0 })
	if dirs, _ := filepath.Glob(filepath.Join(r.state, "hosts", "*")); len(dirs) > 0 {
		r.t.Errorf("folders of kernel hosts are left: %v", dirs)
	}
}

// processes returns what runs with the test's folder in its arguments or environment.
func (r *real) processes() (found []string) {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range names {
		cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline")) // it may be gone by now
		environ, _ := os.ReadFile(filepath.Join(p, "environ"))
		if p != fmt.Sprintf("/proc/%d", os.Getpid()) && bytes.Contains(append(cmdline, environ...), []byte(r.state)) {
			found = append(found, p+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func (r *real) options() client.Options {
	return client.Options{Socket: r.socket, Engine: r.engine, Operator: "agent:real", Label: "real", Logger: slog.New(slog.DiscardHandler)}
}

func (r *real) must(h *client.Handle, err error) *client.Handle {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = h.Close() })
	return h
}

// kernelPID returns the kernel of a notebook.
func (r *real) kernelPID(id domain.NotebookID) int {
	dirs, _ := filepath.Glob(filepath.Join(r.state, "hosts", "*"))
	for _, dir := range dirs {
		if m, err := kernel.ReadManifest(dir); err == nil && m.RoomID == string(id) {
			return m.KernelPID
		}
	}
	return 0
}
