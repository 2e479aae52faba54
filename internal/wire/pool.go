package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Types of requests on the pool channel.
const (
	PoolPing               = "ping"
	PoolStatus             = "status"
	PoolShutdown           = "shutdown"
	PoolFlush              = "flush_pool"
	PoolInspectNotebook    = "inspect_notebook"
	PoolGetProjection      = "get_notebook_projection"
	PoolListRooms          = "list_rooms"
	PoolShutdownNotebook   = "shutdown_notebook"
	PoolActiveEnvPaths     = "active_env_paths"
	PoolGetDaemonInfo      = "get_daemon_info"
	PoolGetExecutionResult = "get_execution_result"
	PoolGetRuntimeMetrics  = "get_runtime_metrics"
	PoolTake               = "take"
	PoolReturn             = "return"
)

// Types of answers on the pool channel. The type that carries each is named.
const (
	PoolPong             = "pong"                            // Pong
	PoolStats            = "stats"                           // PoolStatsBody
	PoolEmpty            = "empty"                           // no fields: no environment to take
	PoolReturned         = "returned"                        // no fields
	PoolShuttingDown     = "shutting_down"                   // no fields
	PoolFlushed          = "flushed"                         // no fields
	PoolOK               = "ok"                              // no fields
	PoolDaemonInfo       = "daemon_info"                     // DaemonInfo
	PoolRoomsList        = "rooms_list"                      // RoomsList
	PoolNotebookShutdown = "notebook_shutdown"               // NotebookShutdown
	PoolExecutionResult  = "execution_result"                // ExecutionResult
	PoolNotebookState    = "notebook_state"                  // NotebookState
	PoolNoProjection     = "notebook_projection_unavailable" // ProjectionUnavailable
	PoolEnvPaths         = "active_env_paths"                // ActiveEnvPaths
	PoolRuntimeMetrics   = "runtime_metrics"                 // RuntimeMetrics
	PoolError            = "error"                           // PoolFailure
)

// PoolRequest is a request on the pool channel.
type PoolRequest struct {
	Type        string `json:"type"`
	NotebookID  string `json:"notebook_id,omitempty"`
	ExecutionID string `json:"execution_id,omitempty"`
	EnvType     string `json:"env_type,omitempty"` // take: "uv", "conda", "pixi"
}

// DecodePoolRequest reads a request on the pool channel.
func DecodePoolRequest(b []byte) (PoolRequest, error) {
	var r PoolRequest
	if err := json.Unmarshal(b, &r); err != nil {
		return PoolRequest{}, fmt.Errorf("decode pool request: %w", err)
	}
	if r.Type == "" {
		return PoolRequest{}, errors.New("decode pool request: no type")
	}
	return r, nil
}

// EncodePool returns a message of the pool channel: the fields of body beside
// the type. body is a struct, or nil for none.
func EncodePool(typ string, body any) ([]byte, error) {
	b, err := flatten("type", typ, "", body)
	if err != nil {
		return nil, fmt.Errorf("encode pool message %s: %w", typ, err)
	}
	return b, nil
}

// DecodePool reads the answer to a pool request into v when it is of the type
// want. An answer of type error, or of another type, is returned as a *PoolFailure.
func DecodePool(b []byte, want string, v any) error {
	var head struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("decode pool message: %w", err)
	}
	if head.Type != want {
		f := new(PoolFailure)
		if head.Type != PoolError || json.Unmarshal(b, f) != nil {
			f.Message = fmt.Sprintf("answer is %q, want %q", head.Type, want)
		}
		return f
	}
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("decode pool message %s: %w", want, err)
	}
	return nil
}

// PoolFailure is the answer error, and the error of DecodePool.
type PoolFailure struct {
	Message string `json:"message"`
	Code    string `json:"runt_code,omitempty"` // a domain.Code
	Hint    string `json:"runt_hint,omitempty"`
}

// Error returns the message of the daemon.
func (e *PoolFailure) Error() string { return e.Message }

// Pong answers ping.
type Pong struct {
	ProtocolVersion int             `json:"protocol_version,omitempty"`
	DaemonVersion   string          `json:"daemon_version,omitempty"`
	Runt            *Implementation `json:"runt,omitempty"`
}

// DaemonInfo answers get_daemon_info.
type DaemonInfo struct {
	ProtocolVersion   int       `json:"protocol_version"`
	DaemonAPIVersion  int       `json:"daemon_api_version"`
	DaemonVersion     string    `json:"daemon_version"`
	PID               int       `json:"pid"`
	StartedAt         time.Time `json:"started_at"`
	BlobPort          int       `json:"blob_port,omitempty"` // of a server without a token
	ExecutionStoreDir string    `json:"execution_store_dir,omitempty"`

	Runt      *Implementation `json:"runt,omitempty"`
	HTTPPort  int             `json:"runt_http_port,omitempty"`
	HTTPToken string          `json:"runt_http_token,omitempty"`
	StateDir  string          `json:"runt_state_dir,omitempty"`
}

// States of a room.
const (
	RoomActive   = "active"   // with peers
	RoomIdle     = "idle"     // with a kernel only
	RoomInactive = "inactive" // with neither
)

// RoomInfo describes one open room.
type RoomInfo struct {
	NotebookID   string `json:"notebook_id"`
	ActivePeers  int    `json:"active_peers"`
	HadPeers     bool   `json:"had_peers"`
	HasKernel    bool   `json:"has_kernel"`
	KernelType   string `json:"kernel_type,omitempty"`
	EnvSource    string `json:"env_source,omitempty"`
	KernelStatus string `json:"kernel_status,omitempty"`
	Ephemeral    bool   `json:"ephemeral"`
	NotebookPath string `json:"notebook_path,omitempty"`
	State        string `json:"state"`

	Untitled bool     `json:"runt_untitled,omitempty"`
	Cells    int      `json:"runt_cells,omitempty"`
	Peers    []string `json:"runt_peers,omitempty"` // labels
}

// RoomsList answers list_rooms.
type RoomsList struct {
	Rooms []RoomInfo `json:"rooms"`
}

// MarshalJSON writes an empty list for nil.
func (b RoomsList) MarshalJSON() ([]byte, error) {
	type plain RoomsList
	b.Rooms = list(b.Rooms)
	return json.Marshal(plain(b))
}

// NotebookShutdown answers shutdown_notebook.
type NotebookShutdown struct {
	Found bool `json:"found"`
}

// ExecutionRecordVersion is the schema_version of an ExecutionRecord.
const ExecutionRecordVersion = 1

// ExecutionRecord is what is kept of an execution once it is over.
type ExecutionRecord struct {
	SchemaVersion  int               `json:"schema_version"`
	ExecutionID    string            `json:"execution_id"`
	ContextKind    string            `json:"context_kind"` // "notebook"
	ContextID      string            `json:"context_id"`   // id of the notebook
	NotebookPath   string            `json:"notebook_path,omitempty"`
	CellID         string            `json:"cell_id,omitempty"`
	Status         string            `json:"status"`
	Success        *bool             `json:"success,omitempty"`
	ExecutionCount *int64            `json:"execution_count,omitempty"`
	Source         string            `json:"source,omitempty"`
	Seq            *uint64           `json:"seq,omitempty"`
	SubmittedBy    string            `json:"submitted_by_actor_label,omitempty"`
	Outputs        []json.RawMessage `json:"outputs"` // manifests in order
	CreatedAt      time.Time         `json:"created_at"`
	UpdatedAt      time.Time         `json:"updated_at"`
	Seconds        float64           `json:"runt_seconds,omitempty"`
	Reason         string            `json:"runt_reason,omitempty"`
	Hint           string            `json:"runt_hint,omitempty"`
}

// MarshalJSON writes an empty list for nil.
func (r ExecutionRecord) MarshalJSON() ([]byte, error) {
	type plain ExecutionRecord
	r.Outputs = list(r.Outputs)
	return json.Marshal(plain(r))
}

// ExecutionResult answers get_execution_result.
type ExecutionResult struct {
	Record ExecutionRecord `json:"record"`
}
