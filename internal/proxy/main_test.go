package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/proxy/core"
	"runt/internal/proxy/proxytest"
	"runt/internal/testenv/leak"
)

func TestMain(m *testing.M) {
	proxytest.PlayChild()
	leak.Main(m)
}

// bench is a proxy in this process between a fake agent and fake children.
type bench struct {
	t     testing.TB
	agent *proxytest.Agent
	child *proxytest.FakeChild
	log   *logBuffer
	stop  context.CancelFunc
	ended chan int
	dir   string
}

// setup starts a proxy. Its limits are the real ones but for what change does.
func setup(t testing.TB, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, child: proxytest.NewFakeChild(t, "1.0"), log: &logBuffer{}, ended: make(chan int, 1), dir: t.TempDir()}
	agentOut, proxyIn := pipe(t)
	proxyOut, agentIn := pipe(t)
	logger := slog.New(slog.NewTextHandler(b.log, nil))
	status, err := OpenStatus(filepath.Join(b.dir, "proxies"), "1.0", "/log", logger)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Core: core.Config{
			Name: "runt", Version: "1.0", Tools: json.RawMessage(`[{"name":"echo","inputSchema":{"type":"object"}}]`), Limits: core.DefaultLimits(),
			NewSession: func() string { return domain.RandomIDs{Rand: rand.Reader}.UUID() }, Rand: mrand.Float64,
		},
		In: agentOut, Out: agentIn, Environ: os.Environ(), ChildLog: b.log, Status: status, Logger: logger,
		Command: func() (string, []string, error) { return b.child.Path, []string{"mcp"}, nil },
	}
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.stop = cancel
	go func() {
		code := Run(ctx, o)
		if err := status.Close(); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("close status: %v", err)
		}
		agentIn.Close()
		b.ended <- code
	}()
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			t.Logf("log:\n%s", b.log.String())
		}
	})
	b.agent = proxytest.Attach(t, proxyIn, proxyOut)
	return b
}

// pipe returns the two ends of a pipe of the system.
func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// who returns the pid and version of the child that answers.
func (b *bench) who() (pid int, version string) {
	b.t.Helper()
	words := strings.Fields(b.agent.Call("who", nil).Text)
	pid, err := strconv.Atoi(words[0])
	if err != nil {
		b.t.Fatal(err)
	}
	return pid, words[1]
}

func (b *bench) killChild() {
	b.t.Helper()
	pid, _ := b.who()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		b.t.Fatal(err)
	}
}

// report returns what the status file says once ok accepts it.
func (b *bench) report(ok func(Report) bool) Report {
	b.t.Helper()
	deadline := time.NewTimer(proxytest.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	var last Report
	for {
		reports, err := Reports(filepath.Join(b.dir, "proxies"))
		if err != nil {
			b.t.Fatal(err)
		}
		if len(reports) == 1 {
			if last = reports[0]; ok(last) {
				return last
			}
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatalf("the status never came to be; last %+v", last)
		}
	}
}

// exit waits for the end of the proxy and returns its code.
func (b *bench) exit(limit time.Duration) int {
	b.t.Helper()
	select {
	case code := <-b.ended:
		return code
	case <-time.After(limit):
		b.t.Fatalf("the proxy is still there after %v", limit)
	}
	return -1
}

// fast lets a breaker close again within a test.
func fast(o *Options) {
	o.Core.Limits.BackoffMin, o.Core.Limits.BackoffMax = time.Millisecond, 5*time.Millisecond
	o.Core.Limits.Cooldown = 500 * time.Millisecond
}

type logBuffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
