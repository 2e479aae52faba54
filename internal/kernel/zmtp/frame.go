package zmtp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
	flagsKnown  = flagMore | flagLong | flagCommand
)

// trustedLength is the frame size up to which the buffer is allocated at once;
// longer frames grow as their bytes come in.
const trustedLength = 1 << 20

// ErrProtocol is in the chain of every error about bytes that ZMTP does not allow.
var ErrProtocol = errors.New("not valid zmtp")

// TooLargeError says that a message was over a limit and was thrown away. The
// connection it came from can still be used.
type TooLargeError struct {
	Bytes uint64 // size of the message, as far as it was read
	Parts int    // frames in the message
}

// Error names the size.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("zmtp message of %d bytes in %d frames is over the limit", e.Bytes, e.Parts)
}

// appendFrameHead appends flags and length of a frame with n bytes.
func appendFrameHead(dst []byte, flags byte, n int) []byte {
	if n < 256 {
		return append(dst, flags, byte(n))
	}
	dst = append(dst, flags|flagLong)
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

// readFrameHead reads flags and length of the next frame.
func readFrameHead(r *bufio.Reader) (flags byte, n uint64, err error) {
	if flags, err = r.ReadByte(); err != nil {
		return 0, 0, err
	}
	if flags&^flagsKnown != 0 || flags&(flagCommand|flagMore) == flagCommand|flagMore {
		return 0, 0, fmt.Errorf("frame flags %#02x: %w", flags, ErrProtocol)
	}
	if flags&flagLong == 0 {
		b, err := r.ReadByte()
		return flags, uint64(b), noEOF(err)
	}
	var h [8]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, 0, noEOF(err)
	}
	n = binary.BigEndian.Uint64(h[:])
	if n > 1<<62 {
		return 0, 0, fmt.Errorf("frame of %d bytes: %w", n, ErrProtocol)
	}
	return flags, n, nil
}

// readBody reads n bytes, taking memory as they come.
func readBody(r io.Reader, n uint64) ([]byte, error) {
	if n <= trustedLength {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, noEOF(err)
	}
	b := make([]byte, trustedLength)
	for read := uint64(0); ; {
		m, err := io.ReadFull(r, b[read:])
		if read += uint64(m); err != nil {
			return nil, noEOF(err)
		}
		if read == n {
			return b, nil
		}
		grown := make([]byte, min(n, 2*read))
		copy(grown, b)
		b = grown
	}
}

// noEOF turns the end of the stream inside a frame into an unexpected one.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readMessage reads one message, skipping commands and, with a TooLargeError, what is over the limits.
func readMessage(r *bufio.Reader, maxBytes uint64, maxParts int) ([][]byte, error) {
	parts := make([][]byte, 0, 8)
	var total uint64
	count, over := 0, false
	for {
		flags, n, err := readFrameHead(r)
		if err != nil {
			if count > 0 {
				err = noEOF(err)
			}
			return nil, err
		}
		if flags&flagCommand != 0 {
			if err := discard(r, n); err != nil {
				return nil, err
			}
			continue
		}
		count++
		total += n
		if over = over || total > maxBytes || count > maxParts; over {
			parts = nil
			err = discard(r, n)
		} else {
			var body []byte
			body, err = readBody(r, n)
			parts = append(parts, body)
		}
		if err != nil {
			return nil, err
		}
		if flags&flagMore == 0 {
			if over {
				return nil, &TooLargeError{Bytes: total, Parts: count}
			}
			return parts, nil
		}
	}
}

func discard(r io.Reader, n uint64) error {
	_, err := io.CopyN(io.Discard, r, int64(n))
	return noEOF(err)
}
