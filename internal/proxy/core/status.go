package core

import (
	"slices"
	"time"
)

// Counts are what has happened since the proxy started.
type Counts struct {
	Calls    int `json:"calls"`
	Answered int `json:"answered"` // by a child, or by the reconnect tool
	Refused  int `json:"refused"`  // answered with an error of the proxy's
	Resent   int `json:"resent"`
	Starts   int `json:"starts"`   // children started
	Crashes  int `json:"crashes"`  // of them, those that count for the breaker
	Upgrades int `json:"upgrades"` // exits with code 75
}

// Status is what there is to know about a Core.
type Status struct {
	Session       string     `json:"session,omitempty"`
	Client        string     `json:"client,omitempty"`
	ClientVersion string     `json:"client_version,omitempty"`
	Protocol      string     `json:"protocol,omitempty"`
	Child         Child      `json:"child"`
	Breaker       Breaker    `json:"breaker"`
	Notebooks     []Notebook `json:"notebooks"`
	InFlight      int        `json:"in_flight"`
	Counts        Counts     `json:"counts"`
}

// Child is what there is to know about the child.
type Child struct {
	State   string    `json:"state"`
	Gen     int       `json:"generation"`
	PID     int       `json:"pid,omitempty"`
	Version string    `json:"version,omitempty"`
	Program string    `json:"program,omitempty"`
	SHA256  string    `json:"sha256,omitempty"`
	Stale   bool      `json:"stale,omitempty"` // another program is on disk
	Since   time.Time `json:"ready_since,omitzero"`
	Fault   string    `json:"last_fault,omitempty"`
}

// Breaker is what there is to know about the breaker.
type Breaker struct {
	State   string    `json:"state"`
	Crashes int       `json:"recent_crashes"`
	Until   time.Time `json:"until,omitzero"`
}

// Counts returns what has happened so far.
func (c *Core) Counts() Counts { return c.counts }

// Revision changes whenever the parts of Status that are worth writing down
// change: all but the counts.
func (c *Core) Revision() int { return c.revision }

func (c *Core) changed() { c.revision++ }

// Status returns a copy of the state at a time.
func (c *Core) Status(now time.Time) Status {
	b := Breaker{State: c.breaker.State(now).String(), Crashes: c.breaker.Recent(now)}
	if left := c.breaker.Left(now); left > 0 {
		b.Until = now.Add(left)
	}
	ch := Child{
		State: c.child.state.String(), Gen: c.child.gen, Version: c.child.version, Program: c.program.path,
		SHA256: c.program.running, Stale: c.program.stale(), Since: c.child.since, Fault: c.child.fault,
	}
	switch c.child.state {
	case Handshake, Ready, Ending:
		ch.PID = c.child.pid
	}
	return Status{
		Session: c.client.session, Client: c.client.info.Name, ClientVersion: c.client.info.Version, Protocol: c.client.version,
		Child: ch, Breaker: b, Notebooks: slices.Clone(c.books.books), InFlight: c.calls.len(), Counts: c.counts,
	}
}
