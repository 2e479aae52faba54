package runtimestate

// Lifecycles of a kernel.
const (
	NotStarted       = "NotStarted"
	AwaitingTrust    = "AwaitingTrust"
	AwaitingEnvBuild = "AwaitingEnvBuild"
	Resolving        = "Resolving"
	PreparingEnv     = "PreparingEnv"
	Launching        = "Launching"
	Connecting       = "Connecting"
	Running          = "Running"
	Failed           = "Error"
	Shutdown         = "Shutdown"
)

// Activities of a kernel that is Running.
const (
	Idle = "Idle"
	Busy = "Busy"
)

// Statuses of an execution.
const (
	Queued    = "queued"
	Executing = "running"
	Done      = "done"
	Error     = "error"
	Cancelled = "cancelled" // it never ran
)

// Terminal says whether an execution with that status is over.
func Terminal(status string) bool {
	return status == Done || status == Error || status == Cancelled
}

// Kernel is the state of the kernel as the document shows it.
type Kernel struct {
	Lifecycle      string
	Activity       string // only with Running
	ErrorReason    string // one of a closed set, or ""
	ErrorDetails   string
	Name           string
	Language       string
	EnvSource      string
	RuntimeAgentID string
}

// Execution is one run of one cell.
type Execution struct {
	ID        string
	CellID    string
	Status    string
	Source    string
	Submitter string // actor label of the peer that asked for it
	Count     *int64 // nil before the kernel gave one
	Success   *bool  // nil before the end, and for a run that was cancelled
	Seq       uint64 // later runs have greater ones
	Outputs   []Output
}

// Output is one output of an execution.
type Output struct {
	ID       string
	Seq      uint64 // place among the outputs of its execution
	Manifest map[string]any
}

// OutputRef names an output from outside its execution.
type OutputRef struct {
	Execution string
	Output    string
}

// FileState tells how the document compares with its file.
type FileState struct {
	ExportedHeads []string // heads of the notebook document that were saved last, hex
	SaveSequence  uint64   // 0: never saved
	Issue         string   // "", "conflict" or "degraded"
	Reason        string   // of the issue, for people
}

// Inline is the reference to a content that is kept in the document itself.
func Inline(text string) map[string]any { return map[string]any{"inline": text} }

// Blob is the reference to a content of size bytes in the blob store.
func Blob(hash string, size int64) map[string]any {
	return map[string]any{"blob": hash, "size": size}
}
