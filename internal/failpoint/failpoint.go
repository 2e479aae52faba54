package failpoint

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// EnvVar names the environment variable that sets failpoints of a process at its start.
const EnvVar = "RUNT_FAILPOINTS"

// ErrInjected is in the chain of every error that a failpoint makes.
var ErrInjected = errors.New("injected by a failpoint")

// armed counts the names that have terms; Inject looks no further while it is 0.
var armed atomic.Int32

var (
	mu     sync.Mutex // guards points and their fields
	points = map[string]*point{}
)

// point is a named place with terms.
type point struct {
	terms   []term
	hits    int
	release chan struct{} // closed when the terms change, for those who pause
}

func init() {
	if v := os.Getenv(EnvVar); v != "" {
		if err := setAll(v); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", EnvVar, err)
			os.Exit(2)
		}
	}
}

func setAll(list string) error {
	for entry := range strings.SplitSeq(list, ";") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, terms, ok := strings.Cut(entry, "=")
		if !ok {
			return fmt.Errorf("set failpoints: %q is not name=terms", entry)
		}
		if err := Set(strings.TrimSpace(name), terms); err != nil {
			return err
		}
	}
	return nil
}

// Set says what happens at a place from now on, and lets go whoever pauses
// there. It replaces earlier terms and starts the count of hits anew.
func Set(name, terms string) error {
	ts, err := parse(terms)
	if err != nil {
		return fmt.Errorf("set failpoint %s: %w", name, err)
	}
	mu.Lock()
	defer mu.Unlock()
	clearLocked(name)
	points[name] = &point{terms: ts, release: make(chan struct{})}
	armed.Add(1)
	return nil
}

// Clear makes a place harmless again and lets go whoever pauses there.
func Clear(name string) {
	mu.Lock()
	defer mu.Unlock()
	clearLocked(name)
}

func clearLocked(name string) {
	if p, ok := points[name]; ok {
		close(p.release)
		delete(points, name)
		armed.Add(-1)
	}
}

// Hits says how often the place was passed since Set, 0 when it has no terms.
func Hits(name string) int {
	mu.Lock()
	defer mu.Unlock()
	if p, ok := points[name]; ok {
		return p.hits
	}
	return 0
}

// Inject does what the terms of the place say: it returns an error, waits,
// panics or ends the process. Without terms it returns nil at once.
func Inject(name string) error {
	if armed.Load() == 0 {
		return nil
	}
	t, release := take(name)
	return t.do(name, release)
}

// take uses up one term of the place.
func take(name string) (term, <-chan struct{}) {
	mu.Lock()
	defer mu.Unlock()
	p, ok := points[name]
	if !ok {
		return term{}, nil
	}
	p.hits++
	for len(p.terms) > 0 {
		t := &p.terms[0]
		if t.count == 0 {
			p.terms = p.terms[1:]
			continue
		}
		if t.count > 0 {
			t.count--
		}
		return *t, p.release
	}
	return term{}, nil
}

func (t term) do(name string, release <-chan struct{}) error {
	switch t.action {
	case actError:
		return fmt.Errorf("%s at %s: %w", t.text, name, ErrInjected)
	case actPanic:
		panic(fmt.Sprintf("failpoint %s: %s", name, t.text))
	case actDelay:
		time.Sleep(t.delay)
	case actPause:
		<-release
	case actExit:
		os.Exit(t.code)
	case actKill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail: it is our own pid
		select {}
	}
	return nil
}
