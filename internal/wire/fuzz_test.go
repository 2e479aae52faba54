package wire

import (
	"bytes"
	"testing"
)

// seed adds the recorded bodies of some kinds, and some broken input.
func seed(f *testing.F, more ...string) {
	f.Helper()
	for _, m := range readRecorded(f, "create-notebook.frames") {
		f.Add(m.body)
	}
	for _, s := range append(more, "", "{}", "[]", "null", "{\"type\":", "\x00\x00\x00\x02{}", "\xbf\xff") {
		f.Add([]byte(s))
	}
}

func FuzzReader(f *testing.F) {
	seed(f, "\x00\x00\x00\x03\x07{}\x00\x00\x00\x02\x7fx\x00\x00\x00\x01\x00", "\x06\x40\x00\x00\x00", "\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		var again []byte
		for {
			frame, err := r.ReadFrame()
			if err != nil {
				break
			}
			if again, err = AppendFrame(again, frame.Type, frame.Body); err != nil {
				t.Fatalf("read a frame that cannot be sent: %v", err)
			}
		}
		if r.Skipped() == 0 && !bytes.HasPrefix(b, again) {
			t.Errorf("read %x as %x", b, again)
		}
	})
}

func FuzzHandshake(f *testing.F) {
	seed(f, `{"channel":"open_notebook","path":"a.ipynb","runt_keep_alive_secs":5}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := DecodeHandshake(b); err == nil && h.Channel == "" {
			t.Error("no channel")
		}
		if _, err := DecodeConnectionInfo(b); err != nil {
			return
		}
	})
}

func FuzzControl(f *testing.F) {
	seed(f, `{"type":"sync_status","initial_load":{"phase":"failed","reason":"x"}}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeControl(b)
		if err == nil && c.Info != nil {
			if _, err := c.Info.MarshalTyped(c.Type); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzRequest(f *testing.F) {
	seed(f, `{"id":"1","action":"send_comm","message":{"header":{},"content":{},"buffers":[[1]]}}`, `{"action":"run_all_cells","cell_execution_ids":{"a":"b"}}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRequest(b)
		if err != nil {
			return
		}
		if _, err := EncodeRequest(r); err != nil {
			t.Errorf("read a request that cannot be written: %v", err)
		}
		if m, err := DecodeCommMessage(r.Message); err == nil && m.Channel == "" {
			t.Error("no channel")
		}
	})
}

func FuzzResponse(f *testing.F) {
	seed(f, `{"id":"1","result":"doc_bytes","bytes":[1,2]}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := DecodeResponse(b); err == nil {
			var body DocBytes
			if r.Decode(&body) == nil && len(body.Bytes) > len(b) {
				t.Error("more bytes than were sent")
			}
		}
		if _, err := DecodeExecution(b); err != nil {
			return
		}
	})
}

func FuzzBroadcast(f *testing.F) {
	seed(f, `{"event":"comm","msg_type":"m","content":{},"buffers":[[1],[]]}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeBroadcast(b)
		if err == nil && v.Content != nil {
			if _, err := EncodeBroadcast(v); err != nil {
				t.Error(err)
			}
		}
	})
}

func FuzzPresence(f *testing.F) {
	seed(f, "\xa3\x64type\x68snapshot\x67peer_id\x61d\x65peers\x80", "\xbb\x80\x00\x00\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePresence(b)
		if err != nil {
			return
		}
		again, err := EncodePresence(p)
		if err != nil {
			return // it may be longer than it was
		}
		if q, err := DecodePresence(again); err != nil || q.Type != p.Type || q.PeerID != p.PeerID {
			t.Errorf("%+v became %+v, %v", p, q, err)
		}
	})
}

func FuzzPool(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := DecodePoolRequest(b); err == nil && r.Type == "" {
			t.Error("no type")
		}
		var info DaemonInfo
		var rooms RoomsList
		var record ExecutionResult
		_ = DecodePool(b, PoolDaemonInfo, &info)
		_ = DecodePool(b, PoolRoomsList, &rooms)
		_ = DecodePool(b, PoolExecutionResult, &record)
	})
}

func FuzzPutBlob(f *testing.F) {
	b, err := EncodePutBlob(PutBlobHeader{Op: BlobPut, ID: "1"}, []byte("data"))
	if err != nil {
		f.Fatal(err)
	}
	seed(f, string(b))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, data, err := DecodePutBlob(b); err == nil && len(data) > len(b)-6 {
			t.Error("more data than was sent")
		}
	})
}

func FuzzSanitizeLabel(f *testing.F) {
	f.Add("a \u202eb")
	f.Fuzz(func(t *testing.T, s string) {
		got := SanitizeLabel(s)
		if n := len([]rune(got)); n > MaxLabel || SanitizeLabel(got) != got {
			t.Errorf("%q became %q", s, got)
		}
	})
}
