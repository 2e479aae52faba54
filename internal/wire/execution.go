package wire

import (
	"encoding/json"
	"fmt"
)

// Statuses of an execution, in ExecutionDone and ExecutionRecord.
const (
	StatusQueued    = "queued"
	StatusRunning   = "running"
	StatusDone      = "done"
	StatusError     = "error"
	StatusCancelled = "cancelled" // it never ran
)

// ExecutionDone is the body of FrameExecution: an execution that the peer asked
// to be told of directly is over.
type ExecutionDone struct {
	ExecutionID    string            `json:"execution_id"`
	CellID         string            `json:"cell_id"`
	Status         string            `json:"status"` // done, error, cancelled
	ExecutionCount *int64            `json:"execution_count,omitempty"`
	Success        *bool             `json:"success,omitempty"`
	Outputs        []json.RawMessage `json:"outputs"` // manifests in order
	Seconds        float64           `json:"seconds"` // from the start of the run
	Reason         string            `json:"reason,omitempty"`
	Hint           string            `json:"hint,omitempty"`
}

// EncodeExecution returns the body of a FrameExecution.
func EncodeExecution(e ExecutionDone) ([]byte, error) {
	e.Outputs = list(e.Outputs)
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode execution: %w", err)
	}
	return b, nil
}

// DecodeExecution reads the body of a FrameExecution.
func DecodeExecution(b []byte) (ExecutionDone, error) {
	var e ExecutionDone
	if err := json.Unmarshal(b, &e); err != nil {
		return ExecutionDone{}, fmt.Errorf("decode execution: %w", err)
	}
	if e.ExecutionID == "" {
		return ExecutionDone{}, fmt.Errorf("decode execution: no execution_id")
	}
	return e, nil
}
