package wire

import "encoding/json"

// EnvPool is the state of one kind of prepared environments. Ours are always empty.
type EnvPool struct {
	Available           int    `json:"available"`
	Warming             int    `json:"warming"`
	PoolSize            int    `json:"pool_size"`
	Error               string `json:"error,omitempty"`
	FailedPackage       string `json:"failed_package,omitempty"`
	ErrorKind           string `json:"error_kind,omitempty"`
	ConsecutiveFailures int    `json:"consecutive_failures"`
	RetryInSecs         int    `json:"retry_in_secs"`
}

// PoolState is the state of all kinds.
type PoolState struct {
	UV    EnvPool `json:"uv"`
	Conda EnvPool `json:"conda"`
	Pixi  EnvPool `json:"pixi"`
}

// PoolStatsBody answers status.
type PoolStatsBody struct {
	State PoolState `json:"state"`
}

// ActiveEnvPaths answers active_env_paths.
type ActiveEnvPaths struct {
	Paths []string `json:"paths"`
}

// MarshalJSON writes an empty list for nil.
func (b ActiveEnvPaths) MarshalJSON() ([]byte, error) {
	type plain ActiveEnvPaths
	b.Paths = list(b.Paths)
	return json.Marshal(plain(b))
}

// ProjectionUnavailable answers get_notebook_projection when there is none.
type ProjectionUnavailable struct {
	NotebookID string            `json:"notebook_id"`
	Failure    ProjectionFailure `json:"failure"`
}

// ProjectionFailure says why there is no projection.
type ProjectionFailure struct {
	Kind string `json:"kind"` // "room_not_found"
}

// NotebookState answers inspect_notebook.
type NotebookState struct {
	NotebookID    string                       `json:"notebook_id"`
	Cells         []CellSnapshot               `json:"cells"`
	OutputsByCell map[string][]json.RawMessage `json:"outputs_by_cell"`
	Source        string                       `json:"source"` // where the state comes from: "live_room"
	KernelInfo    *KernelInfo                  `json:"kernel_info"`
}

// MarshalJSON writes an empty list and map for nil.
func (b NotebookState) MarshalJSON() ([]byte, error) {
	type plain NotebookState
	b.Cells = list(b.Cells)
	if b.OutputsByCell == nil {
		b.OutputsByCell = map[string][]json.RawMessage{}
	}
	return json.Marshal(plain(b))
}

// CellSnapshot is one cell in a NotebookState.
type CellSnapshot struct {
	ID             string         `json:"id"`
	CellType       string         `json:"cell_type"`
	Position       string         `json:"position"`
	Source         string         `json:"source"`
	ExecutionCount string         `json:"execution_count"` // JSON: "null", "5"
	Metadata       map[string]any `json:"metadata"`        // an object, also if empty
}

// KernelInfo is the kernel in a NotebookState.
type KernelInfo struct {
	KernelType string `json:"kernel_type"`
	EnvSource  string `json:"env_source"`
	Status     string `json:"status"`
}

// RuntimeMetrics answers get_runtime_metrics.
type RuntimeMetrics struct {
	NumWorkers       int      `json:"num_workers"`
	NumAliveTasks    int      `json:"num_alive_tasks"`
	GlobalQueueDepth int      `json:"global_queue_depth"`
	WorkerBusyUS     []uint64 `json:"worker_busy_us"`
	WorkerParkCount  []uint64 `json:"worker_park_count"`
	UptimeUS         uint64   `json:"uptime_us"`
}

// MarshalJSON writes empty lists for nil.
func (b RuntimeMetrics) MarshalJSON() ([]byte, error) {
	type plain RuntimeMetrics
	b.WorkerBusyUS, b.WorkerParkCount = list(b.WorkerBusyUS), list(b.WorkerParkCount)
	return json.Marshal(plain(b))
}
