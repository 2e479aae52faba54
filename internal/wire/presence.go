package wire

import (
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// Types of presence messages.
const (
	PresenceUpdate       = "update"        // PeerID, PeerLabel, ActorLabel, Channel, Data
	PresenceSnapshot     = "snapshot"      // PeerID of the sender, Peers
	PresenceLeft         = "left"          // PeerID
	PresenceHeartbeat    = "heartbeat"     // PeerID
	PresenceClearChannel = "clear_channel" // PeerID, Channel
)

// Channels of presence. Data of each is a map with the fields named.
const (
	PresenceCursor      = "cursor"       // cell_id, line, column
	PresenceSelection   = "selection"    // cell_id, anchor_line, anchor_col, head_line, head_col
	PresenceFocus       = "focus"        // cell_id
	PresenceInteraction = "interaction"  // kind, cell_id, and output_id or anchor_id
	PresenceKernelState = "kernel_state" // status, env_source; from the daemon only
	PresenceCustom      = "custom"       // a list of bytes as numbers, no map
)

// Intervals of presence.
const (
	PresenceInterval = 15 * time.Second     // between heartbeats of a peer
	PresenceTTL      = 3 * PresenceInterval // after which a silent peer has left
)

// Presence is one presence message. Which fields count depends on Type.
type Presence struct {
	Type       string         `cbor:"type"`
	PeerID     string         `cbor:"peer_id"`
	PeerLabel  string         `cbor:"peer_label,omitempty"`
	ActorLabel string         `cbor:"actor_label,omitempty"`
	Channel    string         `cbor:"channel,omitempty"`
	Data       any            `cbor:"data,omitempty"` // map[string]any, or []any on the custom channel
	Peers      []PresencePeer `cbor:"peers,omitempty"`
}

// PresencePeer is what a snapshot says of one peer.
type PresencePeer struct {
	PeerID     string            `cbor:"peer_id"`
	PeerLabel  string            `cbor:"peer_label"`
	ActorLabel string            `cbor:"actor_label,omitempty"`
	Channels   []PresenceChannel `cbor:"channels"`
}

// PresenceChannel is one channel of a peer in a snapshot.
type PresenceChannel struct {
	Channel string `cbor:"channel"`
	Data    any    `cbor:"data"`
}

// CellID returns the cell that the data of a message is about, or "".
func (p Presence) CellID() string {
	m, _ := p.Data.(map[string]any)
	id, _ := m["cell_id"].(string)
	return id
}

var (
	cborEncoder = must(cbor.EncOptions{Sort: cbor.SortNone}.EncMode())
	// sortedEncoder is for data of unknown shape, so that bytes do not vary.
	sortedEncoder = must(cbor.EncOptions{Sort: cbor.SortBytewiseLexical}.EncMode())
	cborDecoder   = must(cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		MaxNestedLevels:  8,
		MaxArrayElements: MaxPresence,
		MaxMapPairs:      64,
		TagsMd:           cbor.TagsForbidden,
		DefaultMapType:   mapType,
	}.DecMode())
)

// EncodePresence returns the body of a presence frame.
func EncodePresence(p Presence) ([]byte, error) {
	var err error
	if p.Data, err = settled(p.Data); err != nil {
		return nil, fmt.Errorf("encode presence: %w", err)
	}
	var v any = p
	if p.Type == PresenceSnapshot {
		if v, err = snapshot(p); err != nil {
			return nil, fmt.Errorf("encode presence: %w", err)
		}
	}
	b, err := cborEncoder.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode presence: %w", err)
	}
	return b, checkSize(FramePresence, len(b))
}

// EncodeSnapshots returns the bodies of as many snapshot frames as it takes to
// tell of all peers: receivers add up what they are told. A peer that does not
// fit into a frame by itself is told without its channels.
func EncodeSnapshots(sender string, peers []PresencePeer) ([][]byte, error) {
	var out [][]byte
	for len(peers) > 0 {
		n := len(peers)
		for {
			b, err := EncodePresence(Presence{Type: PresenceSnapshot, PeerID: sender, Peers: peers[:n]})
			if err == nil {
				out = append(out, b)
				break
			}
			if n == 1 {
				if len(peers[0].Channels) == 0 {
					return nil, err
				}
				bare := peers[0]
				bare.Channels = nil
				peers = append([]PresencePeer{bare}, peers[1:]...)
				continue
			}
			n = (n + 1) / 2
		}
		peers = peers[n:]
	}
	return out, nil
}

type snapshotBody struct {
	Type   string         `cbor:"type"`
	PeerID string         `cbor:"peer_id"`
	Peers  []PresencePeer `cbor:"peers"`
}

// snapshot returns what a snapshot is on the wire: lists are there even if empty.
func snapshot(p Presence) (snapshotBody, error) {
	peers := make([]PresencePeer, len(p.Peers))
	for i, peer := range p.Peers {
		peer.Channels = append([]PresenceChannel{}, peer.Channels...)
		for j := range peer.Channels {
			d, err := settled(peer.Channels[j].Data)
			if err != nil {
				return snapshotBody{}, err
			}
			peer.Channels[j].Data = d
		}
		peers[i] = peer
	}
	return snapshotBody{Type: p.Type, PeerID: p.PeerID, Peers: peers}, nil
}

// settled encodes data of unknown shape with its keys in order.
func settled(data any) (any, error) {
	if data == nil {
		return nil, nil
	}
	b, err := sortedEncoder.Marshal(data)
	return cbor.RawMessage(b), err
}

// DecodePresence reads the body of a presence frame.
func DecodePresence(b []byte) (Presence, error) {
	if err := checkSize(FramePresence, len(b)); err != nil {
		return Presence{}, err
	}
	var p Presence
	if err := cborDecoder.Unmarshal(b, &p); err != nil {
		return Presence{}, fmt.Errorf("decode presence: %w", err)
	}
	if p.Type == "" {
		return Presence{}, fmt.Errorf("decode presence: no type")
	}
	return p, nil
}
