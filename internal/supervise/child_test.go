package supervise

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runt/internal/testenv/leak"
)

// TestMain lets the test binary play the child (and the parent) of these tests.
func TestMain(m *testing.M) {
	if role := os.Getenv("FAKE_CHILD"); role != "" {
		os.Exit(fakeChild(role))
	}
	leak.Main(m)
}

func fakeChild(role string) int {
	fmt.Println("ready")
	switch role {
	case "obedient": // ends when its stdin ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "term": // ends at SIGTERM only
		ch := make(chan os.Signal, 1)
		signal.Notify(ch, syscall.SIGTERM)
		fmt.Println("listening")
		<-ch
		return 7
	case "deaf": // ends at SIGKILL only
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("listening")
		return pause()
	case "exit75":
		fmt.Fprintln(os.Stderr, "newer daemon found")
		return 75
	case "talk":
		fmt.Fprint(os.Stderr, strings.Repeat("noise\n", 2000)+"last words\n")
		return 3
	case "parent": // starts a deaf child, says its pid and waits to be killed
		c, err := Start(Command{Path: os.Args[0], Env: []string{"FAKE_CHILD=deaf"}})
		if err != nil {
			return 1
		}
		r := bufio.NewReader(c.Stdout())
		for range 2 {
			_, _ = r.ReadString('\n')
		}
		fmt.Println(c.PID())
		return pause()
	case "leaves-grandchild": // ends while another process keeps its stderr open
		c, err := os.StartProcess(os.Args[0], os.Args[:1], &os.ProcAttr{
			Env: []string{"FAKE_CHILD=obedient"}, Files: []*os.File{os.Stdin, nil, os.Stderr}})
		if err != nil {
			return 1
		}
		fmt.Println(c.Pid)
		return 0
	}
	return 99
}

// pause waits for a signal that ends the process, longer than any test.
func pause() int {
	<-time.After(time.Hour)
	return 98
}

func startFake(t *testing.T, role string, stderr io.Writer) (*Child, *bufio.Reader) {
	t.Helper()
	c, err := Start(Command{Path: os.Args[0], Env: []string{"FAKE_CHILD=" + role}, Stderr: stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.End(Grace{Kill: 5 * time.Second})
		c.Stdout().Close()
	})
	r := bufio.NewReader(c.Stdout())
	expectLine(t, r, "ready")
	return c, r
}

func expectLine(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if line, err := r.ReadString('\n'); err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("got %q (%v), want %q", line, err, want)
	}
}

func TestP09_EndAsksThenTermsThenKills(t *testing.T) {
	g := Grace{EOF: 150 * time.Millisecond, Term: 150 * time.Millisecond, Kill: 5 * time.Second}
	tests := []struct {
		role   string
		listen bool
		ending Ending
		exit   string
	}{
		{"obedient", false, EndedOnEOF, "exit code 0"},
		{"term", true, EndedOnTerm, "exit code 7"},
		{"deaf", true, EndedByKill, "signal 9 (killed)"},
	}
	for _, tt := range tests {
		t.Run(tt.role, func(t *testing.T) {
			t.Parallel()
			c, r := startFake(t, tt.role, nil)
			if tt.listen {
				expectLine(t, r, "listening")
			}
			grace := g
			if tt.ending == EndedOnEOF {
				grace.EOF = 10 * time.Second
			} else if tt.ending == EndedOnTerm {
				grace.Term = 10 * time.Second
			}
			e := c.End(grace)
			if e.Ending != tt.ending || e.String() != tt.exit {
				t.Errorf("ended %v with %v, want %v with %s", e.Ending, e, tt.ending, tt.exit)
			}
		})
	}
}

func TestEndFromManyGoroutinesGivesOneAnswer(t *testing.T) {
	c, _ := startFake(t, "obedient", nil)
	var wg sync.WaitGroup
	exits := make([]Exit, 8)
	for i := range exits {
		wg.Go(func() { exits[i] = c.End(Grace{EOF: 10 * time.Second, Kill: time.Second}) })
	}
	wg.Wait()
	for _, e := range exits {
		if e != exits[0] || e.Class() != ExitClean {
			t.Errorf("got %+v and %+v", e, exits[0])
		}
	}
}

func TestExitCodeAndLastWords(t *testing.T) {
	var log syncBuffer
	c, _ := startFake(t, "talk", &log)
	<-c.Done()
	e := c.Exit()
	if e.Code != 3 || e.Class() != ExitCrash || e.Ending != EndedByItself {
		t.Errorf("got %+v", e)
	}
	if !strings.HasSuffix(e.Stderr, "last words") || len(e.Stderr) > tailBytes || !strings.HasPrefix(e.Stderr, "noise\n") {
		t.Errorf("tail of %d bytes: %.40q", len(e.Stderr), e.Stderr)
	}
	if got := log.Len(); got != 2000*6+11 {
		t.Errorf("the log got %d bytes", got)
	}
}

func TestP04_Exit75IsAnUpgrade(t *testing.T) {
	c, _ := startFake(t, "exit75", nil)
	<-c.Done()
	if e := c.Exit(); e.Class() != ExitUpgrade || e.Stderr != "newer daemon found" {
		t.Errorf("got %+v", e)
	}
}

func TestDoneDoesNotWaitForGrandchildren(t *testing.T) {
	c, r := startFake(t, "leaves-grandchild", nil)
	pid, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Fatalf("still waiting for grandchild %s", pid)
	}
}

func TestStartOfAMissingProgram(t *testing.T) {
	before := countFDs(t)
	for range 5 {
		if _, err := Start(Command{Path: t.TempDir() + "/runt"}); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Fatalf("got %v", err)
		}
	}
	if after := countFDs(t); after > before {
		t.Errorf("%d file descriptors, %d before", after, before)
	}
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *syncBuffer) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Len()
}
