package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// NotebookID names a notebook for life. It is a UUID in its canonical text form.
type NotebookID string

// CellID names a cell within a notebook: "cell-<uuid>", or whatever id the file had.
type CellID string

// ExecutionID names one run of one cell. It is a UUID in its canonical text form.
type ExecutionID string

// IDSource makes fresh identifiers. Core packages take one as an input so that
// tests can predict what they make.
type IDSource interface {
	// UUID returns a random version 4 UUID in canonical text form.
	UUID() string
}

// RandomIDs makes identifiers from a source of random bytes, normally crypto/rand.Reader.
// It is as safe for concurrent use as its reader.
type RandomIDs struct{ Rand io.Reader }

// UUID returns a version 4 UUID. It panics when the source of random bytes
// fails, because no caller could go on without one.
func (r RandomIDs) UUID() string {
	var b [16]byte
	if _, err := io.ReadFull(r.Rand, b[:]); err != nil {
		panic(fmt.Sprintf("domain: random source failed: %v", err))
	}
	return formatUUID(b, 4)
}

// DerivedUUID returns a UUID (version 8) that is a pure function of its parts,
// so that work repeated under the same call id finds what it made the first time.
func DerivedUUID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	var b [16]byte
	copy(b[:], h.Sum(nil))
	return formatUUID(b, 8)
}

// DerivedCellID returns the id of the n-th cell that the call named by callID makes.
func DerivedCellID(callID string, n int) CellID {
	return CellID("cell-" + DerivedUUID("cell", callID, fmt.Sprint(n)))
}

// DerivedExecutionID returns the id of the execution of a cell that the call named by callID starts.
func DerivedExecutionID(callID string, cell CellID) ExecutionID {
	return ExecutionID(DerivedUUID("execution", callID, string(cell)))
}

// IsUUID says whether s is a UUID in canonical text form: 8-4-4-4-12 lower or upper case hex digits.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
			continue
		}
		if !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}

func formatUUID(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
