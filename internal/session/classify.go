package session

import "fmt"

// EventKind is what the watched connection to the daemon reports.
type EventKind int

// The events. Connected repeats every few seconds while the daemon is there.
const (
	Connected    EventKind = iota // the daemon answers, and it is the one that answered before, or the first
	Disconnected                  // the daemon does not answer
	Upgraded                      // another daemon process answers than before
	Closed                        // the watch has ended; there will be no more events
)

// String returns the event's name.
func (k EventKind) String() string {
	return [...]string{"Connected", "Disconnected", "Upgraded", "Closed"}[k]
}

// Incarnation identifies one daemon process.
type Incarnation struct {
	PID       int
	StartedAt string
	Version   string
}

// Event is one report about the connection to the daemon.
type Event struct {
	Kind           EventKind
	VersionDiffers bool // of an Upgraded: the new process has another version
	Incarnation    Incarnation
}

// Facts are what Classify knows about a client.
type Facts struct {
	Initial          Target // handed over at the start, not consumed and not overridden yet
	HasSession       bool   // at least one notebook has been joined and is still held
	WasDisconnected  bool   // a Disconnected event came, and no rejoin was decided since
	DisconnectTarget Target // a notebook that is held but was lost before it was ever joined
}

// DecisionKind is what the watch loop should do.
type DecisionKind int

// The decisions.
const (
	NoOp               DecisionKind = iota
	RejoinInitial                   // join Decision.Target and whatever else was handed over
	RejoinContinuation              // join every held notebook again
	MarkDisconnected                // remember that the daemon went away; handles stay readable
	Exit                            // end the process with Decision.Code
)

// String returns the decision's name.
func (k DecisionKind) String() string {
	return [...]string{"NoOp", "RejoinInitial", "RejoinContinuation", "MarkDisconnected", "Exit"}[k]
}

// ExitUpgraded is the exit code that asks the proxy for a new child: the daemon
// now has another version than this process was made for.
const ExitUpgraded = 75

// Decision is the outcome of Classify.
type Decision struct {
	Kind   DecisionKind
	Target Target // of RejoinInitial
	Code   int    // of Exit
}

// String returns the decision in the notation of the behaviour tables.
func (d Decision) String() string {
	switch d.Kind {
	case RejoinInitial:
		return fmt.Sprintf("RejoinInitial(%s)", d.Target)
	case Exit:
		return fmt.Sprintf("Exit(%d)", d.Code)
	}
	return d.Kind.String()
}

// Classify decides what one event means for a client. It is pure.
func Classify(e Event, f Facts) Decision {
	switch e.Kind {
	case Closed:
		return Decision{Kind: Exit, Code: 0}
	case Disconnected:
		return Decision{Kind: MarkDisconnected}
	case Upgraded:
		switch {
		case e.VersionDiffers:
			return Decision{Kind: Exit, Code: ExitUpgraded}
		case !f.Initial.IsZero():
			return Decision{Kind: RejoinInitial, Target: f.Initial}
		case f.HasSession:
			return Decision{Kind: RejoinContinuation}
		}
	case Connected:
		switch {
		case !f.Initial.IsZero():
			return Decision{Kind: RejoinInitial, Target: f.Initial}
		case f.HasSession && f.WasDisconnected:
			return Decision{Kind: RejoinContinuation}
		case !f.HasSession && f.WasDisconnected && !f.DisconnectTarget.IsZero():
			return Decision{Kind: RejoinInitial, Target: f.DisconnectTarget}
		}
	}
	return Decision{Kind: NoOp}
}
