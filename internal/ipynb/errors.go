package ipynb

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"runt/internal/domain"
)

// ErrEmpty is the cause of the error for a file without any content.
var ErrEmpty = errors.New("file has no content")

// fault is an error at a place in the file.
type fault struct {
	offset int
	shape  bool // JSON, but not a notebook
	text   string
	hint   string // empty for the usual one
}

// Error returns the text without the place.
func (e *fault) Error() string { return e.text }

func faultf(offset int, format string, args ...any) *fault {
	return &fault{offset: offset, text: fmt.Sprintf(format, args...)}
}

func shapef(offset int, format string, args ...any) *fault {
	return &fault{offset: offset, shape: true, text: fmt.Sprintf(format, args...)}
}

const hintRepair = "The file was left as it is. Repair it, or take an older version of it from version control, and open it again."

// explain turns a fault into the error that a user reads.
func explain(data []byte, f *fault) error {
	line, column := position(data, f.offset)
	where := fmt.Sprintf("%s at line %d, column %d.", f.text, line, column)
	e := &domain.Error{Code: domain.CodeFileUnreadable, Hint: hintRepair, Err: f}
	marker, conflict := 0, false
	if !f.shape {
		marker, conflict = conflictMarker(data)
	}
	switch {
	case f.shape:
		e.Message = "The file is JSON but not a notebook that can be read: " + where
	case conflict:
		e.Message = fmt.Sprintf("The file has git merge conflict markers (line %d) and is not valid JSON: %s", marker, where)
		e.Hint = "The file was left as it is. Resolve the conflict, remove the marker lines, and open it again."
	default:
		e.Message = "The file is not valid JSON: " + where
	}
	if f.hint != "" {
		e.Hint = f.hint
	}
	return e
}

// position returns the line and the column, in characters, of an offset; both count from 1.
func position(data []byte, offset int) (line, column int) {
	offset = min(offset, len(data))
	before := data[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return line, column
}

// conflictMarker finds the first line that git left in the file when a merge failed.
func conflictMarker(data []byte) (line int, ok bool) {
	for l := range bytes.Lines(data) {
		line++
		l = bytes.TrimSpace(l)
		for _, marker := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
			if bytes.HasPrefix(l, []byte(marker)) {
				return line, true
			}
		}
	}
	return 0, false
}
