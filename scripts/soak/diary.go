package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// Who is killed.
const (
	sessionLayer = "session layer"
	daemonName   = "daemon"
)

// longest is how many of the longest waits are shown.
const longest = 10

// diary is what happened when.
type diary struct {
	began time.Time

	mu     sync.Mutex // guards what follows
	calls  []callNote
	events []eventNote
	backs  []time.Duration // from the death of a daemon until the next one answers
}

type callNote struct {
	tool        string
	began       time.Time
	took, slept time.Duration
	refused     string
	lost        bool
}

// wait is how long the agent waited for what takes no time by itself.
func (c callNote) wait() time.Duration { return c.took - c.slept }

type eventNote struct {
	at   time.Time
	text string
}

func (d *diary) called(tool string, began time.Time, slept time.Duration, r result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := callNote{tool: tool, began: began, took: time.Since(began), slept: slept, lost: r.lost}
	if r.refused {
		c.refused = r.text
	}
	d.calls = append(d.calls, c)
}

// forget begins anew: what came before was preparation.
func (d *diary) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.events, d.began = nil, nil, time.Now()
}

func (d *diary) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, eventNote{time.Now(), text})
}

func (d *diary) killed(who string) { d.note("kill -9 " + who) }

// back notes that a daemon answers again, and when that one was started.
func (d *diary) back(after, started time.Duration) {
	d.note(fmt.Sprintf("the next daemon answers, %v after the kill (its process was there after %v)", after.Round(time.Millisecond), started.Round(time.Millisecond)))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.backs = append(d.backs, after)
}

func (d *diary) report(w io.Writer, a *agent, s *stage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kills := map[string]int{}
	for _, e := range d.events {
		kills[e.text]++
	}
	refused, lost := 0, 0
	tools := map[string][]time.Duration{}
	for _, c := range d.calls {
		tools[c.tool] = append(tools[c.tool], c.wait())
		if c.lost {
			lost++
		}
		if c.refused == "" {
			continue
		}
		if refused++; refused <= shown {
			fmt.Fprintf(w, "REFUSED %s at %s after %v: %.500s\n", c.tool, d.at(c.began), c.took, c.refused)
		}
	}
	elapsed := time.Since(d.began)
	fmt.Fprintf(w, "%d calls in %v (%.0f a second): %d answered, %d refused, %d lost\n", len(d.calls), elapsed.Round(time.Second),
		float64(len(d.calls))/elapsed.Seconds(), len(d.calls)-refused-lost, refused, lost)
	fmt.Fprintf(w, "killed: the session layer %d times, the daemon %d times\n", kills["kill -9 "+sessionLayer], kills["kill -9 "+daemonName])
	if r, ok := s.status(a.pid()); ok {
		fmt.Fprintf(w, "proxy %d, the same throughout: %d children, %d calls sent again, breaker %s\n", r.PID, r.Counts.Starts, r.Counts.Resent, r.Breaker.State)
	}
	if len(d.backs) > 0 {
		fmt.Fprintf(w, "from a daemon's death until the next one answers: %s\n", spread(d.backs))
	}
	for _, who := range []string{sessionLayer, daemonName} {
		if all := d.recoveries("kill -9 " + who); len(all) > 0 {
			fmt.Fprintf(w, "from the death of the %s until the next answer: %s\n", who, spread(all))
		}
	}
	fmt.Fprintln(w, "\nwaits, without what a cell slept by itself:")
	for _, tool := range sortedKeys(tools) {
		fmt.Fprintf(w, "  %-17s %6d calls  %s\n", tool, len(tools[tool]), spread(tools[tool]))
	}
	d.reportLongest(w)
}

// inFlight is how long after a death an answer may come that was under way.
const inFlight = 5 * time.Millisecond

// recoveries returns how long it took after each of such events until a call was answered.
func (d *diary) recoveries(event string) []time.Duration {
	var all []time.Duration
	for _, e := range d.events {
		if e.text != event {
			continue
		}
		next := time.Duration(-1)
		for _, c := range d.calls {
			if after := c.began.Add(c.took).Sub(e.at); after > inFlight && (next < 0 || after < next) {
				next = after
			}
		}
		if next >= 0 {
			all = append(all, next)
		}
	}
	return all
}

// reportLongest shows what happened during the longest waits.
func (d *diary) reportLongest(w io.Writer) {
	calls := slices.Clone(d.calls)
	slices.SortFunc(calls, func(a, b callNote) int { return int(b.wait() - a.wait()) })
	fmt.Fprintln(w, "\nthe longest waits:")
	for _, c := range calls[:min(longest, len(calls))] {
		fmt.Fprintf(w, "  %-15s %v from %s\n", c.tool, c.wait().Round(time.Millisecond), d.at(c.began))
		for _, e := range d.events {
			if since := e.at.Sub(c.began); since > -2*time.Second && since < c.took {
				fmt.Fprintf(w, "      %+.3f s  %s\n", since.Seconds(), e.text)
			}
		}
	}
}

func (d *diary) at(t time.Time) string { return fmt.Sprintf("%.1f s", t.Sub(d.began).Seconds()) }

func spread(all []time.Duration) string {
	s := slices.Sorted(slices.Values(all))
	at := func(p float64) time.Duration { return s[int(p*float64(len(s)-1))].Round(time.Millisecond / 10) }
	return fmt.Sprintf("p50 %v, p90 %v, p99 %v, longest %v", at(0.5), at(0.9), at(0.99), at(1))
}

func sortedKeys(m map[string][]time.Duration) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
