package link

import (
	"encoding/json"
	"time"
)

// The versions of the protocol between daemon and host: what this code speaks,
// and the oldest peer it still understands.
const (
	Version    = 1
	MinVersion = 1
)

// LaunchSpec says how to start a kernel.
type LaunchSpec struct {
	KernelName    string            `json:"kernel_name"`
	DisplayName   string            `json:"display_name,omitempty"`
	Language      string            `json:"language,omitempty"`
	Argv          []string          `json:"argv"` // with {connection_file} where its path goes
	Env           map[string]string `json:"env,omitempty"`
	Dir           string            `json:"dir,omitempty"`            // working directory; empty: the host's
	InterruptMode string            `json:"interrupt_mode,omitempty"` // "signal" (default) or "message"
	EnvSource     string            `json:"env_source,omitempty"`
	Transport     string            `json:"transport,omitempty"` // "ipc", "tcp", or empty: ipc, and tcp if the kernel ends at once on ipc
}

// Execute is one run of one piece of code. Executions reach the kernel one at
// a time, in the order they were asked for.
type Execute struct {
	ID           string `json:"id"`
	Code         string `json:"code"`
	Silent       bool   `json:"silent,omitempty"`
	StoreHistory bool   `json:"store_history,omitempty"`
	AllowStdin   bool   `json:"allow_stdin,omitempty"`
	StopOnError  bool   `json:"stop_on_error,omitempty"` // an error of this one ends all that wait behind it in the host as aborted
	Tag          string `json:"tag,omitempty"`           // the daemon's own note, given back with Accepted
}

// EventKind says what an Event is about.
type EventKind string

// The kinds of events. Done comes after everything that the execution put out.
// After Died, Failed or Lost nothing follows.
const (
	EventAccepted     EventKind = "accepted"      // the execution is recorded; Execute is set
	EventReady        EventKind = "ready"         // the kernel answers and its outputs arrive; Message is its kernel_info_reply
	EventMessage      EventKind = "message"       // a message on iopub
	EventInputRequest EventKind = "input_request" // the kernel asks for a line of text; Message is the input_request
	EventInterrupt    EventKind = "interrupt"     // an interrupt was delivered, or given up; Interrupt is set
	EventUnresponsive EventKind = "unresponsive"  // the heartbeat stopped; the kernel process is still there
	EventDone         EventKind = "done"          // the execution is over; Done is set
	EventDied         EventKind = "died"          // the kernel process ended, or its start was called off; Exit is set, ExecutionID names what was running
	EventFailed       EventKind = "failed"        // the kernel could not be started; Exit is set
	EventLost         EventKind = "lost"          // the host is gone or serves another daemon; Exit.Reason says which. Made by the daemon's side, Seq is 0
)

// Event is one thing that happened in the host, in the order it happened.
// Numbers begin at 1 and have no gaps. Events must not be changed by who gets them.
type Event struct {
	Seq         uint64
	Kind        EventKind
	ExecutionID string // of the execution it belongs to; empty when it belongs to none
	At          time.Time
	Message     *Message
	Execute     *Execute
	Done        *Done
	Exit        *Exit
	Interrupt   *Interrupt
}

// Message is a Jupyter message, as far as a client needs it.
type Message struct {
	Type     string          `json:"type"`
	ID       string          `json:"id,omitempty"`
	ParentID string          `json:"parent,omitempty"`
	Content  json.RawMessage `json:"-"`
	Metadata json.RawMessage `json:"-"`
	Buffers  [][]byte        `json:"-"`
}

// The ways an execution can end.
const (
	StatusOK      = "ok"
	StatusError   = "error"
	StatusAborted = "aborted" // it never ran
)

// Done is the end of an execution.
type Done struct {
	Status  string          `json:"status"`
	Count   *int64          `json:"count,omitempty"`  // execution count; nil if the kernel gave none
	Reason  string          `json:"reason,omitempty"` // why it was aborted, or what is odd about the end
	Payload json.RawMessage `json:"-"`                // the reply's payload list, such as the text of a pager; nil when empty
}

// Exit tells how a process ended.
type Exit struct {
	Code      int    `json:"code"`             // exit code; -1 when a signal ended it
	Signal    string `json:"signal,omitempty"` // such as SIGKILL
	Requested bool   `json:"requested,omitempty"`
	Forced    bool   `json:"forced,omitempty"` // the host ended it by itself; Reason says why
	Reason    string `json:"reason,omitempty"` // a sentence
	Stderr    string `json:"stderr,omitempty"` // the last of what it wrote to stdout and stderr
}

// Interrupt tells about one attempt to interrupt an execution.
type Interrupt struct {
	Attempt int    `json:"attempt"`           // 1 for the first signal or request
	GaveUp  bool   `json:"gave_up,omitempty"` // no more attempts will follow, the execution still runs
	Error   string `json:"error,omitempty"`   // why it could not be delivered
}

// Op names a Command.
type Op string

// The operations that a daemon may ask for. All but hello are answered only when ID is not 0.
const (
	OpHello     Op = "hello"
	OpExecute   Op = "execute"
	OpCancel    Op = "cancel"
	OpInterrupt Op = "interrupt"
	OpInput     Op = "input"
	OpRequest   Op = "request"
	OpComm      Op = "comm"
	OpAck       Op = "ack"
	OpShutdown  Op = "shutdown"
)

// Command is what the daemon asks of a host.
type Command struct {
	Op          Op       `json:"op"`
	ID          uint64   `json:"id,omitempty"`          // names the Reply; 0 when none is wanted
	Seq         uint64   `json:"seq,omitempty"`         // hello: the last event it has; ack: forget up to this one
	MinVersion  int      `json:"min_version,omitempty"` // hello
	Version     int      `json:"version,omitempty"`     // hello
	Execute     *Execute `json:"execute,omitempty"`
	ExecutionID string   `json:"execution_id,omitempty"`
	Text        string   `json:"text,omitempty"`    // input
	Channel     string   `json:"channel,omitempty"` // request: shell or control
	Message     *Message `json:"message,omitempty"` // request, comm
}

// Reply answers a Command.
type Reply struct {
	ID        uint64   `json:"id,omitempty"`
	Error     string   `json:"error,omitempty"`     // why the command was refused
	Displaced bool     `json:"displaced,omitempty"` // another daemon took over; nothing follows
	Welcome   *Welcome `json:"welcome,omitempty"`
	Message   *Message `json:"message,omitempty"`
}

// Welcome is a host's answer to hello: what it is, and where it stands.
type Welcome struct {
	Version int      `json:"version"`
	PID     int      `json:"pid"`
	First   uint64   `json:"first"`             // the first event that follows
	Last    uint64   `json:"last"`              // the last event so far
	Phase   string   `json:"phase"`             // starting, ready, stopping, ended
	Running string   `json:"running,omitempty"` // execution that the kernel has
	Queued  []string `json:"queued,omitempty"`  // executions that wait for it, in order
}
