package core

import (
	"log/slog"

	"runt/internal/supervise"
)

// Event is something that happened outside.
type Event interface{ event() }

// The events. Those with a Gen are about the child of that generation.
type (
	// ClientLine is a line the client sent, without its newline.
	ClientLine struct{ Line []byte }
	// ClientFault is a line of the client that could not be read.
	ClientFault struct{ Err error }
	// ClientEOF is the end of the client's input.
	ClientEOF struct{}
	// ClientGone says that the client cannot be written to any more.
	ClientGone struct{}
	// Stop asks for a quick end (SIGTERM).
	Stop struct{}
	// ChildStarted says that a process runs. Sum is the SHA-256 of its program, if
	// known; else ChildProgram may tell it.
	ChildStarted struct {
		Gen, PID  int
		Path, Sum string
	}
	// ChildProgram tells the SHA-256 of the program a child was started from.
	ChildProgram struct {
		Gen int
		Sum string
	}
	// ChildFailed says that no process could be started.
	ChildFailed struct {
		Gen int
		Err error
	}
	// ChildLine is a line the child sent, without its newline.
	ChildLine struct {
		Gen  int
		Line []byte
	}
	// ChildExited says that the child has been reaped and all it wrote has been told.
	ChildExited struct {
		Gen  int
		Exit supervise.Exit
	}
	// ProgramFound tells the SHA-256 of the program that is now on disk.
	ProgramFound struct{ Sum string }
	// Tick says that the time of Deadline has come.
	Tick struct{}
)

func (ClientLine) event()   {}
func (ClientFault) event()  {}
func (ClientEOF) event()    {}
func (ClientGone) event()   {}
func (Stop) event()         {}
func (ChildStarted) event() {}
func (ChildProgram) event() {}
func (ChildFailed) event()  {}
func (ChildLine) event()    {}
func (ChildExited) event()  {}
func (ProgramFound) event() {}
func (Tick) event()         {}

// Effect is something to be done outside, in the order given.
type Effect interface{ effect() }

// The effects.
type (
	// SendClient writes a line to the client.
	SendClient struct{ Line []byte }
	// SendChild writes a line to the child of that generation.
	SendChild struct {
		Gen  int
		Line []byte
	}
	// StartChild starts a process; ChildStarted or ChildFailed must follow. Env
	// replaces the variables named by RejoinVars.
	StartChild struct {
		Gen int
		Env []string
	}
	// EndChild ends the process within bounds; ChildExited must follow.
	EndChild struct {
		Gen   int
		Grace supervise.Grace
	}
	// Log writes a line to the log.
	Log struct {
		Level slog.Level
		Msg   string
		Attrs []slog.Attr
	}
	// Exit ends the proxy once everything sent to the client has been written.
	Exit struct{ Code int }
)

func (SendClient) effect() {}
func (SendChild) effect()  {}
func (StartChild) effect() {}
func (EndChild) effect()   {}
func (Log) effect()        {}
func (Exit) effect()       {}
