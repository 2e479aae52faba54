package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The limits are those of the peers, written out on purpose.
func TestLimitsOfFrameTypes(t *testing.T) {
	for typ, want := range map[FrameType]int{
		0x00: 67108864, 0x01: 16777216, 0x02: 67108864, 0x03: 16777216, 0x04: 4096, 0x05: 67108864,
		0x06: 1048576, 0x07: 1048576, 0x08: 33554432, 0x09: 67108864, 0x0a: 67108864, 0x20: 67108864,
		0x7f: 104857600,
	} {
		if got := typ.Limit(); got != want {
			t.Errorf("%v: limit %d, want %d", typ, got, want)
		}
		if typ.Known() != (typ != 0x7f) {
			t.Errorf("%v: known %v", typ, typ.Known())
		}
	}
}

func TestLimitsHoldWhenSendingAndReceiving(t *testing.T) {
	for _, typ := range []FrameType{FramePresence, FrameControl, FramePoolSync, FrameRequest, FramePutBlob} {
		body := make([]byte, typ.Limit()+1)
		var limit *LimitError
		if _, err := AppendFrame(nil, typ, body); !errors.As(err, &limit) || limit.Limit != typ.Limit() {
			t.Errorf("%v: sending: %v", typ, err)
		}
		full, err := AppendFrame(nil, typ, body[1:])
		if err != nil {
			t.Errorf("%v: sending at the limit: %v", typ, err)
		}
		if f, err := NewReader(bytes.NewReader(full)).ReadFrame(); err != nil || f.Type != typ || len(f.Body) != typ.Limit() {
			t.Errorf("%v: receiving at the limit: %d bytes, %v", typ, len(f.Body), err)
		}
		head := append(binary.BigEndian.AppendUint32(nil, uint32(typ.Limit()+2)), byte(typ))
		limit = nil
		if _, err := NewReader(bytes.NewReader(head)).ReadFrame(); !errors.As(err, &limit) || limit.Size != int64(typ.Limit()+1) {
			t.Errorf("%v: receiving: %v", typ, err)
		}
	}
}

func TestUntypedLimits(t *testing.T) {
	var limit *LimitError
	if _, err := AppendUntyped(nil, nil); !errors.Is(err, ErrZeroLength) {
		t.Error(err)
	}
	if _, err := AppendUntyped(nil, make([]byte, MaxPool+1)); !errors.As(err, &limit) {
		t.Error(err)
	}
	b, err := AppendUntyped(nil, []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewReader(bytes.NewReader(b)).ReadUntyped(2); !errors.As(err, &limit) || limit.Size != 3 {
		t.Error(err)
	}
	if got, err := NewReader(bytes.NewReader(b)).ReadUntyped(3); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := EncodeHandshake(Handshake{Channel: ChannelCreate, WorkingDir: strings.Repeat("x", MaxHandshake)}); !errors.As(err, &limit) {
		t.Error(err)
	}
}

func TestUnknownFramesAreSkipped(t *testing.T) {
	var in []byte
	in = append(in, 0, 0, 0, 1, 0x7f)                                   // empty
	in = append(append(in, 0, 1, 0, 1, 0x30), make([]byte, 0x10000)...) // larger than the buffer
	in = append(in, 0, 0, 0, 3, byte(FrameControl), '{', '}')           // known
	in = append(append(in, 0, 0, 0, 5, 0x21), "skip"...)                // unknown at the end
	r := NewReader(iotest.OneByteReader(bytes.NewReader(in)))
	if f, err := r.ReadFrame(); err != nil || f.Type != FrameControl || string(f.Body) != "{}" {
		t.Fatalf("%v %q, %v", f.Type, f.Body, err)
	}
	if _, err := r.ReadFrame(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if r.Skipped() != 3 {
		t.Errorf("skipped %d", r.Skipped())
	}
}

func TestBrokenStreams(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"nothing":              {"", io.EOF},
		"part of a length":     {"\x00\x00", io.ErrUnexpectedEOF},
		"no type":              {"\x00\x00\x00\x02", io.ErrUnexpectedEOF},
		"part of a body":       {"\x00\x00\x00\x09\x07abc", io.ErrUnexpectedEOF},
		"part of an unknown":   {"\x00\x00\x00\x09\x7fabc", io.ErrUnexpectedEOF},
		"length zero":          {"\x00\x00\x00\x00", ErrZeroLength},
		"all a sync frame may": {"\x04\x00\x00\x01\x00abc", io.ErrUnexpectedEOF},
	} {
		if _, err := NewReader(strings.NewReader(c.in)).ReadFrame(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A length is no reason to allocate: the body must arrive.
func TestClaimedLengthCostsLittle(t *testing.T) {
	in := "\x04\x00\x00\x01\x00abc" // claims 64 MiB
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := NewReader(strings.NewReader(in)).ReadFrame(); err == nil {
				b.Fatal("no error")
			}
		}
	}).AllocedBytesPerOp()
	if got > 2*readStep {
		t.Errorf("%d bytes allocated", got)
	}
}

func TestPreamble(t *testing.T) {
	read := func(s string) error { return NewReader(strings.NewReader(s)).ReadPreamble() }
	if err := read("\xc0\xde\x01\xac\x04"); err != nil {
		t.Error(err)
	}
	if err := read("GET / HTTP/1.1"); !errors.Is(err, ErrMagic) {
		t.Error(err)
	}
	if err := read("\xc0\xde"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	for _, v := range []byte{0, 3, 5, 255} {
		r := NewReader(bytes.NewReader(append([]byte{0xc0, 0xde, 0x01, 0xac, v}, "\x00\x00\x00\x02{}"...)))
		var version *VersionError
		if err := r.ReadPreamble(); !errors.As(err, &version) || version.Version != v {
			t.Errorf("version %d: %v", v, err)
		}
		if b, err := r.ReadUntyped(MaxHandshake); err != nil || string(b) != "{}" {
			t.Errorf("the handshake after version %d: %q, %v", v, b, err)
		}
	}
}
