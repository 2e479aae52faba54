package roomactor

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/room"
	"runt/internal/trace"
	"runt/internal/wire"
)

// peer is one connection of a room. Its fields belong to the actor; conn's
// methods may be called from anywhere.
type peer struct {
	id    room.PeerID
	name  string // in presence
	conn  *wire.Conn
	actor string
	label string
	ours  bool // knows our extensions

	sync      [numDocs]*automerge.Peer
	holdUntil [numDocs]uint64 // journal position of its own changes: no message of that document before it is durable
	nbReady   bool
	rsReady   bool
	room      *Room
	presence  map[string]any // by channel
	idle      *time.Timer    // drops it when it says nothing for long
}

// peerIdle is how long a peer may say nothing of its own. Sync messages do not
// count: they answer others, and a forgotten connection would live on them for ever.
const peerIdle = 300 * time.Second

var errIdle = errors.New("peer says nothing any more")

func (r *Room) peerIdle() time.Duration {
	if r.deps.PeerIdle > 0 {
		return r.deps.PeerIdle
	}
	return peerIdle
}

// Joined says how a peer introduced itself.
type Joined struct {
	Kind      string // wire.KindConnectionInfo or wire.KindCapabilities
	Handshake wire.Handshake
	NewFile   bool // protocol v4 expects a cell count of 0 for files
}

// Serve makes conn a peer of the room and returns when it is gone. It fails
// without having sent anything when the room is closing; the caller looks the notebook up again then.
func (r *Room) Serve(ctx context.Context, conn *wire.Conn, j Joined) error {
	var p *peer
	var refused error
	err := r.call(ctx, func() {
		if r.core.RefusedClosing() {
			refused = errGone
			return
		}
		p = r.join(conn, j)
	})
	if err = errors.Join(err, refused); err != nil {
		return err
	}
	r.read(p)
	return nil
}

// read is the peer's reader: it hands its frames to the actor.
func (r *Room) read(p *peer) {
	for {
		f, err := p.conn.Reader().ReadFrame()
		if err != nil {
			r.post(func() { r.left(p, err) })
			return
		}
		trace.Mark("room.arrived", f.Type.String())
		if !r.post(func() { r.frame(p, f) }) {
			// The room is gone and has closed the connection.
			return
		}
	}
}

func (r *Room) join(conn *wire.Conn, j Joined) *peer {
	r.nextPeer++
	h := j.Handshake
	operator := h.Operator
	if operator == "" {
		operator = "agent:anonymous:" + r.deps.IDs.UUID()[:8]
	}
	p := &peer{id: r.nextPeer, name: r.deps.IDs.UUID(), conn: conn, actor: "local:" + r.deps.User + "/" + operator,
		label: wire.SanitizeLabel(h.Label), ours: h.Extensions >= 1, room: r, presence: map[string]any{}}
	for i, d := range r.docs {
		p.sync[i] = d.engine.NewPeer()
	}
	r.sendInfo(p, j)
	p.sendStatus(wire.PhasePending, wire.PhasePending)
	p.control(wire.EncodeHostedBridgeStatus(wire.HostedBridgeStatus{Status: wire.BridgeNotApplicable}))
	r.peers[p.id] = p
	p.idle = time.AfterFunc(r.peerIdle(), func() { r.post(func() { r.left(p, errIdle) }) })
	p.send(docNotebook)
	p.sendStatus(wire.PhaseSyncing, wire.PhasePending)
	p.send(docRuntime)
	p.sendStatus(wire.PhaseSyncing, wire.PhaseSyncing)
	p.send(docComms)
	p.send(docComments)
	r.sendPresences(p)
	r.handle(room.PeerJoined{Peer: p.id})
	if h.KeepAliveSecs != nil {
		r.setKeepAlive(*h.KeepAliveSecs)
	}
	r.log.Info("peer joined", "peer", p.id, "actor", p.actor, "label", p.label)
	return p
}

func (r *Room) sendInfo(p *peer, j Joined) {
	info := wire.ConnectionInfo{
		Protocol: wire.ProtocolName, ProtocolVersion: wire.ProtocolVersion, DaemonVersion: r.deps.Version,
		PutBlob:    &wire.PutBlobCapability{Version: 1, SingleFrameMax: wire.MaxPutBlob, EphemeralSupported: true},
		ActorLabel: p.actor, ConnectionScope: wire.ScopeOwner,
		CommentsDocID:       "comments:local-room:" + string(r.id),
		CommentsNotebookRef: &wire.CommentsRef{Kind: "local_room", RoomID: string(r.id)},
		NotebookSyncReceipt: true, Runt: &r.deps.Info,
		NotebookID: string(r.id), CellCount: r.nb.Len(), Ephemeral: r.kind == Ephemeral, NotebookPath: r.path, PeerID: p.name,
	}
	if r.path != "" && !p.ours {
		info.CellCount = 0
	}
	if !j.Handshake.TypedBootstrap {
		b, err := info.MarshalUntyped(j.Kind)
		if err == nil {
			err = p.conn.SendUntyped(b)
		}
		p.sendFailed(err)
		return
	}
	p.control(info.MarshalTyped(j.Kind))
}

// phases sends how far the bootstrap of the peer is.
func (p *peer) phases() {
	nb, rs := wire.PhaseSyncing, wire.PhaseSyncing
	if p.nbReady {
		nb = wire.PhaseInteractive
	}
	if p.rsReady {
		rs = wire.PhaseReady
	}
	p.sendStatus(nb, rs)
}

func (p *peer) sendStatus(nb, rs string) {
	p.control(wire.EncodeSyncStatus(wire.SyncStatus{NotebookDoc: nb, RuntimeState: rs, InitialLoad: wire.InitialLoad{Phase: wire.PhaseNotNeeded}}))
}

func (p *peer) control(body []byte, err error) {
	if err == nil {
		err = p.conn.Send(wire.FrameControl, body)
	}
	p.sendFailed(err)
}

// sendFailed notes a connection that cannot be written any more; its reader ends by itself.
func (p *peer) sendFailed(err error) {
	if err != nil && !errors.Is(err, wire.ErrClosed) {
		p.room.log.Warn("peer dropped", "peer", p.id, "error", err)
	}
}

// send gives the peer the next sync message of a document, if there is one. What
// would acknowledge its own changes is held until they are durable.
func (p *peer) send(doc int) (sent bool) {
	r := p.room
	if r.peers[p.id] != p || r.journal != nil && p.holdUntil[doc] > r.journal.Durable() {
		return false
	}
	msg, err := p.sync[doc].Generate()
	if err != nil {
		r.log.Error("sync message not made", "peer", p.id, "doc", doc, "error", err)
		return false
	}
	if msg == nil {
		return false
	}
	p.sendFailed(p.conn.Send(r.docs[doc].frame, msg))
	return true
}

func (r *Room) frame(p *peer, f wire.Frame) {
	if r.peers[p.id] == nil {
		return
	}
	switch f.Type {
	case wire.FrameRequest, wire.FramePresence, wire.FramePutBlob:
		p.idle.Reset(r.peerIdle())
	}
	switch f.Type {
	case wire.FrameNotebookSync:
		r.receive(p, docNotebook, f.Body)
	case wire.FrameRuntimeSync:
		r.receive(p, docRuntime, f.Body)
	case wire.FrameCommsSync:
		r.receive(p, docComms, f.Body)
	case wire.FrameCommentsSync:
		r.receive(p, docComments, f.Body)
	case wire.FrameRequest:
		r.request(p, f.Body)
	case wire.FramePresence:
		r.presenceFrame(p, f.Body)
	case wire.FramePutBlob:
		r.blobFrame(p, f.Body)
	}
}

// receive applies a sync message of a peer and passes on what it brought.
func (r *Room) receive(p *peer, doc int, msg []byte) {
	d := r.docs[doc]
	got, err := p.sync[doc].Receive(msg, automerge.ReceiveOptions{StripChanges: d.readOnly})
	if err != nil {
		r.log.Warn("peer sent a bad sync message", "peer", p.id, "doc", doc, "error", err)
		r.left(p, err)
		return
	}
	trace.Mark("room.applied", d.frame.String())
	switch {
	case doc == docRuntime && !p.rsReady:
		p.rsReady = true
		p.send(doc)
		p.phases()
		return
	case doc == docNotebook && !p.nbReady:
		if len(got.Changes) == 0 && !p.send(doc) {
			p.nbReady = true
			p.phases()
			return
		}
	}
	if len(got.Changes) > 0 {
		r.changed(doc, got.Update, p)
		if doc == docNotebook {
			r.notebookChanged(got.Update)
			r.checkGates()
		}
		return
	}
	p.send(doc)
}

func (r *Room) left(p *peer, err error) {
	if r.peers[p.id] == nil {
		return
	}
	delete(r.peers, p.id)
	p.idle.Stop()
	p.close()
	r.presenceLeft(p)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	r.log.Info("peer left", "peer", p.id, "error", err)
	r.handle(room.PeerLeft{Peer: p.id})
}

// close frees the sync states and closes the socket without waiting for its writer.
func (p *peer) close() {
	for _, s := range p.sync {
		s.Close()
	}
	r := p.room
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		if err := p.conn.Close(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, wire.ErrClosed) {
			r.log.Debug("connection closed", "peer", p.id, "error", err)
		}
	}()
}

// respond answers a request of a peer that may be gone by now.
func (r *Room) respond(to room.PeerID, requestID, result string, body any) {
	p := r.peers[to]
	if p == nil {
		return
	}
	b, err := wire.EncodeResponse(requestID, result, body)
	if err != nil {
		r.log.Error("response not encoded", "peer", p.id, "result", result, "error", err)
		b, _ = wire.EncodeResponse(requestID, wire.ResultError, wire.ErrorBody{Error: "The answer could not be encoded.", Code: string(domain.CodeInternal)})
	}
	p.sendFailed(p.conn.Send(wire.FrameResponse, b))
}

// answer tells the caller of an execution its end ahead of the documents.
func (r *Room) answer(to room.Caller, x room.Execution) {
	done := wire.ExecutionDone{ExecutionID: string(x.ID), CellID: string(x.Cell), Status: x.Status, ExecutionCount: x.Count,
		Success: x.Success, Outputs: manifestsJSON(x.Outputs), Reason: x.Reason, Hint: x.Hint}
	if !x.Started.IsZero() && !x.Ended.IsZero() {
		done.Seconds = x.Ended.Sub(x.Started).Seconds()
	}
	r.done(to, done)
}

func (r *Room) done(to room.Caller, done wire.ExecutionDone) {
	p := r.peers[to.Peer]
	if p == nil {
		return
	}
	b, err := wire.EncodeExecution(done)
	if err != nil {
		r.log.Error("execution not encoded", "execution", done.ExecutionID, "error", err)
		return
	}
	r.publishInfo() // who is answered may look at the list at once
	p.sendFailed(p.conn.Send(wire.FrameExecution, b))
	trace.Mark("room.answer", done.ExecutionID)
	// The connection's goroutine writes it now, and not after the documents are written.
	runtime.Gosched()
}
