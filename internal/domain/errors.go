package domain

import (
	"errors"
	"fmt"
	"strings"
)

// Code is the machine-readable kind of an Error, shown in brackets at the end of an error's text.
type Code string

// The codes that users and agents may see. Each is explained in docs/errors.md.
const (
	CodeNoSession           Code = "no_session"           // no notebook is connected
	CodeSessionEvicted      Code = "session_evicted"      // the daemon let the notebook go
	CodeSessionSwitched     Code = "session_switched"     // the client moved on to another notebook
	CodeSessionDisconnected Code = "session_disconnected" // the daemon cannot be reached
	CodeSessionSuperseded   Code = "session_superseded"   // a newer connect overtook this one
	CodeNotebookUnavailable Code = "notebook_unavailable" // no such notebook here
	CodeCellNotFound        Code = "cell_not_found"
	CodeNoMatch             Code = "no_match"
	CodeAmbiguousMatch      Code = "ambiguous_match"
	CodeStaleSource         Code = "stale_source"
	CodeKernelUnavailable   Code = "kernel_unavailable" // no such kernelspec, or no kernel running
	CodeKernelDied          Code = "kernel_died"
	CodeEnvironmentFailed   Code = "environment_failed" // an interpreter or package is missing
	CodeSaveConflict        Code = "save_conflict"
	CodeSaveFailed          Code = "save_failed"
	CodeFileUnreadable      Code = "file_unreadable"
	CodeRestarting          Code = "restarting" // the call was cut off by a restart
	CodeTimeout             Code = "timeout"
	CodeInvalidArgument     Code = "invalid_argument"
	CodeInternal            Code = "internal" // a fault of ours; the text of the cause is not shown
)

// Codes lists every code above, in the order of docs/errors.md.
func Codes() []Code {
	return []Code{
		CodeNoSession, CodeSessionEvicted, CodeSessionSwitched, CodeSessionDisconnected, CodeSessionSuperseded,
		CodeNotebookUnavailable, CodeCellNotFound, CodeNoMatch, CodeAmbiguousMatch, CodeStaleSource,
		CodeKernelUnavailable, CodeKernelDied, CodeEnvironmentFailed, CodeSaveConflict, CodeSaveFailed,
		CodeFileUnreadable, CodeRestarting, CodeTimeout, CodeInvalidArgument, CodeInternal,
	}
}

// Error is what a person or a model reads when something failed: what went
// wrong, and what to do next. Err, when set, is the cause; it is for logs and errors.Is.
type Error struct {
	Code    Code
	Message string // one sentence: what went wrong, naming the thing
	Hint    string // one sentence: what to do next
	Err     error
}

// Errorf makes an Error without a hint. A %w verb in format sets the cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns a copy of e with the hint set.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Error returns message, hint and code on one line.
func (e *Error) Error() string {
	s := e.Message
	if e.Hint != "" {
		s = sentence(s) + " " + e.Hint
	}
	return s + " [" + string(e.Code) + "]"
}

// sentence ends s with a full stop when it has no end of its own.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error with the same code and no message, so
// that errors.Is(err, &Error{Code: c}) asks for a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal for
// any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
