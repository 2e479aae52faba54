package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Operations of a blob frame.
const (
	BlobPut     = "put"  // a whole blob
	BlobPutPart = "part" // a part of an upload
)

// Durabilities of a blob.
const (
	Durable   = "durable"
	Ephemeral = "ephemeral"
)

// PutBlobHeader is the head of a blob frame. Which fields count depends on Op.
type PutBlobHeader struct {
	Op         string `json:"op"`
	ID         string `json:"id"` // of the response
	MediaType  string `json:"media_type,omitempty"`
	UploadID   string `json:"upload_id,omitempty"`
	PartNumber *int   `json:"part_number,omitempty"`
	Size       int64  `json:"size"`
	SHA256     string `json:"sha256"`
	Durability string `json:"durability,omitempty"`
	Purpose    string `json:"purpose,omitempty"`
}

// PutBlobError is the error of a blob frame that cannot be understood.
type PutBlobError struct {
	ID  string // of the response, if it could be read
	Err error
}

// Error says what could not be read.
func (e *PutBlobError) Error() string { return "decode blob frame: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PutBlobError) Unwrap() error { return e.Err }

// EncodePutBlob returns the body of a blob frame.
func EncodePutBlob(h PutBlobHeader, data []byte) ([]byte, error) {
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode blob frame: %w", err)
	}
	b := make([]byte, 0, 4+len(head)+len(data))
	b = binary.BigEndian.AppendUint32(b, uint32(len(head)))
	b = append(append(b, head...), data...)
	return b, checkSize(FramePutBlob, len(b))
}

// DecodePutBlob reads the body of a blob frame. The data shares memory with b.
// Any error is a *PutBlobError. That size and hash are those of the data is
// for the caller to check.
func DecodePutBlob(b []byte) (PutBlobHeader, []byte, error) {
	if len(b) < 4 {
		return PutBlobHeader{}, nil, &PutBlobError{Err: fmt.Errorf("%d bytes are no header", len(b))}
	}
	n := int64(binary.BigEndian.Uint32(b))
	if n > int64(len(b)-4) {
		return PutBlobHeader{}, nil, &PutBlobError{Err: fmt.Errorf("header of %d bytes in %d", n, len(b)-4)}
	}
	head, data := b[4:4+n], b[4+n:]
	var h PutBlobHeader
	if err := json.Unmarshal(head, &h); err != nil {
		var id struct {
			ID string `json:"id"`
		}
		// This error adds nothing to the first one.
		_ = json.Unmarshal(head, &id)
		return PutBlobHeader{}, nil, &PutBlobError{ID: id.ID, Err: err}
	}
	if h.Op != BlobPut && h.Op != BlobPutPart {
		return PutBlobHeader{}, nil, &PutBlobError{ID: h.ID, Err: fmt.Errorf("unknown op %q", h.Op)}
	}
	return h, data, nil
}
