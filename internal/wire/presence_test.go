package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPresenceRoundTrip(t *testing.T) {
	for _, p := range []Presence{
		{Type: PresenceHeartbeat, PeerID: "local"},
		{Type: PresenceLeft, PeerID: "p"},
		{Type: PresenceClearChannel, PeerID: "p", Channel: PresenceFocus},
		{Type: PresenceUpdate, PeerID: "p", PeerLabel: "me", ActorLabel: "a", Channel: PresenceFocus, Data: map[string]any{"cell_id": "c"}},
		{Type: PresenceUpdate, PeerID: "p", Channel: PresenceCustom, Data: []any{uint64(1), uint64(255)}},
		{Type: PresenceSnapshot, PeerID: "daemon", Peers: []PresencePeer{{PeerID: "p", PeerLabel: "l", Channels: []PresenceChannel{{PresenceCursor, map[string]any{"cell_id": "c", "line": uint64(1)}}}}}},
	} {
		b, err := EncodePresence(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := EncodePresence(p)
		if err != nil || !bytes.Equal(b, again) {
			t.Errorf("%+v: bytes vary, %v", p, err)
		}
		back, err := DecodePresence(b)
		if diff := cmp.Diff(p, back); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	if got := (Presence{Data: map[string]any{"cell_id": "c"}}).CellID(); got != "c" {
		t.Errorf("cell %q", got)
	}
	if got := (Presence{}).CellID(); got != "" {
		t.Errorf("cell %q", got)
	}
}

// Lists of a snapshot are required by peers, also empty ones.
func TestEmptySnapshotHasItsLists(t *testing.T) {
	for want, p := range map[string]Presence{
		"\xa3\x64type\x68snapshot\x67peer_id\x61d\x65peers\x80": {Type: PresenceSnapshot, PeerID: "d"},
		"\xa3\x64type\x68snapshot\x67peer_id\x61d\x65peers\x81\xa3\x67peer_id\x61p\x6apeer_label\x60\x68channels\x80": {
			Type: PresenceSnapshot, PeerID: "d", Peers: []PresencePeer{{PeerID: "p"}}},
	} {
		if got, err := EncodePresence(p); err != nil || string(got) != want {
			t.Errorf("%q, %v\nwant %q", got, err, want)
		}
	}
}

func TestManyPeersAreToldInSeveralSnapshots(t *testing.T) {
	var peers []PresencePeer
	for i := range 100 {
		data := map[string]any{"cell_id": fmt.Sprintf("cell-%040d", i)}
		if i == 50 {
			data["cell_id"] = strings.Repeat("x", MaxPresence)
		}
		peers = append(peers, PresencePeer{PeerID: fmt.Sprintf("peer-%032d", i), PeerLabel: "me", Channels: []PresenceChannel{{PresenceFocus, data}}})
	}
	frames, err := EncodeSnapshots("daemon", peers)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range frames {
		p, err := DecodePresence(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, peer := range p.Peers {
			if peer.PeerID != peers[n].PeerID || len(peer.Channels) == 0 != (n == 50) {
				t.Errorf("peer %d is told as %+v", n, peer)
			}
			n++
		}
	}
	if n != 100 || len(frames) < 3 {
		t.Errorf("%d peers in %d frames", n, len(frames))
	}
	if got, err := EncodeSnapshots("daemon", nil); got != nil || err != nil {
		t.Errorf("nobody: %v, %v", got, err)
	}
	if _, err := EncodeSnapshots("daemon", []PresencePeer{{PeerID: strings.Repeat("x", MaxPresence)}}); err == nil {
		t.Error("a peer that fits nowhere was told")
	}
}

func TestPresenceLimits(t *testing.T) {
	deep := "\xa1\x64data" + strings.Repeat("\x81", 20) + "\x00"
	for name, in := range map[string]string{
		"nothing":            "",
		"no type":            "\xa0",
		"too large":          strings.Repeat("\x00", MaxPresence+1),
		"too deep":           deep,
		"length of 2^63":     "\xbb\x80\x00\x00\x00\x00\x00\x00\x00",
		"array of 2^32":      "\xa1\x64data\x9a\xff\xff\xff\xff",
		"the same key twice": "\xa2\x64type\x61a\x64type\x61b",
		"bad UTF-8":          "\xa1\x64type\x61\xff",
		"a tag":              "\xa1\x64type\xc1\x00",
		"not a map":          "\x83\x01\x02\x03",
		"cut off":            "\xbf\x64type\x61a",
		"more after the end": "\xa1\x64type\x61a\x00",
	} {
		if p, err := DecodePresence([]byte(in)); err == nil {
			t.Errorf("%s was taken: %+v", name, p)
		}
	}
	if _, err := EncodePresence(Presence{Type: PresenceUpdate, PeerID: strings.Repeat("x", MaxPresence)}); err == nil {
		t.Error("a frame above the limit was made")
	}
	if _, err := EncodePresence(Presence{Type: PresenceUpdate, Data: func() {}}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestSanitizeLabel(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"claude":                          "claude",
		"  two\t\nwords  ":                "two words",
		"a\u200bb\u202ec\ufeffd\x1be\x00": "abcde",
		"Zoë 日本 🙂":                        "Zoë 日本 🙂",
		"\u3164\u2800":                    "",
		"bad\xffbytes":                    "badbytes",
		strings.Repeat("ä", 100):          strings.Repeat("ä", 64),
		strings.Repeat("a", 63) + " b":    strings.Repeat("a", 63),
		strings.Repeat("a", 62) + " b c":  strings.Repeat("a", 62) + " b",
		"👩\u200d💻":                        "👩💻",
	} {
		if got := SanitizeLabel(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
