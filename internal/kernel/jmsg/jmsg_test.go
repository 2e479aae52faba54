package jmsg

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
)

func codec(t testing.TB, scheme, key string) *Codec {
	t.Helper()
	c, err := NewCodec(scheme, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sample() Message {
	return Message{
		Header:    Header{ID: "1", Session: "s", Username: "u", Date: "2020-01-01T00:00:00Z", Type: "execute_request", Version: ProtocolVersion},
		RawParent: json.RawMessage(`{"msg_id":"0","msg_type":"p"}`), Metadata: json.RawMessage(`{"m":1}`),
		Content: json.RawMessage(`{"code":"é<&>"}`), Buffers: [][]byte{{0, 255}, {}},
	}
}

func TestRoundTrip(t *testing.T) {
	for _, scheme := range []string{"", "hmac-sha256", "hmac-sha512"} {
		for _, key := range []string{"", "secret"} {
			c := codec(t, scheme, key)
			parts, err := c.Encode(sample())
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Decode(append([][]byte{[]byte("route"), {}}, parts...))
			if err != nil {
				t.Fatalf("%s %q: %v", scheme, key, err)
			}
			want := sample()
			if got.Header != want.Header || got.Parent.ID != "0" || got.Parent.Type != "p" || string(got.Content) != string(want.Content) ||
				string(got.Metadata) != string(want.Metadata) || len(got.Buffers) != 2 || string(got.Buffers[0]) != "\x00\xff" {
				t.Errorf("%s %q: got %+v", scheme, key, got)
			}
		}
	}
}

func TestEmptyPartsAreObjects(t *testing.T) {
	c := codec(t, "", "k")
	parts, err := c.Encode(Message{Header: Header{Type: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts[3:] {
		if string(p) != "{}" {
			t.Errorf("part %q", p)
		}
	}
	m, err := c.Decode(parts)
	if err != nil || m.Parent != (Header{}) || m.Buffers != nil {
		t.Errorf("got %+v, %v", m, err)
	}
}

// The signature was computed with Python's hmac module over these very bytes.
func TestSignatureOfOthers(t *testing.T) {
	c := codec(t, "hmac-sha256", "key")
	parts := [][]byte{[]byte(`{"msg_id":"a","msg_type":"status"}`), []byte("{}"), []byte("{}"), []byte(`{"execution_state":"idle"}`)}
	const want = "a206035b94eb5eb4dd6b41e9f0285fd8fc5f4c9a7abc776a83cef45cb5597fc0"
	if got := string(c.sign(parts)); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

func TestEveryChangedByteIsNoticed(t *testing.T) {
	c := codec(t, "", "k")
	good, err := c.Encode(sample())
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 2+jsonParts; i++ {
		bad := slices.Clone(good)
		bad[i] = append(slices.Clone(bad[i]), ' ')
		if _, err := c.Decode(bad); !errors.Is(err, ErrSignature) {
			t.Errorf("frame %d changed: %v", i, err)
		}
	}
	if _, err := codec(t, "", "other").Decode(good); !errors.Is(err, ErrSignature) {
		t.Errorf("another key: %v", err)
	}
}

func TestMalformed(t *testing.T) {
	c := codec(t, "", "")
	d, header, o := []byte(delimiter), []byte(`{"msg_type":"x"}`), []byte("{}")
	for name, parts := range map[string][][]byte{
		"nothing":         nil,
		"no delimiter":    {header, o, o, o, o, o},
		"too few":         {d, o, header, o, o},
		"header is array": {d, o, []byte("[]"), o, o, o},
		"header is cut":   {d, o, []byte(`{"msg_type":`), o, o, o},
		"no type":         {d, o, o, o, o, o},
		"parent is text":  {d, o, header, []byte("x"), o, o},
		"huge header":     {d, o, make([]byte, maxHeader+1), o, o, o},
	} {
		if _, err := c.Decode(parts); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := c.Decode([][]byte{d, o, header, []byte("null"), o, o}); err != nil || m.Header.Type != "x" {
		t.Errorf("null parent: %+v, %v", m, err)
	}
	if _, err := NewCodec("hmac-md5", "k"); err == nil {
		t.Error("an unknown scheme was accepted")
	}
}

func FuzzDecode(f *testing.F) {
	signed, err := NewCodec("", "k")
	if err != nil {
		f.Fatal(err)
	}
	open, err := NewCodec("", "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"msg_id":"1","msg_type":"t"}`), []byte("{}"), []byte("{}"), []byte("{}"), []byte("b"))
	f.Add([]byte("null"), []byte("[]"), []byte(""), []byte("\xff"), []byte(""))
	f.Fuzz(func(t *testing.T, header, parent, metadata, content, buffer []byte) {
		parts := [][]byte{[]byte(delimiter), {}, header, parent, metadata, content, buffer}
		if _, err := signed.Decode(parts); !errors.Is(err, ErrSignature) {
			t.Fatalf("an empty signature passed: %v", err)
		}
		m, err := open.Decode(parts)
		if err == nil && (m.Header.Type == "" || string(m.Content) != string(content) || len(m.Buffers) != 1) {
			t.Fatalf("got %+v", m)
		}
	})
}
