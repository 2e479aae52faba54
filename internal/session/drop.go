package session

import (
	"fmt"

	"runt/internal/domain"
)

// DropReason says why a client no longer holds a notebook.
type DropReason int

// The reasons.
const (
	DropEvicted  DropReason = iota // the daemon no longer has it
	DropSwitched                   // another notebook was connected instead, or too many were held
	DropUser                       // disconnect_notebook
)

// String returns the reason's name.
func (r DropReason) String() string {
	return [...]string{"evicted", "switched", "disconnected by the user"}[r]
}

// Drop records a notebook that the client held and no longer holds.
type Drop struct {
	Target Target
	Reason DropReason
	Detail string // a sentence about the circumstances; may be ""
}

// Err returns the error of a call that was about the dropped notebook.
func (d Drop) Err() *domain.Error {
	hint := fmt.Sprintf("Call connect_notebook with %s.", argument(d.Target))
	switch d.Reason {
	case DropEvicted:
		e := domain.Errorf(domain.CodeSessionEvicted, "Notebook %s is no longer open: %s", d.Target, orElse(d.Detail, "the daemon let it go."))
		if d.Target.Path == "" {
			return e.WithHint("Call list_notebooks to see what is open, or create_notebook.")
		}
		return e.WithHint("%s", hint)
	case DropSwitched:
		return domain.Errorf(domain.CodeSessionSwitched, "Notebook %s was let go: %s", d.Target, orElse(d.Detail, "another one was connected.")).WithHint("%s", hint)
	default:
		return domain.Errorf(domain.CodeSessionDisconnected, "You disconnected from notebook %s.", d.Target).WithHint("%s", hint)
	}
}

// argument returns the target as an argument of connect_notebook.
func argument(t Target) string {
	if t.Path != "" {
		return fmt.Sprintf("path=%q", t.Path)
	}
	return fmt.Sprintf("notebook_id=%q", t.ID)
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

func errNoSession(held []Info) *domain.Error {
	if len(held) == 0 {
		return domain.Errorf(domain.CodeNoSession, "No notebook is connected.").
			WithHint("Call list_notebooks to see what is open, then connect_notebook or create_notebook.")
	}
	return domain.Errorf(domain.CodeNoSession, "No notebook is the default one; you hold %d.", len(held)).
		WithHint("Pass notebook=%q, or call connect_notebook.", held[len(held)-1].String())
}

func errLost(t Target, cause error) *domain.Error {
	detail := "the connection to the daemon is lost"
	if cause != nil {
		detail = cause.Error()
	}
	return domain.Errorf(domain.CodeSessionDisconnected, "Notebook %s cannot be reached: %s; it is being rejoined.", t, detail).
		WithHint("Try again, or call reconnect.")
}

func errNoDaemon(t Target, cause error) *domain.Error {
	return domain.Errorf(domain.CodeSessionDisconnected, "Notebook %s cannot be reached: %w.", t, cause).
		WithHint("Start the daemon with `runt daemon start`; `runt daemon logs` says why it ended.")
}

func errSuperseded(t Target) *domain.Error {
	return domain.Errorf(domain.CodeSessionSuperseded, "Connecting to %s was overtaken by a later connect to another notebook.", t).
		WithHint("Call connect_notebook with %s if you still want it, or pass notebook in each call.", argument(t))
}

// maxDrops bounds how many dropped notebooks a client remembers.
const maxDrops = 64

// drops remembers the latest Drop of each notebook, oldest first.
type drops []Drop

func (d *drops) add(n Drop) {
	d.forget(n.Target)
	*d = append(*d, n)
	if len(*d) > maxDrops {
		*d = (*d)[1:]
	}
}

func (d *drops) forget(t Target) {
	kept := (*d)[:0]
	for _, o := range *d {
		if !o.Target.same(t) {
			kept = append(kept, o)
		}
	}
	*d = kept
}

func (d drops) find(t Target) (Drop, bool) {
	for _, o := range d {
		if o.Target.same(t) {
			return o, true
		}
	}
	return Drop{}, false
}
