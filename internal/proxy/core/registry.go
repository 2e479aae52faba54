package core

import (
	"encoding/json"
	"slices"

	"runt/internal/domain"
	"runt/internal/proxy/rpcline"
)

// Names of the variables by which a new child learns what to rejoin.
const (
	RejoinDefaultVar = "NTERACT_MCP_REJOIN_NOTEBOOK" // path or id of the default notebook
	RejoinAllVar     = "RUNT_MCP_REJOIN"             // JSON array of Notebook
)

// RejoinVars returns the names of the variables that StartChild.Env replaces.
func RejoinVars() []string { return []string{RejoinDefaultVar, RejoinAllVar} }

// Notebook is one notebook that the client holds.
type Notebook struct {
	ID      string `json:"id,omitempty"`
	Path    string `json:"path,omitempty"`
	Default bool   `json:"default"`
}

// HeldFrom returns the notebooks named by the values of the two rejoin
// variables, as a proxy finds them in its own environment.
func HeldFrom(byDefault, all string) []Notebook {
	var r registry
	if json.Unmarshal([]byte(all), &r.books) != nil {
		r.books = nil
	}
	if byDefault != "" {
		n := Notebook{Path: byDefault, Default: true}
		if domain.IsUUID(byDefault) {
			n = Notebook{ID: byDefault, Default: true}
		}
		r.connected(n)
	}
	return r.books
}

// registry is the set of notebooks the client holds, in the order it got them.
type registry struct{ books []Notebook }

// change is what a tool's result says about a notebook, under metaKey.
type change struct {
	Event   string `json:"event"`
	ID      string `json:"id"`
	Path    string `json:"path"`
	Default bool   `json:"default"`
}

const metaKey = "runt/notebook"

// learn takes over what a tool's result says. It returns whether something changed.
func (r *registry) learn(result []byte) bool {
	raw, ok := rpcline.Get(result, "_meta", metaKey)
	if !ok {
		return false
	}
	var changes []change
	if raw[0] == '{' {
		raw = append(append([]byte{'['}, raw...), ']')
	}
	if json.Unmarshal(raw, &changes) != nil {
		return false
	}
	before := slices.Clone(r.books)
	for _, c := range changes {
		r.apply(c)
	}
	return !slices.Equal(before, r.books)
}

func (r *registry) apply(c change) {
	n := Notebook{ID: c.ID, Path: c.Path, Default: c.Default}
	switch {
	case n.ID == "" && n.Path == "":
	case c.Event == "connected":
		r.connected(n)
	case c.Event == "saved":
		r.saved(n)
	case c.Event == "disconnected":
		r.books = slices.DeleteFunc(r.books, n.same)
	}
}

// same says whether o is the same notebook: by id, or by path where an id is not known.
func (n Notebook) same(o Notebook) bool {
	if n.ID != "" && o.ID != "" {
		return n.ID == o.ID
	}
	return n.Path != "" && n.Path == o.Path
}

func (r *registry) connected(n Notebook) {
	if n.Default {
		r.noDefault()
	}
	if i := slices.IndexFunc(r.books, n.same); i >= 0 {
		n.Default = n.Default || r.books[i].Default
		if n.Path == "" {
			n.Path = r.books[i].Path
		}
		if n.ID == "" {
			n.ID = r.books[i].ID
		}
		r.books[i] = n
	} else {
		r.books = append(r.books, n)
	}
	r.own(n)
}

// saved takes over a new path. A notebook that the client does not hold is not
// taken up: it may have been disconnected meanwhile.
func (r *registry) saved(n Notebook) {
	if i := slices.IndexFunc(r.books, n.same); i >= 0 && n.Path != "" {
		r.books[i].Path = n.Path
		r.own(r.books[i])
	}
}

// own drops what else was known under n's path: a path is one notebook's.
func (r *registry) own(n Notebook) {
	r.books = slices.DeleteFunc(r.books, func(o Notebook) bool {
		return o.Path != "" && o.Path == n.Path && o.ID != n.ID
	})
}

func (r *registry) noDefault() {
	for i := range r.books {
		r.books[i].Default = false
	}
}

// env returns the variables for a new child; none when nothing is held.
func (r *registry) env() []string {
	if len(r.books) == 0 {
		return nil
	}
	all, err := json.Marshal(r.books)
	if err != nil {
		return nil // cannot happen: strings and booleans
	}
	env := []string{RejoinAllVar + "=" + string(all)}
	if i := slices.IndexFunc(r.books, func(n Notebook) bool { return n.Default }); i >= 0 {
		target := r.books[i].Path
		if target == "" {
			target = r.books[i].ID
		}
		env = append(env, RejoinDefaultVar+"="+target)
	}
	return env
}
