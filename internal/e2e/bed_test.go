package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/paths"
	"runt/internal/testenv"
	"runt/internal/testenv/leak"
)

// patience is how long anything may take on a machine that has much else to do.
const patience = 40 * time.Second

// bed is a folder in which the programs run.
type bed struct {
	dir  string
	work string // folder of the notebooks
	bin  testenv.Programs
	env  []string
}

// shared is the bed of the tests that leave its daemon usable.
var shared sharedBed

type sharedBed struct {
	once sync.Once
	b    *bed
	err  error
}

// sharedBedOf returns the bed that many tests share.
func sharedBedOf(t testing.TB) *bed {
	t.Helper()
	leak.Check(t)
	bin, python := testenv.Binaries(t), testenv.PythonBin(t)
	t.Cleanup(func() {
		if b := shared.b; b != nil && t.Failed() {
			t.Logf("the daemon's log:\n%s", b.log())
		}
	})
	shared.once.Do(func() { shared.b, shared.err = makeBed(bin, python) })
	if shared.err != nil {
		t.Fatalf("make the shared bed: %v", shared.err)
	}
	return shared.b
}

func (s *sharedBed) end() error {
	if s.b == nil {
		return nil
	}
	return s.b.end()
}

// newBed returns a bed of the test's own, with the programs of bin.
func newBed(t testing.TB, bin testenv.Programs) *bed {
	t.Helper()
	leak.Check(t)
	b, err := makeBed(bin, testenv.PythonBin(t))
	if err != nil {
		t.Fatalf("make a bed: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", b.log())
		}
		if err := b.end(); err != nil {
			t.Errorf("end the bed: %v", err)
		}
	})
	return b
}

// marker names, in the environment of every process of a bed, the bed it belongs to.
const marker = "RUNT_E2E_BED"

func makeBed(bin testenv.Programs, python string) (*bed, error) {
	dir, err := os.MkdirTemp("/tmp", "rt")
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	b := &bed{dir: dir, work: filepath.Join(dir, "w"), bin: bin}
	for _, sub := range []string{"w", "home"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	foreign := func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "RUNT") || strings.HasPrefix(name, "NTERACT") || strings.HasPrefix(name, "XDG_") || name == "PYTHONPATH"
	}
	b.env = append(slices.DeleteFunc(os.Environ(), foreign),
		marker+"="+dir, "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME="+filepath.Join(cache, "runt-test", "xdg"),
		paths.EnvSocket+"="+b.socket(), paths.EnvState+"="+b.state(), "GORACE=atexit_sleep_ms=0",
		"PATH="+bin.Dir+":"+python+":"+os.Getenv("PATH"), "VIRTUAL_ENV="+filepath.Dir(python))
	return b, nil
}

func (b *bed) socket() string { return filepath.Join(b.dir, "s") }

func (b *bed) state() string { return filepath.Join(b.dir, "st") }

func (b *bed) path(name string) string { return filepath.Join(b.work, name) }

func (b *bed) log() string {
	text, err := os.ReadFile(filepath.Join(b.state(), "runtimed.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-20_000):])
}

// command is one of the programs, or any other, in the bed's environment.
func (b *bed) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if !strings.ContainsRune(name, '/') {
		name = filepath.Join(b.bin.Dir, name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Dir = b.env, b.work
	return cmd
}

// runt runs runt to its end, which must be a good one.
func (b *bed) runt(t testing.TB, args ...string) string {
	t.Helper()
	return b.runProgram(t, "runt", args...)
}

func (b *bed) runProgram(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := b.command(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// daemon says which process serves the socket, 0 for none.
func (b *bed) daemon(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	info, err := client.DaemonInfo(ctx, b.socket())
	if err != nil {
		return 0
	}
	return info.PID
}

// killDaemon kills the daemon and returns its pid.
func (b *bed) killDaemon(t testing.TB) int {
	t.Helper()
	pid := b.daemon(t.Context())
	if pid == 0 {
		t.Fatal("there is no daemon to kill")
	}
	kill(t, pid, syscall.SIGKILL)
	return pid
}

// end ends the notebooks and the daemon, and says what is left running. What
// was killed by a test leaves kernels to a daemon that has to be started for that.
func (b *bed) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	if len(b.processes()) > 0 {
		if out, err := b.command(ctx, "runt", "daemon", "start").CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("start the daemon: %w: %s", err, out))
		}
		errs = append(errs, b.endNotebooks(ctx))
		if out, err := b.command(ctx, "runt", "daemon", "stop").CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("stop the daemon: %w: %s", err, out))
		}
	}
	for _, p := range b.awaitNone(ctx) {
		errs = append(errs, errors.New("left behind: "+p.line))
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

func (b *bed) endNotebooks(ctx context.Context) error {
	rooms, err := client.ListRooms(ctx, b.socket())
	if err != nil {
		return fmt.Errorf("list rooms: %w", err)
	}
	var errs []error
	for _, r := range rooms {
		if _, err := client.ShutdownNotebook(ctx, b.socket(), domain.NotebookID(r.NotebookID)); err != nil {
			errs = append(errs, fmt.Errorf("end notebook: %w", err))
		}
	}
	return errors.Join(errs...)
}

// process is a running process of a bed.
type process struct {
	pid  int
	line string
}

// processes finds the bed's processes by the mark in their environment, where the
// system shows that.
func (b *bed) processes() []process {
	var found []process
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range entries {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !strings.Contains(string(env), marker+"="+b.dir+"\x00") {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, convErr := strconv.Atoi(filepath.Base(dir))
		if err != nil || convErr != nil || len(line) == 0 { // a zombie has no command line
			continue
		}
		found = append(found, process{pid, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " "))})
	}
	return found
}

// awaitNone waits for the end of the bed's processes and returns those that stay.
func (b *bed) awaitNone(ctx context.Context) []process {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left := b.processes()
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return left
		}
	}
}

// count says how many of the bed's processes have a word in their command line.
func (b *bed) count(word string) int {
	n := 0
	for _, p := range b.processes() {
		if strings.Contains(p.line, word) {
			n++
		}
	}
	return n
}

func kill(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("send %v to %d: %v", sig, pid, err)
	}
}

// alive says whether a process is there and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func await(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	testenv.Await(t, ctx, what, cond)
}
