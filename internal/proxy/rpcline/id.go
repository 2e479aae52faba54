package rpcline

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// maxSafeInt is the largest integer that a float64 holds exactly with all its neighbours.
const maxSafeInt = 1 << 53

// IDKey returns a key under which all spellings of one id meet: 1 and 1.0, "a"
// and "\u0061". The string "1" and the number 1 are two ids.
func IDKey(raw []byte) string {
	if s, ok := String(raw); ok {
		return "s" + s
	}
	if n, ok := safeInt(raw); ok {
		return "n" + strconv.FormatInt(n, 10)
	}
	return "n" + string(raw)
}

// safeInt returns the value of a raw number that is an integer every peer can
// hold, spelled without an exponent: 7, -7.00.
func safeInt(raw []byte) (int64, bool) {
	whole, fraction, _ := bytes.Cut(raw, []byte("."))
	if len(bytes.Trim(fraction, "0")) > 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(whole), 10, 64)
	return n, err == nil && n >= -maxSafeInt && n <= maxSafeInt
}

// Quote returns s as a raw JSON string.
func Quote(s string) []byte {
	raw, err := json.Marshal(s)
	if err != nil { // cannot happen for a string
		return []byte(`""`)
	}
	return raw
}
