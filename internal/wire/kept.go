package wire

import (
	"encoding/json"
	"time"
)

// Requests of runt's own on the pool channel, and their answers.
const (
	PoolListKept   = "runt_list_kept"   // notebooks that are kept and not open
	PoolDeleteKept = "runt_delete_kept" // forget one of them; answered with ok
	PoolKeptList   = "runt_kept_list"   // KeptList
)

// KeptNotebook is a notebook that is not open and of which the daemon keeps what its file lacks.
type KeptNotebook struct {
	NotebookID string    `json:"notebook_id"`
	Path       string    `json:"path,omitempty"` // empty for an untitled notebook
	Cells      int       `json:"cells"`
	Title      string    `json:"title,omitempty"` // its first line
	Bytes      int64     `json:"bytes"`
	ChangedAt  time.Time `json:"changed_at"`
	Issue      string    `json:"issue,omitempty"` // why it cannot be read
}

// KeptList is the body of runt_kept_list.
type KeptList struct {
	Kept []KeptNotebook `json:"kept"`
}

// MarshalJSON writes an empty list for nil.
func (k KeptList) MarshalJSON() ([]byte, error) {
	type plain KeptList
	k.Kept = list(k.Kept)
	return json.Marshal(plain(k))
}
