package ipynb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// LegalID says that nbformat accepts s as the id of a cell: 1 to 64 letters, digits, hyphens and underscores of ASCII.
func LegalID(s string) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// identify gives every cell a legal id of its own. It reports whether the
// file may stay as it is: it has all ids, or is of a version without ids and has none.
func (p *parser) identify(cells []Cell, minor int) (faithful bool) {
	used := map[string]bool{}
	made := make([]bool, len(cells))
	none := true
	for i, c := range cells {
		none = none && c.ID == ""
		switch {
		case c.ID == "":
			made[i] = true
		case !LegalID(c.ID):
			made[i] = true
			p.warn(WarnIDIllegal, i, "Cell %d had the illegal id %.80q and got another one.", i+1, c.ID)
		case used[c.ID]:
			made[i] = true
			p.warn(WarnIDDuplicate, i, "Cell %d had the same id %q as a cell before it and got another one.", i+1, c.ID)
		default:
			used[c.ID] = true
		}
	}
	if none && minor < Minor {
		faithful = true
	} else {
		faithful = minor >= Minor
	}
	for i := range cells {
		if !made[i] {
			continue
		}
		if cells[i].ID == "" && minor >= Minor {
			p.warn(WarnIDMissing, i, "Cell %d has no id and got one.", i+1)
		}
		faithful = faithful && none && minor < Minor
		cells[i].ID, cells[i].IDMade = freshID(p.newID, cells[i], used), true
		used[cells[i].ID] = true
	}
	return faithful
}

// freshID returns an id that is not in used. It asks newID, and derives the id
// from the content when newID is nil or cannot serve.
func freshID(newID func() string, c Cell, used map[string]bool) string {
	if newID != nil {
		for range 8 {
			if id := newID(); LegalID(id) && !used[id] {
				return id
			}
		}
	}
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %d:%s %s", n, len(c.Type), c.Type, c.Source))
		if id := hex.EncodeToString(sum[:4]); !used[id] {
			return id
		}
	}
}
