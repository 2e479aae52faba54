package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/runtimestate"
	"runt/internal/testenv"
	"runt/internal/testenv/leak"
	"runt/internal/wire"
)

var engine *automerge.Engine

func TestMain(m *testing.M) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	engine = automerge.Open(automerge.Options{CacheDir: filepath.Join(cache, "runt-test", "wasm")})
	<-engine.Ready()
	leak.Main(m)
}

// FakeDaemon speaks the wire with real documents. What it executes is up to Run.
type FakeDaemon struct {
	t        testing.TB
	Socket   string
	Plain    bool                                        // without the additions of runt
	Receipt  bool                                        // acknowledges sync although plain
	Run      func(source string) []runtimestate.Output   // outputs of a cell
	Answer   func(p *FakePeer, r wire.Request) bool      // handles a request instead
	Loading  func(p *FakePeer)                           // instead of the bootstrap
	Refusal  *wire.ConnectionInfo                        // instead of letting peers in
	Ends     func(p *FakePeer, e runtimestate.Execution) // instead of finishing an execution
	mute     atomic.Bool                                 // leaves pool requests without an answer
	listener net.Listener
	conns    sync.WaitGroup

	mu     sync.Mutex
	info   wire.DaemonInfo
	rooms  map[string]*FakeRoom
	open   map[net.Conn]bool
	hellos []wire.Handshake
	pools  []string
}

// FakeRoom is one notebook.
type FakeRoom struct {
	d     *FakeDaemon
	ID    string
	shard *automerge.Shard
	NB    *notebook.Doc
	RT    *runtimestate.Doc

	mu      sync.Mutex          // guards all below, and the order of frames
	Took    func(time.Duration) // is told how long each frame took
	peers   []*FakePeer
	waiting []func() bool
	seq     uint64
}

// FakePeer is one connection to a room.
type FakePeer struct {
	Room   *FakeRoom
	Conn   *wire.Conn
	id     string
	label  string
	actor  string
	nb, rt *automerge.Peer
	status wire.SyncStatus
	mute   bool // sends no documents any more
}

func newFake(t testing.TB) *FakeDaemon {
	t.Helper()
	d := &FakeDaemon{t: t, Socket: filepath.Join(testenv.ShortDir(t), "s"), rooms: map[string]*FakeRoom{}, open: map[net.Conn]bool{}}
	d.info = wire.DaemonInfo{ProtocolVersion: 4, DaemonAPIVersion: 1, DaemonVersion: "2.9.0", PID: 1, StartedAt: time.Unix(1, 0).UTC()}
	d.Run = func(source string) []runtimestate.Output { return []runtimestate.Output{fakeStream("o1", source)} }
	d.Listen()
	t.Cleanup(func() {
		d.Stop()
		for _, r := range d.rooms {
			r.shard.Close()
		}
	})
	return d
}

func fakeStream(id, text string) runtimestate.Output {
	return runtimestate.Output{ID: id, Manifest: map[string]any{
		"output_type": "stream", "output_id": id, "name": "stdout", "text": runtimestate.Inline(text),
	}}
}

// Listen opens the socket, again after Stop.
func (d *FakeDaemon) Listen() {
	d.t.Helper()
	l, err := net.Listen("unix", d.Socket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.listener = l
	d.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.open[c] = true
			d.mu.Unlock()
			d.conns.Go(func() { d.serve(c) })
		}
	})
}

// Stop closes the socket and all connections. The rooms stay.
func (d *FakeDaemon) Stop() {
	_ = d.listener.Close()
	d.DropAll()
	d.conns.Wait()
}

// DropAll closes all connections.
func (d *FakeDaemon) DropAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		_ = c.Close()
	}
}

// Rebirth makes the daemon a new process.
func (d *FakeDaemon) Rebirth() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.info.PID++
	d.info.StartedAt = d.info.StartedAt.Add(time.Hour)
}

// Room returns the room of an id, which is made if need be.
func (d *FakeDaemon) Room(id string) *FakeRoom {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.rooms[id]; r != nil {
		return r
	}
	shard, err := engine.NewShard()
	if err != nil {
		panic(err)
	}
	r := &FakeRoom{d: d, ID: id, shard: shard}
	if r.NB, err = notebook.New(shard, "runtimed"); err == nil {
		r.RT, err = runtimestate.New(shard, "runtimed:state")
	}
	if err == nil {
		_, err = r.NB.Edit(func(tx *notebook.Tx) error {
			tx.SetIdentity(domain.NotebookID(id))
			return tx.AddCell(notebook.NewCell{ID: "first", Source: "print('hi')"}, notebook.Last)
		})
	}
	if err != nil {
		panic(err)
	}
	d.rooms[id] = r
	return r
}

func (d *FakeDaemon) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		d.mu.Lock()
		delete(d.open, c)
		d.mu.Unlock()
	}()
	conn := wire.NewConn(c, wire.ConnOptions{})
	defer conn.Close()
	if conn.Reader().ReadPreamble() != nil {
		return
	}
	body, err := conn.Reader().ReadUntyped(wire.MaxHandshake)
	if err != nil {
		return
	}
	hello, err := wire.DecodeHandshake(body)
	if err != nil {
		return
	}
	d.mu.Lock()
	d.hellos = append(d.hellos, hello)
	d.mu.Unlock()
	if hello.Channel == wire.ChannelPool {
		d.servePool(conn)
		return
	}
	d.servePeer(conn, hello)
}

// Hellos returns the handshakes so far on a channel.
func (d *FakeDaemon) Hellos(channel string) []wire.Handshake {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.hellos), func(h wire.Handshake) bool { return h.Channel != channel })
}

func (d *FakeDaemon) servePool(conn *wire.Conn) {
	for {
		body, err := conn.Reader().ReadUntyped(wire.MaxHandshake)
		if err != nil {
			return
		}
		r, err := wire.DecodePoolRequest(body)
		if err != nil {
			return
		}
		if d.mute.Load() {
			continue
		}
		answer, err := d.poolAnswer(r)
		if err != nil || conn.SendUntyped(answer) != nil {
			return
		}
	}
}

func (d *FakeDaemon) poolAnswer(r wire.PoolRequest) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pools = append(d.pools, r.Type)
	switch r.Type {
	case wire.PoolPing:
		return wire.EncodePool(wire.PoolPong, wire.Pong{ProtocolVersion: 4, DaemonVersion: d.info.DaemonVersion})
	case wire.PoolGetDaemonInfo:
		return wire.EncodePool(wire.PoolDaemonInfo, d.info)
	case wire.PoolListRooms:
		list := wire.RoomsList{}
		for id := range d.rooms {
			list.Rooms = append(list.Rooms, wire.RoomInfo{NotebookID: id})
		}
		return wire.EncodePool(wire.PoolRoomsList, list)
	case wire.PoolGetExecutionResult:
		if r.ExecutionID == "e1" {
			return wire.EncodePool(wire.PoolExecutionResult, wire.ExecutionResult{Record: wire.ExecutionRecord{ExecutionID: "e1", Status: "done"}})
		}
		return wire.EncodePool(wire.PoolError, wire.PoolFailure{Message: "no execution " + r.ExecutionID, Code: "invalid_argument", Hint: "ask for another"})
	case wire.PoolShutdownNotebook:
		return wire.EncodePool(wire.PoolNotebookShutdown, wire.NotebookShutdown{Found: d.rooms[r.NotebookID] != nil})
	case wire.PoolShutdown:
		return wire.EncodePool(wire.PoolShuttingDown, nil)
	}
	return wire.EncodePool(wire.PoolError, wire.PoolFailure{Message: "unknown request"})
}

func (d *FakeDaemon) servePeer(conn *wire.Conn, hello wire.Handshake) {
	info, kind := wire.ConnectionInfo{Protocol: wire.ProtocolName, ProtocolVersion: 4}, wire.KindConnectionInfo
	if hello.Channel == wire.ChannelNotebookSync {
		kind = wire.KindCapabilities
	}
	d.mu.Lock()
	if !d.Plain {
		info.Runt = &wire.Implementation{Name: "runt", Version: "1", Extensions: 1}
	}
	info.NotebookSyncReceipt = d.Receipt
	d.mu.Unlock()
	if d.Refusal != nil {
		info.Error, info.ErrorCode, info.ErrorHint = d.Refusal.Error, d.Refusal.ErrorCode, d.Refusal.ErrorHint
		body, _ := info.MarshalTyped(wire.KindConnectionInfo)
		if conn.Send(wire.FrameControl, body) == nil {
			_ = conn.CloseAfterFlush(d.t.Context())
		}
		return
	}
	id := hello.NotebookID
	if id == "" {
		id = "made-by-daemon"
	}
	r := d.Room(id)
	p := &FakePeer{Room: r, Conn: conn, id: fmt.Sprint("peer-", hello.Operator), label: hello.Label, actor: "local:me/" + hello.Operator, nb: r.NB.Engine().NewPeer(), rt: r.RT.Engine().NewPeer()}
	defer p.nb.Close()
	defer p.rt.Close()
	info.ActorLabel, info.ConnectionScope, info.PeerID = p.actor, wire.ScopeOwner, p.id
	if kind == wire.KindConnectionInfo {
		info.NotebookID, info.NotebookPath = id, hello.Path
	}
	body, _ := info.MarshalTyped(kind)
	if conn.Send(wire.FrameControl, body) != nil {
		return
	}
	r.attach(p)
	defer r.detach(p)
	for {
		f, err := conn.Reader().ReadFrame()
		if err != nil {
			return
		}
		if err := r.frame(p, f); err != nil {
			return
		}
	}
}

func (r *FakeRoom) attach(p *FakePeer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = append(r.peers, p)
	p.status = wire.SyncStatus{NotebookDoc: wire.PhasePending, RuntimeState: wire.PhasePending, InitialLoad: wire.InitialLoad{Phase: wire.PhaseNotNeeded}}
	if r.d.Loading != nil {
		r.d.Loading(p)
		return
	}
	p.Say(p.status)
	p.push(wire.FrameNotebookSync)
	p.push(wire.FrameRuntimeSync)
	var all []wire.PresencePeer
	for _, q := range r.peers {
		all = append(all, wire.PresencePeer{PeerID: q.id, PeerLabel: q.label, ActorLabel: q.actor})
	}
	body, _ := wire.EncodePresence(wire.Presence{Type: wire.PresenceSnapshot, PeerID: "daemon", Peers: all})
	_ = p.Conn.Send(wire.FramePresence, body)
}

func (r *FakeRoom) detach(p *FakePeer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peers = slices.DeleteFunc(r.peers, func(q *FakePeer) bool { return p == q })
	r.tell(p, wire.Presence{Type: wire.PresenceLeft, PeerID: p.id})
}

func (r *FakeRoom) tell(from *FakePeer, pr wire.Presence) {
	body, _ := wire.EncodePresence(pr)
	for _, q := range r.peers {
		if q != from {
			_ = q.Conn.Send(wire.FramePresence, body)
		}
	}
}

// Say sends a status.
func (p *FakePeer) Say(s wire.SyncStatus) {
	body, _ := wire.EncodeSyncStatus(s)
	_ = p.Conn.Send(wire.FrameControl, body)
}

func (p *FakePeer) push(t wire.FrameType) {
	if p.mute {
		return
	}
	session := p.nb
	if t == wire.FrameRuntimeSync {
		session = p.rt
	}
	if m, err := session.Generate(); err == nil && m != nil {
		_ = p.Conn.Send(t, m)
	}
}

func (r *FakeRoom) frame(p *FakePeer, f wire.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if began := time.Now(); r.Took != nil {
		defer func() { r.Took(time.Since(began)) }()
	}
	switch f.Type {
	case wire.FrameNotebookSync:
		got, err := p.nb.Receive(f.Body, automerge.ReceiveOptions{})
		if err != nil {
			return err
		}
		if got.Changes != nil {
			r.pushAll(wire.FrameNotebookSync)
			r.waiting = slices.DeleteFunc(r.waiting, func(f func() bool) bool { return f() })
		} else {
			p.push(wire.FrameNotebookSync)
		}
		if p.nb.Live() && p.status.NotebookDoc != wire.PhaseInteractive {
			p.status.NotebookDoc = wire.PhaseInteractive
			p.Say(p.status)
		}
	case wire.FrameRuntimeSync:
		if _, err := p.rt.Receive(f.Body, automerge.ReceiveOptions{StripChanges: true}); err != nil {
			return err
		}
		p.push(wire.FrameRuntimeSync)
		if p.rt.Live() && p.status.RuntimeState != wire.PhaseReady {
			p.status.RuntimeState = wire.PhaseReady
			p.Say(p.status)
		}
	case wire.FramePresence:
		pr, err := wire.DecodePresence(f.Body)
		if err != nil {
			return err
		}
		if pr.Type == wire.PresenceUpdate {
			pr.PeerID, pr.ActorLabel = p.id, p.actor
			r.tell(p, pr)
		}
	case wire.FrameRequest:
		q, err := wire.DecodeRequest(f.Body)
		if err != nil {
			return err
		}
		r.whenHeads(q.RequiredHeads, func() { r.request(p, q) })
	}
	return nil
}

func (r *FakeRoom) pushAll(t wire.FrameType) {
	for _, q := range r.peers {
		q.push(t)
	}
}

func (r *FakeRoom) whenHeads(required []string, do func()) {
	heads, err := automerge.ParseHashes(required)
	ready := func() bool {
		if err != nil || !r.NB.Engine().Has(heads...) {
			return false
		}
		do()
		return true
	}
	if !ready() {
		r.waiting = append(r.waiting, ready)
	}
}

// Respond answers a request.
func (p *FakePeer) Respond(id, result string, body any) {
	b, err := wire.EncodeResponse(id, result, body)
	if err == nil {
		_ = p.Conn.Send(wire.FrameResponse, b)
	}
}

func (r *FakeRoom) request(p *FakePeer, q wire.Request) {
	if r.d.Answer != nil && r.d.Answer(p, q) {
		return
	}
	switch q.Action {
	case wire.ActionExecuteCell:
		r.execute(p, q)
	case wire.ActionAcknowledgeSync:
		p.Respond(q.ID, wire.ResultSyncAcknowledged, wire.SyncAcknowledged{Heads: q.RequiredHeads})
	default:
		p.Respond(q.ID, wire.ResultError, wire.ErrorBody{Error: "cannot " + q.Action, Code: "invalid_argument", Hint: "do not"})
	}
}

func (r *FakeRoom) execute(p *FakePeer, q wire.Request) {
	source, ok := r.NB.Source(domain.CellID(q.CellID))
	if !ok {
		p.Respond(q.ID, wire.ResultError, wire.ErrorBody{Error: "no cell " + q.CellID, Code: "cell_not_found"})
		return
	}
	p.Respond(q.ID, wire.ResultCellQueued, wire.CellQueued{CellID: q.CellID, ExecutionID: q.ExecutionID})
	r.seq++
	count, success := int64(r.seq), true
	e := runtimestate.Execution{
		ID: q.ExecutionID, CellID: q.CellID, Status: runtimestate.Done, Source: source, Seq: r.seq,
		Count: &count, Success: &success, Outputs: r.d.Run(source),
	}
	if r.d.Ends != nil {
		r.d.Ends(p, e)
		return
	}
	if q.Direct {
		p.Tell(e)
	}
	r.Finish(e)
}

// Tell sends the direct answer.
func (p *FakePeer) Tell(e runtimestate.Execution) {
	done := wire.ExecutionDone{ExecutionID: e.ID, CellID: e.CellID, Status: e.Status, ExecutionCount: e.Count, Success: e.Success, Seconds: 0.001}
	for _, o := range e.Outputs {
		raw, _ := json.Marshal(o.Manifest)
		done.Outputs = append(done.Outputs, raw)
	}
	body, _ := wire.EncodeExecution(done)
	_ = p.Conn.Send(wire.FrameExecution, body)
}

// Finish writes an execution into the documents, and forgets an older one.
func (r *FakeRoom) Finish(e runtimestate.Execution) {
	r.EditRuntime(func(tx *runtimestate.Tx) error {
		return errors.Join(tx.PutExecution(e), tx.SetActivity(runtimestate.Idle), r.trim(tx))
	})
	if _, err := r.NB.Edit(func(tx *notebook.Tx) error { return tx.SetExecution(domain.CellID(e.CellID), e.ID) }); err == nil {
		r.pushAll(wire.FrameNotebookSync)
	}
}

func (r *FakeRoom) trim(tx *runtimestate.Tx) error {
	ids := r.RT.ExecutionIDs()
	for len(ids) > 8 {
		if err := tx.DeleteExecution(ids[0]); err != nil {
			return err
		}
		ids = ids[1:]
	}
	return nil
}

// EditRuntime edits the runtime state and sends it. The room must be locked.
func (r *FakeRoom) EditRuntime(fn func(tx *runtimestate.Tx) error) {
	if _, err := r.RT.Edit(fn); err != nil {
		panic(err)
	}
	r.pushAll(wire.FrameRuntimeSync)
}

// Do runs fn with the room locked, so that nothing is received or sent meanwhile.
func (r *FakeRoom) Do(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
}

// Peers returns the connections.
func (r *FakeRoom) Peers() []*FakePeer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.peers)
}
