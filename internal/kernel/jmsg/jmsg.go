package jmsg

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
)

// ProtocolVersion is the version of the messaging protocol that headers carry.
const ProtocolVersion = "5.4"

const (
	delimiter = "<IDS|MSG>"
	jsonParts = 4
	// maxHeader bounds the frames that are decoded at once; content has no bound of its own.
	maxHeader = 1 << 20
)

var empty = json.RawMessage("{}")

// Errors that Decode returns, each about one message only.
var (
	ErrMalformed = errors.New("not a jupyter message")
	ErrSignature = errors.New("jupyter message with a wrong signature")
)

// Header names a message and who sent it.
type Header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

// Message is one Jupyter message. Nil Metadata and Content are sent as empty objects.
type Message struct {
	Header    Header
	Parent    Header          // what was read of the parent header
	RawParent json.RawMessage // the parent header as it is on the wire; nil for a message that begins something
	Metadata  json.RawMessage
	Content   json.RawMessage
	Buffers   [][]byte
	RawHeader json.RawMessage // set by Decode: to be the RawParent of an answer
}

// Codec signs and verifies with the key of one connection file.
type Codec struct {
	key  []byte
	hash func() hash.Hash
}

// NewCodec returns a codec for a signature scheme such as hmac-sha256. An
// empty key means that nothing is signed and nothing is verified.
func NewCodec(scheme, key string) (*Codec, error) {
	switch scheme {
	case "", "hmac-sha256":
		return &Codec{key: []byte(key), hash: sha256.New}, nil
	case "hmac-sha512":
		return &Codec{key: []byte(key), hash: sha512.New}, nil
	}
	return nil, fmt.Errorf("signature scheme %q is not known", scheme)
}

// Encode returns the frames of m, without routing frames.
func (c *Codec) Encode(m Message) ([][]byte, error) {
	header, err := json.Marshal(m.Header)
	if err != nil {
		return nil, fmt.Errorf("encode header: %w", err)
	}
	parts := make([][]byte, 2, 2+jsonParts+len(m.Buffers))
	parts = append(parts, header, orEmpty(m.RawParent), orEmpty(m.Metadata), orEmpty(m.Content))
	parts[0], parts[1] = []byte(delimiter), c.sign(parts[2:])
	return append(parts, m.Buffers...), nil
}

// Decode reads frames that may begin with routing frames. Content and metadata
// are views of the frames; they are known to be JSON only when the sender is.
func (c *Codec) Decode(parts [][]byte) (Message, error) {
	i := 0
	for i < len(parts) && string(parts[i]) != delimiter {
		i++
	}
	if len(parts) < i+2+jsonParts {
		return Message{}, fmt.Errorf("%d frames: %w", len(parts), ErrMalformed)
	}
	signed := parts[i+2 : i+2+jsonParts]
	if len(c.key) > 0 && !hmac.Equal(parts[i+1], c.sign(signed)) {
		return Message{}, ErrSignature
	}
	m := Message{RawHeader: signed[0], RawParent: signed[1], Metadata: signed[2], Content: signed[3]}
	if err := decodeHeader(m.RawHeader, &m.Header); err != nil {
		return Message{}, fmt.Errorf("header: %w", err)
	}
	if m.Header.Type == "" {
		return Message{}, fmt.Errorf("header without a type: %w", ErrMalformed)
	}
	if err := decodeHeader(m.RawParent, &m.Parent); err != nil {
		return Message{}, fmt.Errorf("parent header: %w", err)
	}
	if rest := parts[i+2+jsonParts:]; len(rest) > 0 {
		m.Buffers = rest
	}
	return m, nil
}

func decodeHeader(raw []byte, h *Header) error {
	if len(raw) > maxHeader {
		return fmt.Errorf("%d bytes: %w", len(raw), ErrMalformed)
	}
	if b := bytes.TrimSpace(raw); len(b) == 0 || string(b) == "{}" || string(b) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, h); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// sign returns the signature in hex, empty without a key.
func (c *Codec) sign(parts [][]byte) []byte {
	if len(c.key) == 0 {
		return []byte{}
	}
	m := hmac.New(c.hash, c.key)
	for _, p := range parts {
		m.Write(p)
	}
	return hex.AppendEncode(nil, m.Sum(nil))
}

func orEmpty(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return empty
	}
	return raw
}
