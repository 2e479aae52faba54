package kernel

import (
	"context"
	"log/slog"
	"os"
	"time"

	"runt/internal/kernel/host"
	"runt/internal/kernel/link"
)

// The words that daemon and host share; package link defines them.
type (
	// LaunchSpec says how to start a kernel.
	LaunchSpec = link.LaunchSpec
	// Execute is one run of one piece of code.
	Execute = link.Execute
	// Event is one thing that happened in the host.
	Event = link.Event
	// EventKind says what an Event is about.
	EventKind = link.EventKind
	// Message is a Jupyter message.
	Message = link.Message
	// Done is the end of an execution.
	Done = link.Done
	// Exit tells how a process ended.
	Exit = link.Exit
	// Interrupt tells about one attempt to interrupt an execution.
	Interrupt = link.Interrupt
	// Manifest tells the next daemon about a host.
	Manifest = link.Manifest
	// Welcome tells where a host stood when this connection was made.
	Welcome = link.Welcome
)

// The kinds of events; see the constants of the same names in package link.
const (
	EventAccepted     = link.EventAccepted
	EventReady        = link.EventReady
	EventMessage      = link.EventMessage
	EventInputRequest = link.EventInputRequest
	EventInterrupt    = link.EventInterrupt
	EventUnresponsive = link.EventUnresponsive
	EventDone         = link.EventDone
	EventDied         = link.EventDied
	EventFailed       = link.EventFailed
	EventLost         = link.EventLost
)

// The ways an execution can end.
const (
	StatusOK      = link.StatusOK
	StatusError   = link.StatusError
	StatusAborted = link.StatusAborted
)

// HostConfig says where a host lives and how its process is started.
type HostConfig struct {
	Dir         string   // its folder, at most about 95 bytes long; made if it does not exist
	Command     []string // program and arguments; the folder is added as the last one
	RoomID      string
	OrphanAfter time.Duration // how long it stays without a daemon when nothing runs; 0 means ten minutes
	Logger      *slog.Logger  // of the daemon's side; nil discards
}

// RunHost is the body of the kernel-host command: it runs the host of a folder until it ends.
func RunHost(ctx context.Context, dir string) error {
	return host.Run(ctx, dir, slog.New(slog.NewTextHandler(os.Stderr, nil)))
}

// ReadManifest reads the manifest in a host's folder.
func ReadManifest(dir string) (Manifest, error) { return link.ReadManifest(dir) }
