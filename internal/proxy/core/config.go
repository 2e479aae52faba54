package core

import (
	"encoding/json"
	"time"

	"runt/internal/supervise"
)

// Config is what a Core is told once.
type Config struct {
	Name, Version string          // of the server, as the client sees it
	Instructions  string          // for the client's model
	Tools         json.RawMessage // the value of "tools" in the answer to tools/list
	Capabilities  json.RawMessage // the server's; nil means tools and logging
	LogPath       string          // named in error messages
	Held          []Notebook      // notebooks the first child should join

	NewSession func() string  // a fresh UUID
	Rand       func() float64 // in [0,1), for jitter
	Limits     Limits         // zero value means DefaultLimits
}

// Limits are the numbers of the proxy's behaviour.
type Limits struct {
	BackoffMin, BackoffMax time.Duration
	CrashLimit             int           // crashes within CrashWindow that open the breaker
	CrashWindow            time.Duration // also how long a child must live to be healthy without answering a call
	Cooldown               time.Duration

	Handshake   time.Duration // a child that has not answered initialize by then is replaced
	FirstWait   time.Duration // how long a call waits for the first child
	Wait        time.Duration // how long a call waits for another child
	CancelWait  time.Duration // how long a cancelled call may stay unanswered by the child
	Reconnect   time.Duration // the reconnect tool answers by then
	Drain       time.Duration // after the client's end of input, calls wait so long for a child
	LastWord    time.Duration // after the client's end of input, a child may answer for so long
	QuickDeath  time.Duration // a crash so soon after a call was sent counts against the call
	QuickDeaths int           // as many, and the call is given up
	MaxHeld     int           // bytes of calls in flight

	Grace      supervise.Grace // to end a child in order
	QuickGrace supervise.Grace // to end one that somebody waits for
}

// DefaultLimits returns the limits of design.md section 9.
func DefaultLimits() Limits {
	return Limits{
		BackoffMin: 100 * time.Millisecond, BackoffMax: 2 * time.Second,
		CrashLimit: 5, CrashWindow: 30 * time.Second, Cooldown: 60 * time.Second,
		Handshake: 15 * time.Second, FirstWait: 20 * time.Second, Wait: 10 * time.Second,
		CancelWait: 10 * time.Second, Reconnect: 900 * time.Millisecond, Drain: 3 * time.Second, LastWord: 4200 * time.Millisecond,
		QuickDeath: 2 * time.Second, QuickDeaths: 5, MaxHeld: 256 << 20,
		Grace:      supervise.Grace{EOF: 2 * time.Second, Term: time.Second, Kill: time.Second},
		QuickGrace: supervise.Grace{EOF: 300 * time.Millisecond, Term: 100 * time.Millisecond, Kill: time.Second},
	}
}

// ProtocolVersions are the MCP versions that the initialize handshake can agree on, newest first.
var ProtocolVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// batchVersion is the one version of MCP in which a line may be a batch.
const batchVersion = "2025-03-26"

var defaultCapabilities = json.RawMessage(`{"logging":{},"tools":{"listChanged":false}}`)
