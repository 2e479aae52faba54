package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The version of the protocol, as the preamble and the JSON of a daemon give it.
const (
	ProtocolVersion    = 4    // in the preamble and in protocol_version
	ProtocolName       = "v4" // in the field protocol
	MinProtocolVersion = 4    // the oldest preamble that is served
	DaemonAPIVersion   = 1    // in daemon_info; clients insist on exactly this
)

// Sizes in bytes.
const (
	kib = 1 << 10
	mib = 1 << 20

	MaxFrame     = 100 * mib // of a frame of unknown type
	MaxHandshake = 64 * kib  // of the handshake
	MaxPool      = 64 * mib  // of an untyped message on the pool channel
	MaxPresence  = 4 * kib   // of a presence frame
	MaxPutBlob   = 32 * mib  // of a blob frame, header included
)

// Preamble is what a peer sends first: the magic number and ProtocolVersion.
var Preamble = [5]byte{0xC0, 0xDE, 0x01, 0xAC, ProtocolVersion}

// FrameType is the first byte of a frame.
type FrameType byte

// The types of frames. FrameExecution is an addition of runt.
const (
	FrameNotebookSync FrameType = 0x00
	FrameRequest      FrameType = 0x01
	FrameResponse     FrameType = 0x02
	FrameBroadcast    FrameType = 0x03
	FramePresence     FrameType = 0x04
	FrameRuntimeSync  FrameType = 0x05
	FramePoolSync     FrameType = 0x06
	FrameControl      FrameType = 0x07
	FramePutBlob      FrameType = 0x08
	FrameCommsSync    FrameType = 0x09
	FrameCommentsSync FrameType = 0x0a
	FrameExecution    FrameType = 0x20
)

var frameTypes = map[FrameType]struct {
	name  string
	limit int
}{
	FrameNotebookSync: {"notebook_sync", 64 * mib},
	FrameRequest:      {"request", 16 * mib},
	FrameResponse:     {"response", 64 * mib},
	FrameBroadcast:    {"broadcast", 16 * mib},
	FramePresence:     {"presence", MaxPresence},
	FrameRuntimeSync:  {"runtime_sync", 64 * mib},
	FramePoolSync:     {"pool_sync", mib},
	FrameControl:      {"control", mib},
	FramePutBlob:      {"put_blob", MaxPutBlob},
	FrameCommsSync:    {"comms_sync", 64 * mib},
	FrameCommentsSync: {"comments_sync", 64 * mib},
	FrameExecution:    {"execution", 64 * mib},
}

// Known says whether frames of type t are delivered or skipped.
func (t FrameType) Known() bool {
	_, ok := frameTypes[t]
	return ok
}

// Limit returns the greatest number of bytes in the body of a frame of type t.
func (t FrameType) Limit() int {
	if f, ok := frameTypes[t]; ok {
		return f.limit
	}
	return MaxFrame
}

// String returns the name of t for logs.
func (t FrameType) String() string {
	if f, ok := frameTypes[t]; ok {
		return f.name
	}
	return fmt.Sprintf("frame_%#02x", byte(t))
}

// Frame is one typed message.
type Frame struct {
	Type FrameType
	Body []byte // without the type byte
}

// ErrZeroLength is the error of a message that says it has no bytes.
var ErrZeroLength = errors.New("wire: message of length zero")

// LimitError is the error of a message that is too large to be sent or received.
type LimitError struct {
	Name  string // what was too large: the name of a frame type, "handshake" ...
	Size  int64  // bytes in its body
	Limit int    // bytes allowed
}

// Error says what was too large, and by how much.
func (e *LimitError) Error() string {
	return fmt.Sprintf("wire: %s of %d bytes is over the limit of %d", e.Name, e.Size, e.Limit)
}

// checkSize returns the error of a body that breaks the limit of its type.
func checkSize(t FrameType, n int) error {
	if n > t.Limit() {
		return &LimitError{Name: t.String(), Size: int64(n), Limit: t.Limit()}
	}
	return nil
}

// AppendFrame appends the bytes of a typed frame to dst.
func AppendFrame(dst []byte, t FrameType, body []byte) ([]byte, error) {
	if err := checkSize(t, len(body)); err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)+1))
	dst = append(dst, byte(t))
	return append(dst, body...), nil
}

// AppendUntyped appends the bytes of a message without a type to dst. It is
// meant for the handshake, the untyped bootstrap and the pool channel.
func AppendUntyped(dst, body []byte) ([]byte, error) {
	if err := checkUntyped(body); err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...), nil
}

func checkUntyped(body []byte) error {
	if len(body) == 0 {
		return ErrZeroLength
	}
	if len(body) > MaxPool {
		return &LimitError{Name: "untyped message", Size: int64(len(body)), Limit: MaxPool}
	}
	return nil
}
