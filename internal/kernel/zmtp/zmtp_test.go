package zmtp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func frame(flags byte, body string) []byte {
	return append(appendFrameHead(nil, flags, len(body)), body...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func reader(b []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(b)) }

func TestReadMessage(t *testing.T) {
	long := string(make([]byte, 300))
	huge := append([]byte{flagLong}, binary.BigEndian.AppendUint64(nil, 1<<61)...)
	for name, x := range map[string]struct {
		in   []byte
		want []string
		err  error
	}{
		"one frame":             {frame(0, "a"), []string{"a"}, nil},
		"empty frame":           {frame(0, ""), []string{""}, nil},
		"several, one long":     {join(frame(1, "a"), frame(1, long), frame(0, "")), []string{"a", long, ""}, nil},
		"command before":        {join(frame(4, "\x04PINGxx"), frame(0, "a")), []string{"a"}, nil},
		"command inside":        {join(frame(1, "a"), frame(4, "\x04PING"), frame(0, "b")), []string{"a", "b"}, nil},
		"end":                   {nil, nil, io.EOF},
		"end after first frame": {frame(1, "a"), nil, io.ErrUnexpectedEOF},
		"end inside":            {frame(0, "abc")[:3], nil, io.ErrUnexpectedEOF},
		"end inside length":     {huge[:4], nil, io.ErrUnexpectedEOF},
		"unknown flag":          {[]byte{8, 0}, nil, ErrProtocol},
		"command with more":     {frame(5, "x"), nil, ErrProtocol},
		"absurd length":         {append([]byte{flagLong}, bytes.Repeat([]byte{0xff}, 8)...), nil, ErrProtocol},
		"long and cut off":      {huge, nil, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readMessage(reader(x.in), 1<<20, 100)
			if !errors.Is(err, x.err) {
				t.Fatalf("error %v, want %v", err, x.err)
			}
			if len(got) != len(x.want) {
				t.Fatalf("%d frames, want %d", len(got), len(x.want))
			}
			for i := range got {
				if string(got[i]) != x.want[i] {
					t.Errorf("frame %d is %q, want %q", i, got[i], x.want[i])
				}
			}
		})
	}
}

func TestMessagesOverTheLimitsAreSkipped(t *testing.T) {
	next := frame(0, "next")
	for name, in := range map[string][]byte{
		"one frame":        frame(0, string(make([]byte, 1001))),
		"sum of frames":    join(frame(1, string(make([]byte, 999))), frame(1, "abc"), frame(0, "d")),
		"number of frames": join(frame(1, ""), frame(1, ""), frame(1, ""), frame(0, "")),
	} {
		r := reader(join(in, next))
		var large *TooLargeError
		if _, err := readMessage(r, 1000, 3); !errors.As(err, &large) || large.Parts == 0 || large.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := readMessage(r, 1000, 3); err != nil || string(got[0]) != "next" {
			t.Errorf("%s: then %q, %v", name, got, err)
		}
	}
}

func TestReadBodyTakesMemoryAsItComes(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), trustedLength/2)
	got, err := readBody(bytes.NewReader(body), uint64(len(body)))
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes of %d, %v", len(got), len(body), err)
	}
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := readBody(bytes.NewReader(body[:10]), 1<<40); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
	if allocated > 5 {
		t.Errorf("%v allocations for ten bytes", allocated)
	}
}

func TestGreetings(t *testing.T) {
	change := func(at int, b byte) []byte { g := greeting(); g[at] = b; return g }
	for name, x := range map[string]struct {
		g  []byte
		ok bool
	}{
		"ours":          {greeting(), true},
		"version 3.1":   {change(11, 1), true},
		"version 4":     {change(10, 4), true},
		"version 2":     {change(10, 1), false},
		"no signature":  {change(0, 0), false},
		"no signature2": {change(9, 0), false},
		"CURVE":         {change(12, 'C'), false},
		"NULLS":         {change(16, 'S'), false},
	} {
		if err := checkGreeting(x.g); (err == nil) != x.ok || err != nil && !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseReady(t *testing.T) {
	own := readyCommand(Dealer, []byte("id"))[2:]
	props, err := parseReady(own)
	if err != nil || props["Socket-Type"] != "DEALER" || props["Identity"] != "id" {
		t.Errorf("our own: %v, %v", props, err)
	}
	for _, bad := range []string{"", "\x05", "\x05READ", "\x05ERROR\x03bad", "\x04PING", "\x05READY\x03", "\x05READY\x01a\x00\x00", "\x05READY\x01a\x00\x00\x00\x02x"} {
		if _, err := parseReady([]byte(bad)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for in, want := range map[string]string{"tcp://h:1": "tcp h:1", "ipc:///a/b": "unix /a/b", "tcp://": "", "x": "", "udp://x": ""} {
		network, address, err := splitEndpoint(in)
		if want == "" && !errors.Is(err, ErrProtocol) || want != "" && network+" "+address != want {
			t.Errorf("%q: %s %s, %v", in, network, address, err)
		}
	}
}

func TestHandshakeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer func() { _ = theirs.Close() }()
		done := make(chan struct{})
		go func() { // reads and never answers
			defer close(done)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		began := time.Now()
		if _, err := NewConn(t.Context(), ours, Options{Type: Sub}); err == nil || time.Since(began) != DefaultHandshakeTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		_ = ours.Close()
		<-done
	})
}

func TestHandshakeEndsWithItsContext(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewConn(ctx, ours, Options{Type: Sub}); err == nil {
		t.Error("a handshake without its context succeeded")
	}
	if _, err := NewConn(t.Context(), ours, Options{Type: Dealer, Identity: make([]byte, 256)}); !errors.Is(err, ErrProtocol) {
		t.Errorf("an identity of 256 bytes: %v", err)
	}
}

func TestSendNeedsAFrame(t *testing.T) {
	if err := (&Conn{}).Send(); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v", err)
	}
}

// stream is a connection whose peer has already said everything.
type stream struct {
	net.Conn
	io.Reader
}

func (s stream) Read(p []byte) (int, error) { return s.Reader.Read(p) }
func (stream) Write(p []byte) (int, error)  { return len(p), nil }
func (stream) SetDeadline(time.Time) error  { return nil }
func (stream) Close() error                 { return nil }
func xpubReady() []byte                     { return readyCommand("XPUB", nil) }

func TestWrongPartnersAreRefused(t *testing.T) {
	for name, in := range map[string][]byte{
		"REP for a SUB":    join(greeting(), readyCommand("REP", nil)),
		"no command":       join(greeting(), frame(0, "x")),
		"huge command":     join(greeting(), []byte{flagCommand | flagLong, 0, 0, 0, 0, 1, 0, 0, 0}),
		"ERROR":            join(greeting(), frame(4, "\x05ERROR\x02no")),
		"another protocol": append([]byte("HTTP/1.1 400 Bad Request"), make([]byte, 64)...),
	} {
		if _, err := NewConn(t.Context(), stream{Reader: bytes.NewReader(in)}, Options{Type: Sub}); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzPeer(f *testing.F) {
	f.Add(join(greeting(), xpubReady(), frame(1, "topic"), frame(0, "body")))
	f.Add(join(greeting(), frame(4, "\x05ERROR\x02no")))
	f.Add(greeting()[:30])
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := NewConn(t.Context(), stream{Reader: bytes.NewReader(in)}, Options{Type: Sub, MaxMessage: 1 << 16, MaxParts: 16})
		if err != nil {
			return
		}
		for {
			parts, err := c.Recv()
			var large *TooLargeError
			if errors.As(err, &large) {
				continue
			}
			if err != nil {
				return
			}
			if len(parts) == 0 || len(parts) > 16 {
				t.Fatalf("%d frames", len(parts))
			}
		}
	})
}
