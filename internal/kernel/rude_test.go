package kernel

import (
	"context"
	"errors"
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
	"runt/internal/kernel/link"
	"runt/internal/kernel/proc"
)

// greetOnly is a daemon that says hello and never reads.
func greetOnly(t *testing.T, dir string) {
	t.Helper()
	conn, err := dialSocket(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	greet(t, conn, link.MinVersion)
}

func greet(t *testing.T, conn net.Conn, version int) {
	t.Helper()
	hello, err := newOrder(link.Command{Op: link.OpHello, MinVersion: version, Version: version})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeOrders(conn, []order{hello}); err != nil {
		t.Fatal(err)
	}
}

func TestDaemonThatDoesNotReadHoldsUpNobody(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.awaitKind(t, EventReady, "")
	id := c.begin(t, "sleep 0.2\ncount 50000")
	c.awaitMessage(t, id, "execute_input")
	greetOnly(t, c.Dir())
	c.awaitKind(t, EventLost, "")
	m := manifest(t, c)
	spool := filepath.Join(c.Dir(), link.SpoolFolder)
	awaitTrue(t, patience, "outputs on disk", func() bool {
		return folderSize(t, spool) > 200<<10
	})
	h, err := Adopt(t.Context(), c.Dir(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := watch(h)
	o := w.outcome(t, id).need(t)
	checkLines(t, o.stdout, 50_000)
	if !hostAlive(m) {
		t.Error("the host is gone")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func folderSize(t *testing.T, dir string) int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

func TestStrangersAtTheSocketAreSentAway(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.awaitKind(t, EventReady, "")
	for _, say := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x03\x02{}", "\xff\xff\xff\xff\xff"} {
		conn, err := dialSocket(t.Context(), c.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(say)); err != nil {
			t.Fatal(err)
		}
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%q was answered with %d bytes", say, n)
		}
		_ = conn.Close()
	}
	newer, err := dialSocket(t.Context(), c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = newer.Close() }()
	greet(t, newer, link.Version+1)
	if _, err := newer.Read(make([]byte, 1)); err == nil {
		t.Error("a daemon that does not understand this version was welcomed")
	}
	c.run(t, "echo still mine").need(t)
}

func TestTerminatedHostEndsItsKernelAndSaysSo(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.run(t, "spawn").need(t)
	m := manifest(t, c)
	if err := syscall.Kill(m.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e := c.awaitKind(t, EventDied, ""); !e.Exit.Requested {
		t.Errorf("died as %+v", e.Exit)
	}
	awaitTrue(t, patience, "end of the host", func() bool { return !hostAlive(m) })
	if !proc.GroupGone(m.KernelPID) {
		t.Error("the kernel's group is still there")
	}
}

func TestStoppedHostIsFoundAgain(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	c.run(t, "echo 1").need(t)
	c.mu.Lock()
	c.Host.mu.Lock()
	conn := c.conn
	c.Host.mu.Unlock()
	c.mu.Unlock()
	_ = conn.Close() // as if the connection had broken
	var ids []string
	for i := range 5 {
		ids = append(ids, c.begin(t, fmt.Sprintf("echo %d", i)))
	}
	for i, id := range ids {
		if o := c.outcome(t, id).need(t); o.stdout != fmt.Sprintf("%d\n", i) {
			t.Errorf("execution %d: %+v", i, o)
		}
	}
	checkNumbers(t, c.all(), 1)
}

func TestK11_ManyKernelsAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 12 {
		c := start(t, toy(t))
		wg.Go(func() {
			id := newID()
			if err := c.Execute(Execute{ID: id, Code: fmt.Sprintf("echo %d", i)}); err != nil {
				t.Error(err)
				return
			}
			for e := range awaitDone(c, id) {
				if e.Done.Status != StatusOK {
					t.Errorf("kernel %d: %+v", i, e.Done)
				}
			}
		})
	}
	wg.Wait()
}

// awaitDone gives the end of an execution, or nothing if there is none.
func awaitDone(c *client, id string) <-chan Event {
	out := make(chan Event, 1)
	defer close(out)
	for {
		c.mu.Lock()
		events, over, changed := c.events, c.over, c.changed
		c.mu.Unlock()
		for _, e := range events {
			if e.Kind == EventDone && e.ExecutionID == id {
				out <- e
				return out
			}
		}
		if over {
			return out
		}
		<-changed
	}
}

func TestOrdersThatCannotBeSentAreRefused(t *testing.T) {
	t.Parallel()
	c := start(t, toy(t))
	if err := c.Execute(Execute{ID: newID(), Code: strings.Repeat("x", link.MaxHeader)}); domain.CodeOf(err) != domain.CodeInvalidArgument {
		t.Errorf("code over the limit: %v", err)
	}
	if err := c.Execute(Execute{}); domain.CodeOf(err) != domain.CodeInvalidArgument {
		t.Errorf("no id: %v", err)
	}
	c.run(t, "echo well").need(t)
	id := c.begin(t, "sleep 60")
	c.awaitMessage(t, id, "execute_input")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Request(ctx, "shell", "complete_request", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("request to a busy kernel: %v", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Request(t.Context(), "shell", "complete_request", nil)
		waiting <- err
	}()
	awaitTrue(t, patience, "request on its way", func() bool {
		c.Host.mu.Lock()
		defer c.Host.mu.Unlock()
		return len(c.replies) == 1 && len(c.orders) == 0
	})
	c.Host.mu.Lock()
	conn := c.conn
	c.Host.mu.Unlock()
	_ = conn.Close()
	if err := <-waiting; err == nil {
		t.Error("a request outlived its connection")
	}
	if err := c.Interrupt(id); err != nil {
		t.Error(err)
	}
	c.outcome(t, id)
}
