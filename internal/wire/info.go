package wire

import (
	"encoding/json"
	"fmt"
)

// Kinds of bootstrap: the type of the control frame that carries a ConnectionInfo.
const (
	KindConnectionInfo = "notebook_connection_info" // after open and create
	KindCapabilities   = "protocol_capabilities"    // after notebook_sync
)

// PutBlobCapability tells how blobs may be uploaded.
type PutBlobCapability struct {
	Version            int   `json:"version"`
	SingleFrameMax     int64 `json:"single_frame_max"`
	Multipart          bool  `json:"multipart"`
	EphemeralSupported bool  `json:"ephemeral_supported"`
}

// CommentsRef tells which notebook a comments document belongs to.
type CommentsRef struct {
	Kind          string `json:"kind"`                     // "local_room", "local_path", "hosted_room"
	RoomID        string `json:"room_id,omitempty"`        // of a local_room
	CanonicalPath string `json:"canonical_path,omitempty"` // of a local_path
	RoomLocator   string `json:"room_locator,omitempty"`   // of a hosted_room
}

// Implementation names a daemon of ours and what it knows beyond the protocol.
// Other daemons do not send it.
type Implementation struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Extensions  int    `json:"extensions"`
	Incarnation string `json:"incarnation"` // different for every run of a daemon
}

// ConnectionInfo is the daemon's answer to a handshake for a notebook. A
// capabilities frame carries the fields above NotebookID, and Error.
type ConnectionInfo struct {
	Protocol                  string             `json:"protocol"`
	ProtocolVersion           int                `json:"protocol_version,omitempty"`
	DaemonVersion             string             `json:"daemon_version,omitempty"`
	PutBlob                   *PutBlobCapability `json:"put_blob,omitempty"`
	NotebookSyncReceipt       bool               `json:"notebook_sync_receipt,omitempty"`
	LocalEnvironmentSelection bool               `json:"local_environment_selection,omitempty"`
	ActorLabel                string             `json:"actor_label,omitempty"`
	ConnectionScope           string             `json:"connection_scope,omitempty"`
	CommentsDocID             string             `json:"comments_doc_id,omitempty"`
	CommentsNotebookRef       *CommentsRef       `json:"comments_notebook_ref,omitempty"`
	Runt                      *Implementation    `json:"runt,omitempty"`

	NotebookID         string `json:"notebook_id"`
	CellCount          int    `json:"cell_count"`
	NeedsTrustApproval bool   `json:"needs_trust_approval"`
	Error              string `json:"error,omitempty"`     // set: the peer is refused
	ErrorCode          string `json:"runt_code,omitempty"` // a domain.Code, with Error
	ErrorHint          string `json:"runt_hint,omitempty"` // what to do next, with Error
	Ephemeral          bool   `json:"ephemeral"`           // in memory only
	NotebookPath       string `json:"notebook_path,omitempty"`
	PeerID             string `json:"runt_peer_id,omitempty"` // of this peer in presence
}

// hiddenFields, embedded beside a ConnectionInfo, keeps fields that a kind of
// bootstrap does not have out of its JSON.
type hiddenFields struct {
	NotebookID         *string `json:"notebook_id,omitempty"`
	CellCount          *int    `json:"cell_count,omitempty"`
	NeedsTrustApproval *bool   `json:"needs_trust_approval,omitempty"`
	Ephemeral          *bool   `json:"ephemeral,omitempty"`
	NotebookPath       *string `json:"notebook_path,omitempty"`
}

// MarshalTyped returns the body of the control frame of the given kind.
func (c ConnectionInfo) MarshalTyped(kind string) ([]byte, error) { return c.marshal(kind, kind) }

// MarshalUntyped returns the body of the bootstrap for a peer that did not ask
// for a typed one.
func (c ConnectionInfo) MarshalUntyped(kind string) ([]byte, error) { return c.marshal(kind, "") }

func (c ConnectionInfo) marshal(kind, tag string) ([]byte, error) {
	type fields ConnectionInfo // one level down, so that hiddenFields wins
	type inner struct{ fields }
	type head struct {
		Type string `json:"type,omitempty"`
	}
	var v any
	switch kind {
	case KindConnectionInfo:
		v = struct {
			head
			fields
		}{head{tag}, fields(c)}
	case KindCapabilities:
		v = struct {
			head
			inner
			hiddenFields
		}{head{tag}, inner{fields(c)}, hiddenFields{}}
	default:
		return nil, fmt.Errorf("encode connection info: unknown kind %q", kind)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode connection info: %w", err)
	}
	return b, nil
}

// DecodeConnectionInfo reads a bootstrap that came untyped. DecodeControl reads typed ones.
func DecodeConnectionInfo(b []byte) (ConnectionInfo, error) {
	var c ConnectionInfo
	if err := json.Unmarshal(b, &c); err != nil {
		return ConnectionInfo{}, fmt.Errorf("decode connection info: %w", err)
	}
	return c, nil
}
