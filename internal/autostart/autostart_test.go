package autostart

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/paths"
	"runt/internal/testenv"
	"runt/internal/testenv/leak"
)

// Environment variables by which this test binary plays a fake daemon.
const (
	envRole   = "RUNT_TEST_FAKE_DAEMON"
	envStarts = "RUNT_TEST_FAKE_STARTS"
)

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		leak.Main(m)
	case "serve":
		fakeDaemon(os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "the fake daemon does not like this machine")
		os.Exit(1)
	}
}

// fakeDaemon serves the socket if it gets the lock, until it is asked to end by a connection that says so.
func fakeDaemon(socket string) {
	f, err := os.OpenFile(os.Getenv(envStarts), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString("x")
	}
	lock, err := os.OpenFile(socket+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil || syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		os.Exit(3)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		b := make([]byte, 4)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, _ := c.Read(b)
		if string(b[:n]) == "stop" {
			os.Exit(0)
		}
		_ = c.Close()
	}
}

func places(t *testing.T) paths.Places {
	t.Helper()
	dir := testenv.ShortDir(t)
	return paths.Places{Socket: filepath.Join(dir, "s"), State: filepath.Join(dir, "state"), Shared: dir, Cache: dir}
}

// stop ends the fake daemon and waits for its lock.
func stop(t *testing.T, p paths.Places) {
	t.Helper()
	c, err := net.Dial("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("stop")); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := AwaitUnlocked(ctx, p); err != nil {
		t.Errorf("the daemon did not end: %v", err)
	}
}

func TestC025_ManyStartersGetOneDaemon(t *testing.T) {
	p := places(t)
	starts := filepath.Join(p.Shared, "starts")
	t.Setenv(EnvBinary, os.Args[0])
	t.Setenv(envRole, "serve")
	t.Setenv(envStarts, starts)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := Ensure(t.Context(), p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := Ensure(t.Context(), p); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(starts); err != nil || len(b) == 0 {
		t.Errorf("nothing was started: %q, %v", b, err)
	}
	stop(t, p)
}

func TestADaemonThatDoesNotStartIsExplained(t *testing.T) {
	p := places(t)
	t.Setenv(EnvBinary, os.Args[0])
	t.Setenv(envRole, "fail")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := Ensure(ctx, p)
	if domain.CodeOf(err) != domain.CodeSessionDisconnected || !strings.Contains(err.Error(), p.LogFile()) || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v, want the log and how it ended", err)
	}
	if b, err := os.ReadFile(p.LogFile()); err != nil || !strings.Contains(string(b), "does not like") {
		t.Errorf("log: %q, %v", b, err)
	}
	t.Setenv(EnvBinary, filepath.Join(p.Shared, "nothing-here"))
	if err := Ensure(t.Context(), p); err == nil || !strings.Contains(err.Error(), "nothing-here") {
		t.Errorf("a missing program: %v", err)
	}
}

func TestFindNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find("runt-no-such-program", "RUNT_NO_SUCH_VARIABLE")
	if err == nil || !strings.Contains(err.Error(), "runt-no-such-program") || !strings.Contains(err.Error(), "RUNT_NO_SUCH_VARIABLE") {
		t.Errorf("got %v", err)
	}
	program := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program))
	if got, err := Find("tool", "RUNT_NO_SUCH_VARIABLE"); err != nil || got != program {
		t.Errorf("got %q, %v", got, err)
	}
}
