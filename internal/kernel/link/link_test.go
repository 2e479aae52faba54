package link

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runt/internal/domain"
)

func count(n int64) *int64 { return &n }

// samples has one event of each kind.
func samples() map[string]Event {
	at := time.Unix(1600000000, 123456789)
	message := &Message{Type: "stream", ID: "m", ParentID: "p", Content: json.RawMessage(`{"text":"é"}`),
		Metadata: json.RawMessage(`{}`), Buffers: [][]byte{{0, 1}, {}, []byte("b")}}
	return map[string]Event{
		"accepted":  {Seq: 1, Kind: EventAccepted, ExecutionID: "x", At: at, Execute: &Execute{ID: "x", Code: "1+1", StoreHistory: true}},
		"message":   {Seq: 2, Kind: EventMessage, ExecutionID: "x", At: at, Message: message},
		"interrupt": {Seq: 3, Kind: EventInterrupt, ExecutionID: "x", At: at, Interrupt: &Interrupt{Attempt: 2, GaveUp: true}},
		"done":      {Seq: 4, Kind: EventDone, ExecutionID: "x", At: at, Done: &Done{Status: StatusOK, Count: count(7), Payload: json.RawMessage(`[1]`)}},
		"died":      {Seq: 1 << 62, Kind: EventDied, At: at, Exit: &Exit{Code: -1, Signal: "SIGKILL", Reason: "r", Stderr: "e"}},
	}
}

func TestEventsSurvive(t *testing.T) {
	for name, want := range samples() {
		b, err := EncodeEvent(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeEvent(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// The golden packets are what version 1 wrote; every later version must read them.
func TestGoldenEventsOfVersion1(t *testing.T) {
	for name, want := range samples() {
		path := filepath.Join("testdata", "v1-event-"+name+".hex")
		golden, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && os.Getenv("UPDATE_GOLDEN") != "" {
			b, err := EncodeEvent(want)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(hex.EncodeToString(b)+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := hex.DecodeString(strings.TrimSpace(string(golden)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeEvent(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestCommandsAndRepliesSurvive(t *testing.T) {
	c := Command{Op: OpComm, ID: 3, Seq: 9, ExecutionID: "x", Text: "t", Message: &Message{Type: "comm_msg", Content: json.RawMessage(`{}`), Buffers: [][]byte{{1}}}}
	b, err := EncodeCommand(c)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeCommand(b); err != nil || !cmp.Equal(c, got) {
		t.Errorf("%v: %s", err, cmp.Diff(c, got))
	}
	r := Reply{ID: 3, Welcome: &Welcome{Version: 1, First: 2, Last: 5, Phase: "ready", Queued: []string{"a"}}}
	if b, err = EncodeReply(r); err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeReply(b); err != nil || !cmp.Equal(r, got) {
		t.Errorf("%v: %s", err, cmp.Diff(r, got))
	}
}

func TestUnknownFieldsAreSkipped(t *testing.T) {
	b := packet(`{"op":"hello","from_the_future":{"a":[1]},"version":7}`)
	if c, err := DecodeCommand(b); err != nil || c.Op != OpHello || c.Version != 7 {
		t.Errorf("got %+v, %v", c, err)
	}
}

func packet(header string, sections ...string) []byte {
	b := []byte{0, 0, byte(len(header) >> 8), byte(len(header))}
	return append(append(b, header...), strings.Join(sections, "")...)
}

func TestMalformedPackets(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":                  nil,
		"short":                  {0, 0, 0},
		"header cut off":         {0, 0, 0, 9, '{', '}'},
		"header too long":        {0xff, 0xff, 0xff, 0xff},
		"no JSON":                packet("x"),
		"section too long":       packet(`{"sizes":[5]}`, "abcd"),
		"negative section":       packet(`{"sizes":[-1]}`, "abcd"),
		"far too many sections":  packet(`{"sizes":[` + strings.Repeat("0,", MaxSections) + `0]}`),
		"sections add up beyond": packet(`{"sizes":[3,3]}`, "abcd"),
	} {
		if _, err := DecodeEvent(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := EncodeEvent(Event{Message: &Message{Buffers: make([][]byte, MaxSections)}}); !errors.Is(err, ErrMalformed) {
		t.Errorf("too many buffers were encoded: %v", err)
	}
}

func TestFrames(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 3*trustedLength+1)
	var wire []byte
	for _, body := range [][]byte{[]byte("a"), {}, large} {
		wire = append(AppendFrameHead(wire, FrameReply, len(body)), body...)
	}
	r := bytes.NewReader(wire)
	for _, want := range [][]byte{[]byte("a"), {}, large} {
		if typ, got, err := ReadFrame(r); err != nil || typ != FrameReply || !bytes.Equal(got, want) {
			t.Errorf("type %d, %d bytes, %v", typ, len(got), err)
		}
	}
	if _, _, err := ReadFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	for _, bad := range []string{"\x00\x00\x00\x00\x01", "\xff\xff\xff\xff\x01", "\x00\x00\x00\x09\x01abc"} {
		if _, _, err := ReadFrame(strings.NewReader(bad)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFilesOfAHost(t *testing.T) {
	dir := t.TempDir()
	want := Manifest{Version: 1, RoomID: "r", Dir: dir, PID: 1, Start: "s", CreatedAt: time.Unix(1, 0).UTC()}
	for range 2 {
		if err := WriteManifest(want); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadManifest(dir); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(dir); err == nil {
		t.Error("half a manifest was read")
	}
	launch := Launch{RoomID: "r", Spec: LaunchSpec{Argv: []string{"a"}, Env: map[string]string{"k": "v"}}}
	if err := WriteLaunch(dir, launch); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, LaunchFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("launch file: %v, %v", info, err)
	}
	if got, err := TakeLaunch(dir); err != nil || !cmp.Equal(got, launch) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := TakeLaunch(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("taken twice: %v", err)
	}
}

func TestSocketPathLimit(t *testing.T) {
	if err := CheckSocketPath("/" + strings.Repeat("x", MaxSocketPath()-1)); err != nil {
		t.Error(err)
	}
	if err := CheckSocketPath("/" + strings.Repeat("x", MaxSocketPath())); domain.CodeOf(err) != domain.CodeInvalidArgument {
		t.Errorf("got %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		if b, err := EncodeEvent(e); err == nil {
			f.Add(b)
		}
	}
	f.Add(packet(`{"message":{},"done":{},"sizes":[1,1]}`, "ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeCommand(b)
		_, _ = DecodeReply(b)
		e, err := DecodeEvent(b)
		if err != nil {
			return
		}
		again, err := EncodeEvent(e)
		if err != nil {
			t.Fatalf("decoded and cannot be encoded: %v", err)
		}
		if _, err := DecodeEvent(again); err != nil {
			t.Fatalf("encoded and cannot be decoded: %v", err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x03\x01ab\x00\x00\x00\x01\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			if _, _, err := ReadFrame(r); err != nil {
				return
			}
		}
	})
}
