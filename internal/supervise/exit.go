package supervise

import (
	"fmt"
	"syscall"
)

// UpgradeCode is the exit code of a child that wants to be started again
// because a newer version of its surroundings is there.
const UpgradeCode = 75

// ExitClass is what an exit means for the restart policy.
type ExitClass int

// The classes of exits.
const (
	ExitClean   ExitClass = iota // code 0
	ExitUpgrade                  // code UpgradeCode: start again at once, not a crash
	ExitCrash                    // any other code, or a signal
)

// String returns the class in words.
func (c ExitClass) String() string {
	switch c {
	case ExitClean:
		return "clean"
	case ExitUpgrade:
		return "upgrade"
	}
	return "crash"
}

// Ending is what it took to end a child.
type Ending int

// The ways a child ends, mildest first.
const (
	EndedByItself   Ending = iota // nobody asked
	EndedOnEOF                    // after its stdin was closed
	EndedOnTerm                   // after SIGTERM
	EndedByKill                   // by SIGKILL
	EndedUnreapable               // not even then, within the bound
)

// String returns the ending in words.
func (e Ending) String() string {
	switch e {
	case EndedOnEOF:
		return "after its stdin was closed"
	case EndedOnTerm:
		return "after SIGTERM"
	case EndedByKill:
		return "by SIGKILL"
	case EndedUnreapable:
		return "not even by SIGKILL"
	}
	return "by itself"
}

// Exit is how a process ended.
type Exit struct {
	Code   int            // exit code; -1 when a signal ended it
	Signal syscall.Signal // 0 when it exited
	Ending Ending
	Stderr string // the last words on stderr, at most a few kilobytes
}

// Class returns what the exit means.
func (e Exit) Class() ExitClass {
	switch {
	case e.Signal != 0 || e.Ending == EndedUnreapable:
		return ExitCrash
	case e.Code == 0:
		return ExitClean
	case e.Code == UpgradeCode:
		return ExitUpgrade
	}
	return ExitCrash
}

// String returns one phrase: "exit code 1", "signal 9 (killed)".
func (e Exit) String() string {
	switch {
	case e.Ending == EndedUnreapable:
		return "still there after SIGKILL"
	case e.Signal != 0:
		return fmt.Sprintf("signal %d (%v)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}
