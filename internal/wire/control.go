package wire

import (
	"encoding/json"
	"fmt"
)

// Types of control frames, besides KindConnectionInfo and KindCapabilities.
const (
	ControlSyncStatus   = "sync_status"
	ControlHostedBridge = "hosted_bridge_status"
)

// Phases in a SyncStatus, each list in the order in which they may follow.
const (
	PhasePending     = "pending"
	PhaseSyncing     = "syncing"
	PhaseInteractive = "interactive" // of the notebook document: no more to send
	PhaseReady       = "ready"       // of the runtime state and of the initial load
	PhaseNotNeeded   = "not_needed"  // of the initial load
	PhaseStreaming   = "streaming"   // of the initial load
	PhaseFailed      = "failed"      // of the initial load, with a reason
)

// BridgeNotApplicable is the status of every notebook that is not hosted elsewhere.
const BridgeNotApplicable = "not_applicable"

// SyncStatus tells a peer how far its documents are. It is always whole.
type SyncStatus struct {
	NotebookDoc  string      `json:"notebook_doc"`  // pending, syncing, interactive
	RuntimeState string      `json:"runtime_state"` // pending, syncing, ready
	InitialLoad  InitialLoad `json:"initial_load"`
}

// InitialLoad tells how far the reading of the notebook's file is.
type InitialLoad struct {
	Phase  string `json:"phase"` // not_needed, streaming, ready, failed
	Reason string `json:"reason,omitempty"`
}

// Ready says whether a peer may work on the notebook.
func (s SyncStatus) Ready() bool {
	load := s.InitialLoad.Phase
	return s.NotebookDoc == PhaseInteractive && s.RuntimeState == PhaseReady &&
		(load == PhaseNotNeeded || load == PhaseReady)
}

// HostedBridgeStatus tells how the daemon's connection to a hosted room stands.
type HostedBridgeStatus struct {
	Status string `json:"status"`
}

// Control is a decoded control frame. One of the pointers is set, or none when
// the type is not known.
type Control struct {
	Type       string
	SyncStatus *SyncStatus
	Bridge     *HostedBridgeStatus
	Info       *ConnectionInfo // of either kind
}

// EncodeSyncStatus returns the body of a control frame.
func EncodeSyncStatus(s SyncStatus) ([]byte, error) { return encodeTagged(ControlSyncStatus, s) }

// EncodeHostedBridgeStatus returns the body of a control frame.
func EncodeHostedBridgeStatus(s HostedBridgeStatus) ([]byte, error) {
	return encodeTagged(ControlHostedBridge, s)
}

func encodeTagged(tag string, v any) ([]byte, error) {
	b, err := flatten("type", tag, "", v)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", tag, err)
	}
	return b, nil
}

// DecodeControl reads the body of a control frame.
func DecodeControl(b []byte) (Control, error) {
	var head struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(b, &head)
	c := Control{Type: head.Type}
	if err == nil {
		switch c.Type {
		case ControlSyncStatus:
			c.SyncStatus = new(SyncStatus)
			err = json.Unmarshal(b, c.SyncStatus)
		case ControlHostedBridge:
			c.Bridge = new(HostedBridgeStatus)
			err = json.Unmarshal(b, c.Bridge)
		case KindConnectionInfo, KindCapabilities:
			c.Info = new(ConnectionInfo)
			err = json.Unmarshal(b, c.Info)
		}
	}
	if err != nil {
		return Control{}, fmt.Errorf("decode control frame: %w", err)
	}
	return c, nil
}
