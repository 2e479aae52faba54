package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrMagic is the error of a stream that does not begin with our magic number.
var ErrMagic = errors.New("wire: not a notebook protocol stream")

// VersionError is the error of a preamble with a version that is not served.
// The handshake can still be read after it, so that a probe on the pool
// channel may be answered.
type VersionError struct{ Version byte }

// Error names the version that came and the one expected.
func (e *VersionError) Error() string {
	return fmt.Sprintf("wire: protocol version %d, want %d", e.Version, ProtocolVersion)
}

const (
	readBuffer = 16 * kib
	// readStep is how much memory a length alone can make a Reader allocate.
	readStep = mib
)

// Reader takes messages off a stream. It belongs to one goroutine.
type Reader struct {
	r       *bufio.Reader
	skipped int
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, readBuffer)}
}

// ReadPreamble takes the preamble off the stream. The error is ErrMagic, a
// *VersionError, or that of the stream.
func (r *Reader) ReadPreamble() error {
	var b [len(Preamble)]byte
	if _, err := io.ReadFull(r.r, b[:]); err != nil {
		return fmt.Errorf("read preamble: %w", err)
	}
	if [4]byte(b[:4]) != [4]byte(Preamble[:4]) {
		return ErrMagic
	}
	if v := b[4]; v < MinProtocolVersion || v > ProtocolVersion {
		return &VersionError{Version: v}
	}
	return nil
}

// ReadUntyped takes one message without a type off the stream, of at most
// limit bytes. At the end of the stream it returns io.EOF itself.
func (r *Reader) ReadUntyped(limit int) ([]byte, error) {
	n, err := r.length()
	if err != nil {
		return nil, err
	}
	if n > int64(limit) {
		return nil, &LimitError{Name: "untyped message", Size: n, Limit: limit}
	}
	return r.body(int(n))
}

// ReadFrame takes the next typed frame of a known type off the stream and
// skips those of other types. The body is the caller's to keep. At the end of
// the stream it returns io.EOF itself, in the middle of a frame an error that
// is io.ErrUnexpectedEOF.
func (r *Reader) ReadFrame() (Frame, error) {
	for {
		n, err := r.length()
		if err != nil {
			return Frame{}, err
		}
		b, err := r.r.ReadByte()
		if err != nil {
			return Frame{}, midFrame(err)
		}
		t, n := FrameType(b), n-1
		if n > int64(t.Limit()) {
			return Frame{}, &LimitError{Name: t.String(), Size: n, Limit: t.Limit()}
		}
		if t.Known() {
			body, err := r.body(int(n))
			return Frame{Type: t, Body: body}, err
		}
		if _, err := r.r.Discard(int(n)); err != nil {
			return Frame{}, midFrame(err)
		}
		r.skipped++
	}
}

// Skipped returns how many frames of unknown types were skipped.
func (r *Reader) Skipped() int { return r.skipped }

// Buffered returns how many bytes have come in already that no call has taken.
func (r *Reader) Buffered() int { return r.r.Buffered() }

func (r *Reader) length() (int64, error) {
	var h [4]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		if err == io.EOF {
			return 0, err
		}
		return 0, midFrame(err)
	}
	n := int64(binary.BigEndian.Uint32(h[:]))
	if n == 0 {
		return 0, ErrZeroLength
	}
	return n, nil
}

// body reads n bytes. It allocates as bytes arrive: a peer that only claims
// to send much does not cost much.
func (r *Reader) body(n int) ([]byte, error) {
	b := make([]byte, min(n, readStep))
	for got := 0; ; {
		m, err := io.ReadFull(r.r, b[got:])
		if err != nil {
			return nil, midFrame(err)
		}
		if got += m; got == n {
			return b, nil
		}
		next := make([]byte, min(n, 2*len(b)))
		copy(next, b)
		b = next
	}
}

func midFrame(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read frame: %w", err)
}
