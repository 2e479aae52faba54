package wire

import (
	"encoding/json"
	"fmt"
)

// The channels that a handshake may name.
const (
	ChannelPool         = "pool"
	ChannelSettings     = "settings_sync"
	ChannelNotebookSync = "notebook_sync"        // join by id
	ChannelOpen         = "open_notebook"        // open a file
	ChannelOpenHosted   = "open_hosted_notebook" // not served
	ChannelCreate       = "create_notebook"
	ChannelRuntimeAgent = "runtime_agent" // not served
)

// Scopes of a connection, as ConnectionInfo names them.
const (
	ScopeOwner  = "owner"
	ScopeEditor = "editor"
	ScopeViewer = "viewer"
)

// Extensions is the version of runt's additions to the protocol, in the
// handshake of a client and in the Implementation of a daemon.
const Extensions = 1

// Handshake is the first message of a peer. Which fields count depends on the
// channel; empty ones are left out.
type Handshake struct {
	Channel         string   `json:"channel"`
	Path            string   `json:"path,omitempty"`             // open_notebook
	URL             string   `json:"url,omitempty"`              // open_hosted_notebook
	Runtime         string   `json:"runtime,omitempty"`          // create_notebook: "python", "deno", or a kernelspec
	Protocol        string   `json:"protocol,omitempty"`         // notebook_sync: ProtocolName
	WorkingDir      string   `json:"working_dir,omitempty"`      // notebook_sync, create_notebook
	NotebookID      string   `json:"notebook_id,omitempty"`      // notebook_sync, create_notebook
	InitialMetadata string   `json:"initial_metadata,omitempty"` // notebook_sync: JSON as text
	Ephemeral       bool     `json:"ephemeral,omitempty"`        // create_notebook
	PackageManager  string   `json:"package_manager,omitempty"`  // create_notebook: "uv", "conda", "pixi"
	EnvironmentMode string   `json:"environment_mode,omitempty"` // create_notebook: "auto", "project", "notebook"
	Dependencies    []string `json:"dependencies,omitempty"`     // create_notebook
	TypedBootstrap  bool     `json:"typed_bootstrap,omitempty"`  // the answer is to be a control frame
	Operator        string   `json:"operator,omitempty"`         // the peer's part of its actor label

	RuntimeAgentID string `json:"runtime_agent_id,omitempty"` // runtime_agent
	BlobRoot       string `json:"blob_root,omitempty"`        // runtime_agent

	Label         string `json:"runt_label,omitempty"`           // how presence is to call the peer
	Extensions    int    `json:"runt_extensions,omitempty"`      // version of the additions that the peer knows
	KeepAliveSecs *int   `json:"runt_keep_alive_secs,omitempty"` // of the room once its last peer has left
	KernelName    string `json:"runt_kernel,omitempty"`          // kernelspec to start
}

// EncodeHandshake returns the body of a handshake message.
func EncodeHandshake(h Handshake) ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode handshake: %w", err)
	}
	if len(b) > MaxHandshake {
		return nil, &LimitError{Name: "handshake", Size: int64(len(b)), Limit: MaxHandshake}
	}
	return b, nil
}

// DecodeHandshake reads a handshake. It insists on a channel and nothing else.
func DecodeHandshake(b []byte) (Handshake, error) {
	var h Handshake
	if err := json.Unmarshal(b, &h); err != nil {
		return Handshake{}, fmt.Errorf("decode handshake: %w", err)
	}
	if h.Channel == "" {
		return Handshake{}, fmt.Errorf("decode handshake: no channel")
	}
	return h, nil
}
