package session

import (
	"cmp"
	"encoding/json"
	"fmt"

	"runt/internal/domain"
)

// Target says which notebook to join: a file by its canonical path, or a
// notebook by its id. What is known of both may be set; Path decides how to join.
type Target struct {
	Path string            `json:"path,omitempty"`
	ID   domain.NotebookID `json:"id,omitempty"`
}

// IsZero reports whether the target names nothing.
func (t Target) IsZero() bool { return t == Target{} }

// String returns the path, or the id when there is no path.
func (t Target) String() string { return cmp.Or(t.Path, string(t.ID)) }

// same reports whether both are known to be one notebook.
func (t Target) same(o Target) bool {
	if t.ID != "" && o.ID != "" {
		return t.ID == o.ID
	}
	return t.Path != "" && t.Path == o.Path
}

// ParseTarget reads what a user wrote for a notebook: an id if it looks like
// one, else a path, which canonical turns into its one spelling.
func ParseTarget(s string, canonical func(string) string) Target {
	if domain.IsUUID(s) {
		return Target{ID: domain.NotebookID(s)}
	}
	return Target{Path: canonical(s)}
}

// Initial is a notebook that the client held before this process was started.
type Initial struct {
	Target
	Default bool `json:"default,omitempty"`
}

// ParseInitial reads what the proxy hands over: the default notebook (an id or
// a path, may be empty), and the JSON list of all notebooks (may be empty).
func ParseInitial(def, all string, canonical func(string) string) ([]Initial, error) {
	var list []Initial
	if all != "" {
		if err := json.Unmarshal([]byte(all), &list); err != nil {
			return nil, fmt.Errorf("read the list of notebooks to rejoin: %w", err)
		}
	}
	kept := list[:0]
	seen := false
	for _, in := range list {
		if in.IsZero() {
			continue
		}
		in.Default = in.Default && !seen
		seen = seen || in.Default
		kept = append(kept, in)
	}
	if def == "" {
		return kept, nil
	}
	t := ParseTarget(def, canonical)
	found := false
	for i := range kept {
		kept[i].Default = !found && kept[i].same(t)
		found = found || kept[i].Default
	}
	if !found {
		kept = append(kept, Initial{Target: t, Default: true})
	}
	return kept, nil
}
