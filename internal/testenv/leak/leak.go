// Package leak finds goroutines that a test started and did not end.
//
// A test calls [Check] first; when it is over, goroutines of ours that were not
// there before and do not end by themselves fail the test with their stacks.
// [Main] does the same once for all tests of a package, from TestMain. Goroutines are compared
// across the whole process, so a test that calls Check must not run in parallel with others;
// Main has no such limit.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long goroutines may take to end after the test.
const patience = 5 * time.Second

// ours marks stacks that our code is part of.
const ours = "runt/"

// Check looks at the goroutines now and again when the test and its cleanups
// registered later are over.
func Check(t testing.TB) {
	t.Helper()
	before := map[int]bool{}
	for _, g := range goroutines() {
		before[g.id] = true
	}
	t.Cleanup(func() {
		t.Helper()
		if left := remaining(before, patience); len(left) > 0 {
			t.Errorf("%d goroutines were left behind:\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
}

// Main runs the tests of a package and ends the process; it fails when
// goroutines of ours are left after the last test.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := remaining(nil, patience); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "%d goroutines were left behind:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// remaining returns the stacks of the goroutines of ours that are not in before,
// giving them time to end.
func remaining(before map[int]bool, limit time.Duration) []string {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var left []string
		for _, g := range goroutines() {
			if !before[g.id] && g.ours() {
				left = append(left, g.stack)
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return left
		}
	}
}

// goroutine is one of those in a stack dump.
type goroutine struct {
	id    int
	stack string
}

// ours says whether our code is part of it and it is not a test itself.
func (g goroutine) ours() bool {
	for _, own := range []string{"testing.tRunner(", "testing.(*M).", "internal/testenv/leak.goroutines", "testing.runFuzz", "os/signal.loop"} {
		if strings.Contains(g.stack, own) {
			return false
		}
	}
	return strings.Contains(g.stack, ours)
}

// goroutines takes a dump of all stacks and cuts it into goroutines.
func goroutines() []goroutine {
	buf := make([]byte, 64<<10)
	for {
		if n := runtime.Stack(buf, true); n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var gs []goroutine
	for _, s := range strings.Split(strings.TrimSpace(string(buf)), "\n\n") {
		head, _, _ := strings.Cut(strings.TrimPrefix(s, "goroutine "), " ")
		if id, err := strconv.Atoi(head); err == nil {
			gs = append(gs, goroutine{id, s})
		}
	}
	return gs
}
