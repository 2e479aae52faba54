package zmtp

import (
	"encoding/binary"
	"fmt"
	"io"
)

// SocketType is the kind of socket that this side plays.
type SocketType string

// The socket types that a Jupyter client needs.
const (
	Dealer SocketType = "DEALER" // shell, control, stdin
	Sub    SocketType = "SUB"    // iopub
	Req    SocketType = "REQ"    // heartbeat
)

const (
	greetingSize = 64
	maxHandshake = 64 << 10 // bytes of a READY or ERROR command
)

// peersOf names the socket types that may be at the other end.
var peersOf = map[SocketType][]string{
	Dealer: {"ROUTER", "DEALER", "REP"},
	Sub:    {"PUB", "XPUB"},
	Req:    {"REP", "ROUTER"},
}

func greeting() []byte {
	g := make([]byte, greetingSize)
	g[0], g[9], g[10] = 0xff, 0x7f, 3
	copy(g[12:], "NULL")
	return g
}

func checkGreeting(g []byte) error {
	switch {
	case g[0] != 0xff || g[9]&1 != 1:
		return fmt.Errorf("greeting without a signature: %w", ErrProtocol)
	case g[10] < 3:
		return fmt.Errorf("peer speaks version %d, need 3: %w", g[10], ErrProtocol)
	case string(g[12:17]) != "NULL\x00":
		return fmt.Errorf("peer wants mechanism %.20q, only NULL is known: %w", g[12:32], ErrProtocol)
	}
	return nil
}

func readyCommand(kind SocketType, identity []byte) []byte {
	b := []byte("\x05READY")
	b = appendProperty(b, "Socket-Type", []byte(kind))
	if kind != Sub {
		b = appendProperty(b, "Identity", identity)
	}
	return append(appendFrameHead(nil, flagCommand, len(b)), b...)
}

func appendProperty(dst []byte, name string, value []byte) []byte {
	dst = append(append(dst, byte(len(name))), name...)
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(value))), value...)
}

// parseReady reads the body of a READY command into its properties.
func parseReady(body []byte) (map[string]string, error) {
	if len(body) < 1 || len(body) < 1+int(body[0]) {
		return nil, fmt.Errorf("short command: %w", ErrProtocol)
	}
	name, rest := string(body[1:1+body[0]]), body[1+body[0]:]
	if name == "ERROR" {
		return nil, fmt.Errorf("peer refused: %.200q: %w", rest, ErrProtocol)
	}
	if name != "READY" {
		return nil, fmt.Errorf("command %.40q instead of READY: %w", name, ErrProtocol)
	}
	props := map[string]string{}
	for len(rest) > 0 {
		k := int(rest[0])
		if len(rest) < 1+k+4 {
			return nil, fmt.Errorf("short property: %w", ErrProtocol)
		}
		key := string(rest[1 : 1+k])
		n := uint64(binary.BigEndian.Uint32(rest[1+k:]))
		rest = rest[1+k+4:]
		if n > uint64(len(rest)) {
			return nil, fmt.Errorf("short value of property %.40q: %w", key, ErrProtocol)
		}
		props[key] = string(rest[:n])
		rest = rest[n:]
	}
	return props, nil
}

// handshake exchanges greeting and READY.
func (c *Conn) handshake(kind SocketType, identity []byte) error {
	if _, err := c.nc.Write(append(greeting(), readyCommand(kind, identity)...)); err != nil {
		return fmt.Errorf("send greeting: %w", err)
	}
	var g [greetingSize]byte
	if _, err := io.ReadFull(c.r, g[:]); err != nil {
		return fmt.Errorf("read greeting: %w", err)
	}
	if err := checkGreeting(g[:]); err != nil {
		return err
	}
	flags, n, err := readFrameHead(c.r)
	if err != nil {
		return fmt.Errorf("read ready: %w", err)
	}
	if flags&flagCommand == 0 || n > maxHandshake {
		return fmt.Errorf("first frame has flags %#02x and %d bytes: %w", flags, n, ErrProtocol)
	}
	body, err := readBody(c.r, n)
	if err != nil {
		return fmt.Errorf("read ready: %w", err)
	}
	props, err := parseReady(body)
	if err != nil {
		return err
	}
	for _, p := range peersOf[kind] {
		if props["Socket-Type"] == p {
			return nil
		}
	}
	return fmt.Errorf("a %s cannot talk to a %.20q: %w", kind, props["Socket-Type"], ErrProtocol)
}
