package clients

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"runt/internal/proxy/proxytest"
	"runt/internal/testenv"
)

// worker is an agent that adds one to a variable, in a new cell each time.
type worker struct {
	name     string
	notebook string // "" means the agent's default one
	try      func(tool string, args map[string]any) (string, error)
	rounds   atomic.Int64
	failures []string
	slowest  time.Duration
}

// round makes a cell and runs it, and looks whether it ran exactly once.
func (w *worker) round(n int64) {
	begun := time.Now()
	args := map[string]any{"source": fmt.Sprintf("%s = globals().get('%s', 0) + 1\nprint('%s is', %s)", w.name, w.name, w.name, w.name), "and_run": true, "timeout_secs": 50}
	if w.notebook != "" {
		args["notebook"] = w.notebook
	}
	text, err := w.try("create_cell", args)
	switch {
	case err != nil:
		w.failures = append(w.failures, err.Error())
	case !strings.Contains(text, fmt.Sprintf("%s is %d", w.name, n)):
		w.failures = append(w.failures, fmt.Sprintf("round %d gave %q", n, text))
	}
	w.slowest = max(w.slowest, time.Since(begun))
	w.rounds.Store(n)
}

func stdioTry(a *proxytest.Agent) func(string, map[string]any) (string, error) {
	return func(tool string, args map[string]any) (string, error) {
		r := a.Begin(tool, args).Result(patience)
		if r.IsError {
			return r.Text, fmt.Errorf("%s: %s", tool, r.Text)
		}
		return r.Text, nil
	}
}

const (
	kills         = 3
	roundsBetween = 4 // that each worker must get done before the next kill
)

// TestS26_ThreeKillsOfTheDaemonUnderThreeAgents lets two agents over stdio and one
// over HTTP work on two notebooks, one of them in both, while the daemon is killed.
func TestS26_ThreeKillsOfTheDaemonUnderThreeAgents(t *testing.T) {
	b := newBed(t)
	ada, ben := b.stdio("ada"), b.stdio("ben")
	eve := b.web(b.serve(), "eve")
	one := firstID(t, must(t)(stdioTry(ada)("create_notebook", nil)))
	two := firstID(t, must(t)(eve.try("create_notebook", nil)))
	must(t)(stdioTry(ben)("connect_notebook", map[string]any{"notebook_id": one}))
	must(t)(stdioTry(ben)("connect_notebook", map[string]any{"notebook_id": two}))
	workers := []*worker{
		{name: "ada", try: stdioTry(ada)},
		{name: "ben_in_two", try: stdioTry(ben)},
		{name: "ben_in_one", try: stdioTry(ben), notebook: one},
		{name: "eve", try: eve.try},
	}
	begun := time.Now()
	say := func(format string, a ...any) { t.Logf("%s  "+format, append([]any{took(begun)}, a...)...) }
	say("notebook one %s: ada (stdio), ben (stdio); notebook two %s: eve (HTTP), ben", one, two)
	over := make(chan struct{})
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for n := int64(1); ; n++ {
				select {
				case <-over:
					return
				default:
					w.round(n)
				}
			}
		})
	}
	progress := func(what string) {
		var from []int64
		for _, w := range workers {
			from = append(from, w.rounds.Load())
		}
		testenv.Await(t, limited(t), what, func() bool {
			for i, w := range workers {
				if w.rounds.Load() < from[i]+roundsBetween {
					return false
				}
			}
			return true
		})
	}
	progress("the first rounds")
	for n := range kills {
		pid := b.daemon()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill the daemon: %v", err)
		}
		killed := time.Now()
		say("kill -9 number %d of the daemon, pid %d, after %v rounds", n+1, pid, rounds(workers))
		testenv.Await(t, limited(t), "another daemon", func() bool { next := b.daemon(); return next != 0 && next != pid })
		say("another daemon answers, pid %d, %s later", b.daemon(), took(killed))
		progress("rounds after the kill")
		say("every agent has %d more rounds, %s after the kill", roundsBetween, took(killed))
	}
	close(over)
	wg.Wait()
	for _, w := range workers {
		say("%s: %d rounds, %d failures, slowest round %.2f s", w.name, w.rounds.Load(), len(w.failures), w.slowest.Seconds())
		for _, f := range w.failures {
			t.Errorf("%s: %s", w.name, f)
		}
	}
	b.wantCells(one, map[string]int64{"ada": workers[0].rounds.Load(), "ben_in_one": workers[2].rounds.Load()}, stdioTry(ada))
	b.wantCells(two, map[string]int64{"ben_in_two": workers[1].rounds.Load(), "eve": workers[3].rounds.Load()}, eve.try)
	say("each notebook has exactly the cells of its agents, each once")
}

func rounds(workers []*worker) []int64 {
	var all []int64
	for _, w := range workers {
		all = append(all, w.rounds.Load())
	}
	return all
}

// wantCells checks that a notebook has as many cells of each worker, and none of others.
func (b *bed) wantCells(id string, want map[string]int64, try func(string, map[string]any) (string, error)) {
	b.t.Helper()
	got := map[string]int64{}
	const page = 60
	for start := 0; ; start += page {
		text, err := try("get_all_cells", map[string]any{"notebook": id, "start": start, "count": page})
		if err != nil {
			b.t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(text) {
			if !idPattern.MatchString(line) {
				continue
			}
			n++
			for _, name := range []string{"ada", "ben_in_one", "ben_in_two", "eve"} {
				if strings.Contains(line, name+" = globals()") {
					got[name]++
				}
			}
		}
		if n == 0 || n < page && !strings.Contains(text, "start=") {
			break
		}
	}
	for name, n := range want {
		if got[name] != n {
			b.t.Errorf("notebook %s has %d cells of %s, want %d", id, got[name], name, n)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		b.t.Errorf("notebook %s has cells of others: %v", id, got)
	}
}
