package automerge

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
)

// Hash identifies a change: the SHA-256 of its encoding.
type Hash [32]byte

// String returns the hash in lower-case hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns what String returns, so that hashes may stand in JSON.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is the reverse of MarshalText.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}

// ParseHash reads a hash from 64 hexadecimal digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if hex.DecodedLen(len(s)) != len(h) || len(s)%2 != 0 {
		return h, fmt.Errorf("parse hash: want 64 hexadecimal digits, got %d characters", len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("parse hash: %w", err)
	}
	return h, nil
}

// ParseHashes reads a list of hashes, such as the required heads of a request.
func ParseHashes(ss []string) ([]Hash, error) {
	hs := make([]Hash, 0, len(ss))
	for _, s := range ss {
		h, err := ParseHash(s)
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	return hs, nil
}

// HashStrings returns the hexadecimal forms of hs.
func HashStrings(hs []Hash) []string {
	ss := make([]string, len(hs))
	for i, h := range hs {
		ss[i] = h.String()
	}
	return ss
}

// SameHeads reports whether a and b, both sorted, are the same heads.
func SameHeads(a, b []Hash) bool { return slices.Equal(a, b) }

func compareHashes(a, b Hash) int { return bytes.Compare(a[:], b[:]) }

func sortHashes(hs []Hash) []Hash {
	slices.SortFunc(hs, compareHashes)
	return hs
}
