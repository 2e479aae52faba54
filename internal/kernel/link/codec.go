package link

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The limits of frames and packets.
const (
	MaxFrame    = 640 << 20
	MaxHeader   = 64 << 20 // holds the code of an execution
	MaxSections = 4200
)

// FrameType says what packet a frame holds.
type FrameType byte

// The types of frames.
const (
	FrameEvent   FrameType = 1
	FrameCommand FrameType = 2
	FrameReply   FrameType = 3
)

// ErrMalformed is in the chain of every error about bytes that are no frame or packet.
var ErrMalformed = errors.New("malformed packet")

const trustedLength = 1 << 20

// AppendFrameHead appends the length and type that precede a packet of n bytes.
func AppendFrameHead(dst []byte, t FrameType, n int) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(n+1)), byte(t))
}

// ReadFrame reads one frame. io.EOF means that the peer closed between two frames.
func ReadFrame(r io.Reader) (FrameType, []byte, error) {
	var h [5]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(h[:4])
	if n < 1 || n > MaxFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes: %w", n, ErrMalformed)
	}
	b, err := readBody(r, int(n-1))
	return FrameType(h[4]), b, err
}

func readBody(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, trustedLength))
	for read := 0; ; {
		m, err := io.ReadFull(r, b[read:])
		if read += m; err != nil {
			return nil, fmt.Errorf("read packet: %w", err)
		}
		if read == n {
			return b, nil
		}
		grown := make([]byte, min(n, 2*read))
		copy(grown, b)
		b = grown
	}
}

// appendPacket appends header and sections.
func appendPacket(dst []byte, header any, sections [][]byte) ([]byte, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return nil, fmt.Errorf("encode packet header: %w", err)
	}
	n := 4 + len(h)
	for _, s := range sections {
		n += len(s)
	}
	if len(h) > MaxHeader || n > MaxFrame-1 || len(sections) > MaxSections {
		return nil, fmt.Errorf("packet of %d bytes, %d of them header, and %d sections is over the limit: %w", n, len(h), len(sections), ErrMalformed)
	}
	if cap(dst)-len(dst) < n {
		grown := make([]byte, len(dst), len(dst)+n)
		copy(grown, dst)
		dst = grown
	}
	dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(h))), h...)
	for _, s := range sections {
		dst = append(dst, s...)
	}
	return dst, nil
}

// parsePacket decodes the header into header, which holds the sizes, and cuts out the sections.
func parsePacket(b []byte, header interface{ sections() []int }) ([][]byte, error) {
	if len(b) < 4 {
		return nil, fmt.Errorf("%d bytes: %w", len(b), ErrMalformed)
	}
	n := binary.BigEndian.Uint32(b)
	if n > MaxHeader || uint64(n) > uint64(len(b)-4) {
		return nil, fmt.Errorf("header of %d bytes in %d: %w", n, len(b), ErrMalformed)
	}
	if err := json.Unmarshal(b[4:4+n], header); err != nil {
		return nil, fmt.Errorf("header: %w: %w", ErrMalformed, err)
	}
	rest := b[4+n:]
	sizes := header.sections()
	if len(sizes) > MaxSections {
		return nil, fmt.Errorf("%d sections: %w", len(sizes), ErrMalformed)
	}
	out := make([][]byte, len(sizes))
	for i, s := range sizes {
		if s < 0 || s > len(rest) {
			return nil, fmt.Errorf("section of %d bytes, %d are left: %w", s, len(rest), ErrMalformed)
		}
		out[i], rest = rest[:s:s], rest[s:]
	}
	return out, nil
}

type sized struct {
	Sizes []int `json:"sizes,omitempty"`
}

func (s sized) sections() []int { return s.Sizes }

func sizesOf(sections [][]byte) sized {
	var s sized
	for _, x := range sections {
		s.Sizes = append(s.Sizes, len(x))
	}
	return s
}

// messageSections are content, metadata, buffers.
func messageSections(m *Message) [][]byte {
	if m == nil {
		return nil
	}
	return append([][]byte{m.Content, m.Metadata}, m.Buffers...)
}

func setMessageSections(m *Message, sections [][]byte) {
	if m == nil || len(sections) < 2 {
		return
	}
	m.Content, m.Metadata = notEmpty(sections[0]), notEmpty(sections[1])
	if len(sections) > 2 {
		m.Buffers = sections[2:]
	}
}

func notEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

type eventHeader struct {
	sized
	Seq         uint64     `json:"seq"`
	Kind        EventKind  `json:"kind"`
	ExecutionID string     `json:"execution_id,omitempty"`
	At          int64      `json:"at"` // nanoseconds since 1970
	Message     *Message   `json:"message,omitempty"`
	Execute     *Execute   `json:"execute,omitempty"`
	Done        *Done      `json:"done,omitempty"`
	Exit        *Exit      `json:"exit,omitempty"`
	Interrupt   *Interrupt `json:"interrupt,omitempty"`
}

// EncodeEvent returns the packet of an event.
func EncodeEvent(e Event) ([]byte, error) {
	sections := messageSections(e.Message)
	if e.Done != nil {
		sections = [][]byte{e.Done.Payload}
	}
	return appendPacket(nil, eventHeader{sizesOf(sections), e.Seq, e.Kind, e.ExecutionID, e.At.UnixNano(),
		e.Message, e.Execute, e.Done, e.Exit, e.Interrupt}, sections)
}

// DecodeEvent reads the packet of an event, which it keeps views of.
func DecodeEvent(b []byte) (Event, error) {
	var h eventHeader
	sections, err := parsePacket(b, &h)
	if err != nil {
		return Event{}, err
	}
	e := Event{h.Seq, h.Kind, h.ExecutionID, time.Unix(0, h.At), h.Message, h.Execute, h.Done, h.Exit, h.Interrupt}
	if e.Done == nil {
		setMessageSections(e.Message, sections)
	} else if len(sections) > 0 {
		e.Done.Payload = notEmpty(sections[0])
	}
	return e, nil
}

type commandHeader struct {
	sized
	Command
}

// EncodeCommand returns the packet of a command.
func EncodeCommand(c Command) ([]byte, error) {
	sections := messageSections(c.Message)
	return appendPacket(nil, commandHeader{sizesOf(sections), c}, sections)
}

// DecodeCommand reads the packet of a command, which it keeps views of.
func DecodeCommand(b []byte) (Command, error) {
	var h commandHeader
	sections, err := parsePacket(b, &h)
	if err != nil {
		return Command{}, err
	}
	setMessageSections(h.Message, sections)
	return h.Command, nil
}

type replyHeader struct {
	sized
	Reply
}

// EncodeReply returns the packet of a reply.
func EncodeReply(r Reply) ([]byte, error) {
	sections := messageSections(r.Message)
	return appendPacket(nil, replyHeader{sizesOf(sections), r}, sections)
}

// DecodeReply reads the packet of a reply, which it keeps views of.
func DecodeReply(b []byte) (Reply, error) {
	var h replyHeader
	sections, err := parsePacket(b, &h)
	if err != nil {
		return Reply{}, err
	}
	setMessageSections(h.Message, sections)
	return h.Reply, nil
}
