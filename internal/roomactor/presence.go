package roomactor

import (
	"sort"

	"runt/internal/wire"
)

// presenceFrame notes and passes on what a peer says of itself. Who it is, is
// the room's word and not the peer's.
func (r *Room) presenceFrame(p *peer, body []byte) {
	m, err := wire.DecodePresence(body)
	if err != nil {
		r.log.Debug("presence not understood", "peer", p.id, "error", err)
		return
	}
	switch m.Type {
	case wire.PresenceUpdate:
		if m.Channel == wire.PresenceKernelState {
			return
		}
		if m.PeerLabel != "" {
			p.label = wire.SanitizeLabel(m.PeerLabel)
		}
		p.presence[m.Channel] = m.Data
	case wire.PresenceClearChannel:
		delete(p.presence, m.Channel)
	default:
		return
	}
	m.PeerID, m.PeerLabel, m.ActorLabel = p.name, p.label, p.actor
	r.broadcastPresence(p, m)
}

func (r *Room) broadcastPresence(from *peer, m wire.Presence) {
	b, err := wire.EncodePresence(m)
	if err != nil {
		r.log.Debug("presence not encoded", "peer", from.id, "error", err)
		return
	}
	for _, q := range r.peers {
		if q != from {
			q.conn.SendDroppable(wire.FramePresence, b)
		}
	}
}

func (r *Room) presenceLeft(p *peer) {
	r.broadcastPresence(p, wire.Presence{Type: wire.PresenceLeft, PeerID: p.name})
}

// sendPresences shows a new peer who is there.
func (r *Room) sendPresences(p *peer) {
	var peers []wire.PresencePeer
	for _, q := range r.peers {
		if q == p || len(q.presence) == 0 && q.label == "" {
			continue
		}
		entry := wire.PresencePeer{PeerID: q.name, PeerLabel: q.label, ActorLabel: q.actor}
		for ch, data := range q.presence {
			entry.Channels = append(entry.Channels, wire.PresenceChannel{Channel: ch, Data: data})
		}
		sort.Slice(entry.Channels, func(i, j int) bool { return entry.Channels[i].Channel < entry.Channels[j].Channel })
		peers = append(peers, entry)
	}
	if len(peers) == 0 {
		return
	}
	sort.Slice(peers, func(i, j int) bool { return peers[i].PeerID < peers[j].PeerID })
	frames, err := wire.EncodeSnapshots("daemon", peers)
	if err != nil {
		r.log.Debug("presence not encoded", "peer", p.id, "error", err)
		return
	}
	for _, b := range frames {
		p.sendFailed(p.conn.Send(wire.FramePresence, b))
	}
}
