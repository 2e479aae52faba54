package wire

import (
	"encoding/json"
	"fmt"
)

// BroadcastComm is the event of a broadcast that carries a kernel's comm message.
const BroadcastComm = "comm"

// Broadcast is the body of a broadcast frame: a message of a kernel's comm.
// Other events are decoded with only Event set.
type Broadcast struct {
	Event   string          `json:"event"`
	MsgType string          `json:"msg_type"`
	Content json.RawMessage `json:"content"`
	Buffers []ByteArray     `json:"buffers"`
}

// EncodeBroadcast returns the body of a broadcast frame.
func EncodeBroadcast(b Broadcast) ([]byte, error) {
	b.Buffers = list(b.Buffers)
	out, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("encode broadcast: %w", err)
	}
	return out, nil
}

// DecodeBroadcast reads the body of a broadcast frame.
func DecodeBroadcast(b []byte) (Broadcast, error) {
	var head struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Broadcast{}, fmt.Errorf("decode broadcast: %w", err)
	}
	if head.Event != BroadcastComm {
		return Broadcast{Event: head.Event}, nil
	}
	var v Broadcast
	if err := json.Unmarshal(b, &v); err != nil {
		return Broadcast{}, fmt.Errorf("decode broadcast: %w", err)
	}
	return v, nil
}

// CommMessage is the message of a send_comm request, for the kernel.
type CommMessage struct {
	Header       json.RawMessage `json:"header"`
	ParentHeader json.RawMessage `json:"parent_header,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
	Content      json.RawMessage `json:"content"`
	Buffers      []ByteArray     `json:"buffers"`
	BufferRefs   []BufferRef     `json:"buffer_refs,omitempty"` // buffers that are in the blob store
	Channel      string          `json:"channel,omitempty"`     // "shell" when empty
}

// BufferRef places a blob among the buffers of a message.
type BufferRef struct {
	Index     int    `json:"index"`
	Blob      string `json:"blob"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type,omitempty"`
}

// DecodeCommMessage reads the message of a send_comm request.
func DecodeCommMessage(b []byte) (CommMessage, error) {
	var m CommMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return CommMessage{}, fmt.Errorf("decode comm message: %w", err)
	}
	if m.Channel == "" {
		m.Channel = "shell"
	}
	return m, nil
}
