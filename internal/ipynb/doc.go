// Package ipynb reads and writes Jupyter notebook files.
//
// Parse accepts nbformat 1 to 4 in the shapes found in the wild: worksheets,
// missing, repeated or illegal cell ids, text as a string or as a list of
// lines, CRLF line ends, a byte order mark, NaN and Infinity, numbers of any
// size, and keys nobody has heard of. What cannot be read is refused with a
// domain.Error of code file_unreadable that names line and column. Whatever
// was bent on the way in is listed in File.Warnings.
//
// Render writes strict JSON. Given the File that was last read or written, it
// keeps the bytes of everything that did not change: cells, outputs, single
// metadata values and single source lines, the order of keys, indentation, line
// ends and the end of the file. New parts are written as Python's nbformat
// writes them (sorted keys, literal UTF-8, text as a list of lines), in the
// indentation of the file, one blank when there is none to follow.
//
// # Values
//
// JSON values are nil, bool, string, int64, uint64, float64, json.Number for a
// number that fits none of these, []any and map[string]any. A NaN or Infinity
// in a file becomes the string "NaN", "Infinity" or "-Infinity". Text that may
// be split into lines is one string in memory: see JoinedOutput.
//
// # Identifiers
//
// A cell without a usable id gets one derived from its content, so the same
// bytes give the same ids at every reading until a save writes them down.
//
// # Ownership
//
// The package is pure and keeps no state. A File and the bytes it was parsed
// from must not be modified: long strings and raw outputs alias these bytes.
package ipynb
