package wire

import "encoding/json"

// Results of requests. The body type is named beside each; NoBody results have none.
const (
	ResultKernelLaunched        = "kernel_launched"                        // KernelLaunched
	ResultKernelAlreadyRunning  = "kernel_already_running"                 // KernelLaunched
	ResultCellQueued            = "cell_queued"                            // CellQueued
	ResultExecutionIDRejected   = "execution_id_rejected"                  // ExecutionIDRejected
	ResultInterruptSent         = "interrupt_sent"                         // InterruptSent, of ours
	ResultKernelShuttingDown    = "kernel_shutting_down"                   // no body
	ResultNoKernel              = "no_kernel"                              // no body
	ResultGuardRejected         = "guard_rejected"                         // GuardRejected
	ResultAllCellsQueued        = "all_cells_queued"                       // AllCellsQueued
	ResultNotebookSaved         = "notebook_saved"                         // NotebookSaved
	ResultNotebookCurrent       = "notebook_already_current"               // NotebookSaved
	ResultSaveBlocked           = "notebook_save_blocked"                  // SaveBlocked
	ResultSourceReconciled      = "notebook_source_reconciled"             // SourceReconciled
	ResultReconciliationBlocked = "notebook_source_reconciliation_blocked" // ReconciliationBlocked
	ResultNotebookCloned        = "notebook_cloned"                        // NotebookCloned
	ResultOK                    = "ok"                                     // no body
	ResultError                 = "error"                                  // ErrorBody
	ResultHistory               = "history_result"                         // HistoryResult
	ResultCompletion            = "completion_result"                      // CompletionResult
	ResultBokehPatch            = "bokeh_session_patch"
	ResultSyncEnvComplete       = "sync_environment_complete"      // SyncEnvironmentComplete
	ResultSyncEnvFailed         = "sync_environment_failed"        // SyncEnvironmentFailed
	ResultDocBytes              = "doc_bytes"                      // DocBytes
	ResultBlobStored            = "blob_stored"                    // BlobStored
	ResultBlobUploadCreated     = "blob_upload_created"            // BlobUploadCreated
	ResultBlobPartStored        = "blob_part_stored"               // BlobPartStored
	ResultBlobUploadAborted     = "blob_upload_aborted"            // BlobUploadAborted
	ResultBlobUploadError       = "blob_upload_error"              // BlobUploadError
	ResultSyncAcknowledged      = "notebook_sync_acknowledged"     // SyncAcknowledged
	ResultCondaEnvironments     = "conda_environments"             // none here
	ResultCondaPackages         = "installed_conda_packages"       // none here
	ResultEnvSelection          = "environment_selection"          // none here
	ResultEnvSelectionRejected  = "environment_selection_rejected" // none here
)

// Results that are additions of runt.
const (
	ResultKernelRestarted = "runt_kernel_restarted" // KernelLaunched
	ResultInspect         = "runt_inspect_result"   // InspectResult
	ResultEvaluate        = "runt_evaluate_result"  // EvaluateResult
)

// KernelLaunched is the body of kernel_launched, kernel_already_running and
// runt_kernel_restarted.
type KernelLaunched struct {
	KernelType     string       `json:"kernel_type"`
	EnvSource      string       `json:"env_source"`
	LaunchedConfig LaunchConfig `json:"launched_config"`
}

// LaunchConfig says with what a kernel was started.
type LaunchConfig struct {
	UVDeps            []string `json:"uv_deps,omitempty"`
	CondaDeps         []string `json:"conda_deps,omitempty"`
	CondaChannels     []string `json:"conda_channels,omitempty"`
	PixiDeps          []string `json:"pixi_deps,omitempty"`
	PyprojectPath     string   `json:"pyproject_path,omitempty"`
	VenvPath          string   `json:"venv_path,omitempty"`
	PythonPath        string   `json:"python_path,omitempty"`
	LaunchID          string   `json:"launch_id,omitempty"`
	PrewarmedPackages []string `json:"prewarmed_packages,omitempty"`
}

// CellQueued is the body of cell_queued, and an element of AllCellsQueued.
type CellQueued struct {
	CellID      string `json:"cell_id"`
	ExecutionID string `json:"execution_id"`
}

// Reasons why an execution id is rejected.
const (
	RejectMalformed = "malformed"
	RejectExists    = "already_exists"
	RejectDuplicate = "duplicate_in_request"
)

// ExecutionIDRejected is the body of execution_id_rejected.
type ExecutionIDRejected struct {
	ExecutionID string `json:"execution_id"`
	Reason      string `json:"reason"`
}

// InterruptSent is what runt adds to interrupt_sent.
type InterruptSent struct {
	ExecutionID string   `json:"runt_execution_id,omitempty"` // what was running
	Cancelled   []string `json:"runt_cancelled,omitempty"`    // executions that will not run
	StillBusy   bool     `json:"runt_still_busy,omitempty"`   // after 2 s
}

// GuardRejected is the body of guard_rejected.
type GuardRejected struct {
	Reason string `json:"reason"`
}

// AllCellsQueued is the body of all_cells_queued.
type AllCellsQueued struct {
	Queued []CellQueued `json:"queued"`
}

// MarshalJSON writes an empty list for nil.
func (b AllCellsQueued) MarshalJSON() ([]byte, error) {
	type plain AllCellsQueued
	b.Queued = list(b.Queued)
	return json.Marshal(plain(b))
}

// NotebookSaved is the body of notebook_saved and notebook_already_current.
type NotebookSaved struct {
	Path          string   `json:"path"`
	ExportedHeads []string `json:"exported_heads"`
	SaveSequence  uint64   `json:"save_sequence"`
}

// MarshalJSON writes an empty list for nil.
func (b NotebookSaved) MarshalJSON() ([]byte, error) {
	type plain NotebookSaved
	b.ExportedHeads = list(b.ExportedHeads)
	return json.Marshal(plain(b))
}

// Types of a SaveBlockedReason.
const (
	BlockedPathOpen          = "path_already_open"  // uuid, path
	BlockedSequenceExhausted = "sequence_exhausted" // no fields
	BlockedSuperseded        = "superseded"         // latest_sequence
	BlockedSourceConflict    = "source_conflict"    // message
	BlockedSourceDegraded    = "source_degraded"    // message
	BlockedIO                = "io"                 // message
)

// SaveBlockedReason says why a notebook was not saved. Only the fields of its
// type are there.
type SaveBlockedReason struct {
	Type           string  `json:"type"`
	UUID           string  `json:"uuid,omitempty"`
	Path           string  `json:"path,omitempty"`
	LatestSequence *uint64 `json:"latest_sequence,omitempty"`
	Message        string  `json:"message,omitempty"`
}

// SaveBlocked is the body of notebook_save_blocked.
type SaveBlocked struct {
	Path         string            `json:"path,omitempty"`
	SaveSequence *uint64           `json:"save_sequence,omitempty"`
	Reason       SaveBlockedReason `json:"reason"`
	Code         string            `json:"runt_code,omitempty"` // a domain.Code
	Hint         string            `json:"runt_hint,omitempty"`
}

// SourceReconciled is the body of notebook_source_reconciled.
type SourceReconciled struct {
	Operation        string   `json:"operation"`
	Path             string   `json:"path"`
	ArchivedJournal  string   `json:"archived_journal,omitempty"`
	ExportedHeads    []string `json:"exported_heads"`
	SaveSequence     uint64   `json:"save_sequence"`
	SourceGeneration uint64   `json:"source_generation"`
}

// MarshalJSON writes an empty list for nil.
func (b SourceReconciled) MarshalJSON() ([]byte, error) {
	type plain SourceReconciled
	b.ExportedHeads = list(b.ExportedHeads)
	return json.Marshal(plain(b))
}

// ReconciliationBlocked is the body of notebook_source_reconciliation_blocked.
type ReconciliationBlocked struct {
	Operation string `json:"operation"`
	Reason    struct {
		Type    string `json:"type"` // "not_required", "busy", "no_bound_source", "io" ...
		Message string `json:"message,omitempty"`
	} `json:"reason"`
}

// NotebookCloned is the body of notebook_cloned.
type NotebookCloned struct {
	NotebookID string `json:"notebook_id"`
	WorkingDir string `json:"working_dir,omitempty"`
}

// ErrorBody is the body of error. Code and Hint are runt's.
type ErrorBody struct {
	Error string `json:"error"`
	Code  string `json:"runt_code,omitempty"` // a domain.Code
	Hint  string `json:"runt_hint,omitempty"` // what to do next
}

// HistoryEntry is one input of the past.
type HistoryEntry struct {
	Session int    `json:"session"`
	Line    int    `json:"line"`
	Source  string `json:"source"`
}

// HistoryResult is the body of history_result.
type HistoryResult struct {
	Entries []HistoryEntry `json:"entries"`
}

// MarshalJSON writes an empty list for nil.
func (b HistoryResult) MarshalJSON() ([]byte, error) {
	type plain HistoryResult
	b.Entries = list(b.Entries)
	return json.Marshal(plain(b))
}

// CompletionItem is one completion.
type CompletionItem struct {
	Label  string `json:"label"`
	Kind   string `json:"kind,omitempty"`
	Detail string `json:"detail,omitempty"`
	Source string `json:"source,omitempty"`
}

// CompletionResult is the body of completion_result. Positions are in code points.
type CompletionResult struct {
	Items       []CompletionItem `json:"items"`
	CursorStart int              `json:"cursor_start"`
	CursorEnd   int              `json:"cursor_end"`
}

// MarshalJSON writes an empty list for nil.
func (b CompletionResult) MarshalJSON() ([]byte, error) {
	type plain CompletionResult
	b.Items = list(b.Items)
	return json.Marshal(plain(b))
}

// InspectResult is the body of runt_inspect_result: the answer of the kernel.
type InspectResult struct {
	Found bool                       `json:"found"`
	Data  map[string]json.RawMessage `json:"data,omitempty"` // by mime type
}

// EvaluateResult is the body of runt_evaluate_result: what an expression is
// worth in the kernel, or why it is worth nothing.
type EvaluateResult struct {
	Data  map[string]json.RawMessage `json:"data,omitempty"`  // by mime type
	Error string                     `json:"error,omitempty"` // such as "NameError: name 'x' is not defined"
}

// SyncEnvironmentComplete is the body of sync_environment_complete.
type SyncEnvironmentComplete struct {
	SyncedPackages []string `json:"synced_packages"`
}

// MarshalJSON writes an empty list for nil.
func (b SyncEnvironmentComplete) MarshalJSON() ([]byte, error) {
	type plain SyncEnvironmentComplete
	b.SyncedPackages = list(b.SyncedPackages)
	return json.Marshal(plain(b))
}

// SyncEnvironmentFailed is the body of sync_environment_failed.
type SyncEnvironmentFailed struct {
	Error        string `json:"error"`
	NeedsRestart bool   `json:"needs_restart"`
}

// DocBytes is the body of doc_bytes: the saved notebook document.
type DocBytes struct {
	Bytes ByteArray `json:"bytes"`
}

// SyncAcknowledged is the body of notebook_sync_acknowledged.
type SyncAcknowledged struct {
	Heads []string `json:"heads"`
}

// MarshalJSON writes an empty list for nil.
func (b SyncAcknowledged) MarshalJSON() ([]byte, error) {
	type plain SyncAcknowledged
	b.Heads = list(b.Heads)
	return json.Marshal(plain(b))
}

// BlobStored is the body of blob_stored.
type BlobStored struct {
	Hash      string `json:"hash"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`
}

// BlobUploadCreated is the body of blob_upload_created.
type BlobUploadCreated struct {
	UploadID  string `json:"upload_id"`
	PartSize  int64  `json:"part_size"`
	ExpiresAt string `json:"expires_at"` // RFC 3339
}

// BlobPartStored is the body of blob_part_stored.
type BlobPartStored struct {
	UploadID   string `json:"upload_id"`
	PartNumber int    `json:"part_number"`
	SHA256     string `json:"sha256"`
}

// BlobUploadAborted is the body of blob_upload_aborted.
type BlobUploadAborted struct {
	UploadID string `json:"upload_id"`
}

// BlobUploadError is the body of blob_upload_error.
type BlobUploadError struct {
	Reason BlobUploadReason `json:"reason"`
}

// BlobUploadReason says why an upload failed.
type BlobUploadReason struct {
	Kind    string `json:"kind"`              // "size_mismatch", "hash_mismatch", "over_cap", "invalid_header", "io" ...
	Message string `json:"message,omitempty"` // with "io"
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
