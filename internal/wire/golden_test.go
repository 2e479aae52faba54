package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded is one line of a .frames file.
type recorded struct {
	conn string
	out  bool // from the daemon
	kind string
	body []byte
}

// bytes builds the message without the code under test.
func (m recorded) bytes(t *testing.T) []byte {
	t.Helper()
	switch m.kind {
	case "preamble":
		return m.body
	case "untyped":
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(m.body))), m.body...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(len(m.body)+1))
	return append(append(b, byte(m.frameType(t))), m.body...)
}

func (m recorded) frameType(t *testing.T) FrameType {
	t.Helper()
	n, err := strconv.ParseUint(m.kind, 16, 8)
	if err != nil {
		t.Fatal(err)
	}
	return FrameType(n)
}

func readRecorded(t testing.TB, name string) []recorded {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(line, " ", 5)
		m := recorded{conn: f[0], out: f[1] == "<", kind: f[2]}
		switch {
		case m.kind == "preamble":
			m.body, err = hex.DecodeString(f[3])
		case strings.HasPrefix(f[4], "{"):
			m.body = []byte(f[4])
		default:
			m.body, err = hex.DecodeString(f[4])
		}
		if err != nil || m.kind != "preamble" && f[3] != strconv.Itoa(len(m.body)) {
			t.Fatalf("bad line %q: %d bytes, %v", line, len(m.body), err)
		}
		all = append(all, m)
	}
	return all
}

// TestGoldenFramesAreReadAndWritten reads every recorded stream with a Reader
// and writes what came out again.
func TestGoldenFramesAreReadAndWritten(t *testing.T) {
	streams := map[string][]recorded{}
	for _, m := range readRecorded(t, "create-notebook.frames") {
		key := m.conn + map[bool]string{true: "<", false: ">"}[m.out]
		streams[key] = append(streams[key], m)
	}
	for key, messages := range streams {
		t.Run(key, func(t *testing.T) {
			var in, out []byte
			for _, m := range messages {
				in = append(in, m.bytes(t)...)
			}
			r := NewReader(bytes.NewReader(in))
			for _, m := range messages {
				var err error
				switch m.kind {
				case "preamble":
					if err = r.ReadPreamble(); err == nil {
						out = append(out, Preamble[:]...)
					}
				case "untyped":
					var b []byte
					if b, err = r.ReadUntyped(MaxHandshake); err == nil {
						out, err = AppendUntyped(out, b)
					}
				default:
					var f Frame
					if f, err = r.ReadFrame(); err == nil {
						out, err = AppendFrame(out, f.Type, f.Body)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(in, out) {
				t.Errorf("wrote\n%x, read\n%x", out, in)
			}
			if _, err := r.ReadFrame(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last message: %v", err)
			}
		})
	}
}

// TestGoldenMessagesAreDecodedAndEncoded decodes every recorded message into
// its type and encodes it again. "exact" messages give the same bytes.
func TestGoldenMessagesAreDecodedAndEncoded(t *testing.T) {
	seen := map[string]int{}
	for _, m := range readRecorded(t, "create-notebook.frames") {
		got, exact, err := recode(t, m, seen)
		if err != nil {
			t.Fatalf("%s: %v", m.body, err)
		}
		if got == nil {
			continue
		}
		if exact && !bytes.Equal(got, m.body) {
			t.Errorf("encoded\n%s, want\n%s", got, m.body)
		}
		if diff := cmp.Diff(loose(t, m.body), loose(t, got)); diff != "" {
			t.Errorf("%s (-recorded +encoded)\n%s", m.body, diff)
		}
	}
	for _, kind := range []string{ChannelCreate, ChannelPool, PoolPing, PoolPong, PoolRoomsList, PoolDaemonInfo,
		KindConnectionInfo, ControlSyncStatus, ControlHostedBridge, PresenceUpdate, PresenceHeartbeat, PresenceClearChannel} {
		if seen[kind] == 0 {
			t.Errorf("no recorded message of kind %s", kind)
		}
	}
}

func recode(t *testing.T, m recorded, seen map[string]int) (got []byte, exact bool, err error) {
	t.Helper()
	if m.kind == "untyped" {
		return recodeUntyped(m, seen)
	}
	if m.kind == "preamble" {
		return nil, false, nil
	}
	switch m.frameType(t) {
	case FramePresence:
		p, err := DecodePresence(m.body)
		if err != nil {
			return nil, false, err
		}
		seen[p.Type]++
		got, err = EncodePresence(p)
		return got, m.body[0] != 0xbf, err
	case FrameControl:
		c, err := DecodeControl(m.body)
		if err != nil {
			return nil, false, err
		}
		seen[c.Type]++
		switch {
		case c.SyncStatus != nil:
			got, err = EncodeSyncStatus(*c.SyncStatus)
		case c.Bridge != nil:
			got, err = EncodeHostedBridgeStatus(*c.Bridge)
		case c.Info != nil:
			got, err = c.Info.MarshalTyped(c.Type)
		}
		return got, true, err
	}
	return nil, false, nil
}

func recodeUntyped(m recorded, seen map[string]int) (got []byte, exact bool, err error) {
	var head struct{ Channel, Type string }
	if err := json.Unmarshal(m.body, &head); err != nil {
		return nil, false, err
	}
	seen[head.Channel+head.Type]++
	decode := func(v any) ([]byte, bool, error) {
		if err := DecodePool(m.body, head.Type, v); err != nil {
			return nil, false, err
		}
		b, err := EncodePool(head.Type, v)
		return b, true, err
	}
	switch head.Type {
	case "":
		h, err := DecodeHandshake(m.body)
		if err != nil {
			return nil, false, err
		}
		got, err = EncodeHandshake(h)
		return got, true, err
	case PoolPong:
		return decode(new(Pong))
	case PoolRoomsList:
		return decode(new(RoomsList))
	case PoolDaemonInfo:
		got, _, err := decode(new(DaemonInfo))
		return bytes.Replace(got, []byte(`"protocol_v`), []byte(`"host_telemetry":true,"protocol_v`), 1), false, err
	}
	r, err := DecodePoolRequest(m.body)
	if err != nil {
		return nil, false, err
	}
	got, err = json.Marshal(r)
	return got, true, err
}

// loose decodes JSON or CBOR without the types of this package.
func loose(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	var err error
	if b[0] == '{' {
		err = json.Unmarshal(b, &v)
	} else {
		err = cborDecoder.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}
