package client

import (
	"cmp"
	"slices"
	"time"

	"runt/internal/domain"
	"runt/internal/wire"
)

// localPeer is how a peer calls itself in presence; the daemon puts in its id.
const localPeer = "local"

// PeerInfo is what is known of another peer of the notebook.
type PeerInfo struct {
	ID    string
	Label string
	Actor string        // actor label, which begins with who it acts for
	Focus domain.CellID // cell that it looks at or edits; "" when unknown
	Seen  time.Time     // when it last said so
}

// Peers returns the other peers that have shown themselves, by label. The
// daemon drops one that has been silent for wire.PresenceTTL and says so.
func (h *Handle) Peers() []PeerInfo {
	h.mu.Lock()
	peers := make([]PeerInfo, 0, len(h.others))
	for _, p := range h.others {
		peers = append(peers, p)
	}
	h.mu.Unlock()
	slices.SortFunc(peers, func(a, b PeerInfo) int { return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.ID, b.ID)) })
	return peers
}

// SetFocus shows the other peers which cell this one works on, unless they know.
// It is dropped when the connection is busy.
func (h *Handle) SetFocus(cell domain.CellID) {
	h.mu.Lock()
	known := h.focus == cell
	h.mu.Unlock()
	if known {
		return
	}
	sent := h.Presence(wire.Presence{
		Type: wire.PresenceUpdate, Channel: wire.PresenceFocus, Data: map[string]any{"cell_id": string(cell)},
	})
	if sent {
		h.mu.Lock()
		h.focus = cell
		h.mu.Unlock()
	}
}

// Presence sends a message to the other peers, with this one's name filled in,
// and says whether it went on its way.
func (h *Handle) Presence(p wire.Presence) bool {
	p.PeerID = localPeer
	if p.Type == wire.PresenceUpdate {
		p.PeerLabel = h.o.Label
		p.ActorLabel = h.info.ActorLabel
	}
	body, err := wire.EncodePresence(p)
	if err != nil {
		h.o.Logger.Warn("presence not sent", "notebook", h.id, "error", err)
		return false
	}
	return h.conn.SendDroppable(wire.FramePresence, body)
}

// beat shows the daemon that this peer lives, until the connection is over.
func (h *Handle) beat() {
	ticker := time.NewTicker(wire.PresenceInterval)
	defer ticker.Stop()
	h.Presence(wire.Presence{Type: wire.PresenceHeartbeat})
	for {
		select {
		case <-ticker.C:
			h.Presence(wire.Presence{Type: wire.PresenceHeartbeat})
			if err := h.nbSync.release(); err != nil {
				h.o.Logger.Warn("edits not sent", "notebook", h.id, "error", err)
			}
		case <-h.lost:
			return
		}
	}
}

// present takes a presence message. One that cannot be read is of no importance.
func (h *Handle) present(body []byte) {
	p, err := wire.DecodePresence(body)
	if err != nil {
		h.o.Logger.Debug("presence not understood", "notebook", h.id, "error", err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch p.Type {
	case wire.PresenceUpdate:
		h.noteLocked(p)
	case wire.PresenceSnapshot:
		for _, peer := range p.Peers {
			one := wire.Presence{PeerID: peer.PeerID, PeerLabel: peer.PeerLabel, ActorLabel: peer.ActorLabel}
			h.noteLocked(one)
			for _, c := range peer.Channels {
				one.Channel, one.Data = c.Channel, c.Data
				h.noteLocked(one)
			}
		}
	case wire.PresenceHeartbeat:
		if known, ok := h.others[p.PeerID]; ok {
			known.Seen = time.Now()
			h.others[p.PeerID] = known
		}
	case wire.PresenceClearChannel:
		if known, ok := h.others[p.PeerID]; ok && p.Channel == wire.PresenceFocus {
			known.Focus = ""
			h.others[p.PeerID] = known
		}
	case wire.PresenceLeft:
		delete(h.others, p.PeerID)
	}
}

func (h *Handle) noteLocked(p wire.Presence) {
	own := p.PeerID == h.info.PeerID || p.ActorLabel != "" && p.ActorLabel == h.info.ActorLabel
	if p.PeerID == "" || own || p.Channel == wire.PresenceKernelState {
		return
	}
	peer := h.others[p.PeerID]
	peer.ID, peer.Seen = p.PeerID, time.Now()
	peer.Label = cmp.Or(wire.SanitizeLabel(p.PeerLabel), peer.Label)
	peer.Actor = cmp.Or(p.ActorLabel, peer.Actor)
	if cell := p.CellID(); cell != "" {
		peer.Focus = domain.CellID(cell)
	}
	h.others[p.PeerID] = peer
}
