package wire

import (
	"encoding/json"
	"fmt"
)

// Actions of requests.
const (
	ActionLaunchKernel          = "launch_kernel"
	ActionExecuteCell           = "execute_cell"
	ActionExecuteCellGuarded    = "execute_cell_guarded"
	ActionInterruptExecution    = "interrupt_execution"
	ActionShutdownKernel        = "shutdown_kernel"
	ActionRunAllCells           = "run_all_cells"
	ActionRunAllCellsGuarded    = "run_all_cells_guarded"
	ActionSendComm              = "send_comm"
	ActionApplyBokehPatch       = "apply_bokeh_session_patch"
	ActionGetHistory            = "get_history"
	ActionComplete              = "complete"
	ActionSaveNotebook          = "save_notebook"
	ActionReconcileSource       = "reconcile_notebook_source"
	ActionCloneAsEphemeral      = "clone_as_ephemeral"
	ActionSyncEnvironment       = "sync_environment"
	ActionApproveTrust          = "approve_trust"
	ActionApproveProjectEnv     = "approve_project_environment"
	ActionGetDocBytes           = "get_doc_bytes"
	ActionCreateBlobUpload      = "create_blob_upload"
	ActionCompleteBlobUpload    = "complete_blob_upload"
	ActionAbortBlobUpload       = "abort_blob_upload"
	ActionAcknowledgeSync       = "acknowledge_notebook_sync"
	ActionListCondaEnvironments = "list_conda_environments"
	ActionListCondaPackages     = "list_installed_conda_packages"
	ActionGetEnvSelection       = "get_environment_selection"
	ActionSetEnvSelection       = "set_environment_selection"
	ActionApplyEnvSelection     = "apply_environment_selection"
)

// Actions that are additions of runt.
const (
	ActionRestartKernel   = "runt_restart_kernel"
	ActionCancelExecution = "runt_cancel_execution"
	ActionSendInput       = "runt_send_input"
	ActionExecuteCode     = "runt_execute_code"
	ActionInspect         = "runt_inspect"
	ActionEvaluate        = "runt_evaluate"
	ActionSetKeepAlive    = "runt_set_keep_alive"
)

// Request is a request of a peer. Which fields count depends on the action;
// empty ones are left out, but for those that daemons insist on.
type Request struct {
	ID            string   `json:"id,omitempty"`
	RequiredHeads []string `json:"required_heads,omitempty"` // changes the daemon must have first, hex
	Action        string   `json:"action"`

	CellID           string            `json:"cell_id,omitempty"`
	ExecutionID      string            `json:"execution_id,omitempty"`
	ObservedHeads    []string          `json:"observed_heads,omitempty"`     // *_guarded, approve_trust
	CellExecutionIDs map[string]string `json:"cell_execution_ids,omitempty"` // run_all_cells: ids by cell

	KernelType   string `json:"kernel_type,omitempty"`   // launch_kernel
	EnvSource    string `json:"env_source,omitempty"`    // launch_kernel: "auto", "uv:prewarmed", "deno" ...
	NotebookPath string `json:"notebook_path,omitempty"` // launch_kernel

	FormatCells bool   `json:"format_cells,omitempty"` // save_notebook
	Path        string `json:"path,omitempty"`         // save_notebook: save as

	Code      string          `json:"code,omitempty"`       // complete, runt_execute_code, runt_inspect
	CursorPos int             `json:"cursor_pos,omitempty"` // complete, runt_inspect; in code points
	Pattern   string          `json:"pattern,omitempty"`    // get_history
	N         int             `json:"n,omitempty"`          // get_history
	Unique    bool            `json:"unique,omitempty"`     // get_history
	Message   json.RawMessage `json:"message,omitempty"`    // send_comm: a CommMessage

	Guard            *DependencyGuard `json:"guard,omitempty"`              // sync_environment
	Operation        json.RawMessage  `json:"operation,omitempty"`          // reconcile_notebook_source
	SourceNotebookID string           `json:"source_notebook_id,omitempty"` // clone_as_ephemeral
	ProjectFilePath  string           `json:"project_file_path,omitempty"`  // approve_project_environment
	Patch            json.RawMessage  `json:"request,omitempty"`            // apply_bokeh_session_patch

	MediaType string     `json:"media_type,omitempty"` // create_blob_upload
	Size      int64      `json:"size,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	PartSize  int64      `json:"part_size,omitempty"`
	Purpose   string     `json:"purpose,omitempty"`
	UploadID  string     `json:"upload_id,omitempty"` // complete_, abort_blob_upload
	Parts     []BlobPart `json:"parts,omitempty"`

	Overwrite     bool     `json:"runt_overwrite,omitempty"`       // save_notebook: onto an existing file
	Idempotent    bool     `json:"runt_idempotent,omitempty"`      // an execution_id seen before is answered, not refused
	Direct        bool     `json:"runt_direct,omitempty"`          // the end is to be told by FrameExecution
	OnlyIDs       []string `json:"runt_cell_ids,omitempty"`        // run_all_cells: these cells
	Text          string   `json:"runt_text,omitempty"`            // runt_send_input
	KeepAliveSecs *int     `json:"runt_keep_alive_secs,omitempty"` // runt_set_keep_alive
	KernelName    string   `json:"runt_kernel,omitempty"`          // launch_kernel, runt_restart_kernel: kernelspec

	Raw json.RawMessage `json:"-"` // the whole request as it came
}

// DependencyGuard names the heads at which a client looked at dependencies.
type DependencyGuard struct {
	ObservedHeads []string `json:"observed_heads"`
}

// BlobPart names one part of an upload.
type BlobPart struct {
	PartNumber int    `json:"part_number"`
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
}

// requiredFields shadows the fields that some action must carry even when they
// are empty. Those that are nil are left out.
type requiredFields struct {
	KernelType    *string     `json:"kernel_type,omitempty"`
	EnvSource     *string     `json:"env_source,omitempty"`
	FormatCells   *bool       `json:"format_cells,omitempty"`
	Code          *string     `json:"code,omitempty"`
	CursorPos     *int        `json:"cursor_pos,omitempty"`
	N             *int        `json:"n,omitempty"`
	Unique        *bool       `json:"unique,omitempty"`
	ObservedHeads *[]string   `json:"observed_heads,omitempty"`
	Size          *int64      `json:"size,omitempty"`
	Parts         *[]BlobPart `json:"parts,omitempty"`
}

func (r *Request) required() requiredFields {
	needs := func(actions ...string) bool {
		for _, a := range actions {
			if r.Action == a {
				return true
			}
		}
		return false
	}
	launch, history := needs(ActionLaunchKernel), needs(ActionGetHistory)
	guarded := needs(ActionExecuteCellGuarded, ActionRunAllCellsGuarded)
	complete, heads, parts := needs(ActionComplete), r.ObservedHeads, r.Parts
	if heads == nil && guarded {
		heads = []string{}
	}
	if parts == nil {
		parts = []BlobPart{}
	}
	return requiredFields{
		KernelType:    keep(r.KernelType, launch),
		EnvSource:     keep(r.EnvSource, launch),
		FormatCells:   keep(r.FormatCells, needs(ActionSaveNotebook)),
		Code:          keep(r.Code, complete),
		CursorPos:     keep(r.CursorPos, complete),
		N:             keep(r.N, history),
		Unique:        keep(r.Unique, history),
		ObservedHeads: keepAny(heads, guarded || len(heads) > 0),
		Size:          keep(r.Size, needs(ActionCreateBlobUpload)),
		Parts:         keepAny(parts, len(parts) > 0 || needs(ActionCompleteBlobUpload)),
	}
}

func keep[T comparable](v T, always bool) *T {
	var zero T
	return keepAny(v, always || v != zero)
}

func keepAny[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// EncodeRequest returns the body of a request frame. Raw is not looked at.
func EncodeRequest(r Request) ([]byte, error) {
	type fields Request
	type inner struct{ fields }
	b, err := json.Marshal(struct {
		inner
		requiredFields
	}{inner{fields(r)}, r.required()})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return b, nil
}

// DecodeRequest reads the body of a request frame. When it fails, the ID of
// the returned request is still set if there was one, so that the peer can be
// told. Raw is b itself.
func DecodeRequest(b []byte) (Request, error) {
	var r Request
	err := json.Unmarshal(b, &r)
	if err != nil {
		var head struct {
			ID string `json:"id"`
		}
		// This error adds nothing to the first one.
		_ = json.Unmarshal(b, &head)
		return Request{ID: head.ID}, fmt.Errorf("decode request: %w", err)
	}
	if r.Action == "" {
		return Request{ID: r.ID}, fmt.Errorf("decode request: no action")
	}
	r.Raw = b
	return r, nil
}
