package roomactor

import (
	"context"
	"encoding/json"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/trace"
	"runt/internal/wire"
)

// headsWait is how long a request waits for the changes that it names.
const headsWait = 10 * time.Second

// gate is a request that waits for changes of the notebook.
type gate struct {
	heads []automerge.Hash
	open  func()
	late  *time.Timer
}

func (r *Room) request(p *peer, body []byte) {
	req, err := wire.DecodeRequest(body)
	if err != nil {
		r.respondError(p, req.ID, domain.Errorf(domain.CodeInvalidArgument, "The request could not be read: %w", err).
			WithHint("Send a JSON object with an action."))
		return
	}
	r.whenHeads(p, req, func() { r.dispatch(p, req) })
}

// whenHeads calls do once the notebook has the changes that the request names.
func (r *Room) whenHeads(p *peer, req wire.Request, do func()) {
	heads := make([]automerge.Hash, 0, len(req.RequiredHeads))
	for _, s := range req.RequiredHeads {
		h, err := automerge.ParseHash(s)
		if err != nil {
			r.respondError(p, req.ID, domain.Errorf(domain.CodeInvalidArgument, "required_heads has %q, which is no change hash.", s).
				WithHint("Send hashes as 64 hex digits."))
			return
		}
		heads = append(heads, h)
	}
	if r.nb.Engine().Has(heads...) {
		do()
		return
	}
	g := &gate{heads: heads, open: do}
	g.late = time.AfterFunc(headsWait, func() {
		r.post(func() {
			if r.dropGate(g) {
				r.respondError(p, req.ID, domain.Errorf(domain.CodeTimeout, "The changes this request builds on did not arrive within %s.", headsWait).
					WithHint("Send it again once the document is in sync."))
			}
		})
	})
	r.gates = append(r.gates, g)
}

func (r *Room) dropGate(g *gate) bool {
	for i, x := range r.gates {
		if x == g {
			r.gates = append(r.gates[:i:i], r.gates[i+1:]...)
			return true
		}
	}
	return false
}

func (r *Room) checkGates() {
	for _, g := range append([]*gate(nil), r.gates...) {
		if r.nb.Engine().Has(g.heads...) && r.dropGate(g) {
			g.late.Stop()
			g.open()
		}
	}
}

func (r *Room) respondError(p *peer, id string, err *domain.Error) {
	r.respond(p.id, id, wire.ResultError, wire.ErrorBody{Error: err.Message, Code: string(err.Code), Hint: err.Hint})
}

func (r *Room) caller(p *peer, req wire.Request) room.Caller {
	return room.Caller{Peer: p.id, RequestID: req.ID, Actor: p.actor, Direct: req.Direct, OurClient: p.ours}
}

// dispatch performs a request whose changes are there.
func (r *Room) dispatch(p *peer, req wire.Request) {
	trace.Mark("room.request", req.Action)
	from := r.caller(p, req)
	switch req.Action {
	case wire.ActionExecuteCell, wire.ActionExecuteCellGuarded, wire.ActionRunAllCells, wire.ActionRunAllCellsGuarded, wire.ActionExecuteCode:
		r.executeRequest(p, req, from)
	case wire.ActionLaunchKernel:
		r.chooseKernel(req.KernelName)
		r.handle(room.LaunchRequested{From: from, EnvSource: envSource(req.EnvSource)})
	case wire.ActionRestartKernel:
		r.chooseKernel(req.KernelName)
		r.handle(room.RestartRequested{From: from})
	case wire.ActionShutdownKernel:
		r.handle(room.ShutdownRequested{From: from})
	case wire.ActionInterruptExecution:
		r.handle(room.InterruptRequested{From: from})
	case wire.ActionCancelExecution:
		r.handle(room.CancelRequested{From: from, Execution: domain.ExecutionID(req.ExecutionID)})
	case wire.ActionSendInput:
		r.handle(room.InputGiven{From: from, Text: req.Text})
	case wire.ActionSaveNotebook:
		r.handle(room.SaveRequested{From: from, Path: req.Path, Overwrite: req.Overwrite || !p.ours})
	case wire.ActionAcknowledgeSync:
		r.respondDurably(p.id, req.ID, func() (string, any) {
			return wire.ResultSyncAcknowledged, wire.SyncAcknowledged{Heads: r.headsHex()}
		})
	case wire.ActionSetKeepAlive:
		if req.KeepAliveSecs != nil {
			r.setKeepAlive(*req.KeepAliveSecs)
		}
		r.respond(p.id, req.ID, wire.ResultOK, nil)
	default:
		r.dispatchRest(p, req)
	}
}

// dispatchRest performs the requests that no state of the room depends on.
func (r *Room) dispatchRest(p *peer, req wire.Request) {
	switch req.Action {
	case wire.ActionGetDocBytes:
		b, err := r.nb.Engine().Save()
		if err != nil {
			r.respondError(p, req.ID, domain.Errorf(domain.CodeInternal, "The document could not be saved."))
			return
		}
		r.respond(p.id, req.ID, wire.ResultDocBytes, wire.DocBytes{Bytes: b})
	case wire.ActionApproveTrust, wire.ActionApproveProjectEnv:
		r.respond(p.id, req.ID, wire.ResultOK, nil)
	case wire.ActionSyncEnvironment:
		r.respond(p.id, req.ID, wire.ResultSyncEnvComplete, wire.SyncEnvironmentComplete{})
	case wire.ActionComplete, wire.ActionGetHistory, wire.ActionInspect, wire.ActionEvaluate:
		r.kernelQuestion(p, req)
	case wire.ActionCloneAsEphemeral:
		r.clone(p, req)
	case wire.ActionSendComm:
		r.sendComm(p, req)
	default:
		r.respondError(p, req.ID, domain.Errorf(domain.CodeInvalidArgument, "This daemon does not know the action %q.", req.Action).
			WithHint("Upgrade it, or do without."))
	}
}

func (r *Room) executeRequest(p *peer, req wire.Request, from room.Caller) {
	if req.Action == wire.ActionExecuteCellGuarded || req.Action == wire.ActionRunAllCellsGuarded {
		if !r.observed(req.ObservedHeads) {
			r.respond(p.id, req.ID, wire.ResultGuardRejected, wire.GuardRejected{Reason: "The notebook has changed since it was read."})
			return
		}
	}
	ev := room.ExecuteRequested{From: from, Idempotent: req.Idempotent}
	switch req.Action {
	case wire.ActionExecuteCode:
		ev.Items = []room.Item{{Execution: domain.ExecutionID(req.ExecutionID), Source: req.Code}}
	case wire.ActionRunAllCells, wire.ActionRunAllCellsGuarded:
		ev.All = true
		for _, c := range r.runnable(req.OnlyIDs) {
			ev.Items = append(ev.Items, item(c, req.CellExecutionIDs[string(c.ID)]))
		}
	default:
		c, ok := r.nb.Cell(domain.CellID(req.CellID))
		if !ok {
			r.respondError(p, req.ID, domain.Errorf(domain.CodeCellNotFound, "Cell not found: %s", req.CellID).
				WithHint("Read the cells again; it may have been deleted."))
			return
		}
		if c.Type != "code" {
			r.respondError(p, req.ID, domain.Errorf(domain.CodeInvalidArgument, "Cell %s is a %s cell and cannot be run.", req.CellID, c.Type).
				WithHint("Change its type to code first."))
			return
		}
		ev.Items = []room.Item{item(c, req.ExecutionID)}
	}
	r.handle(ev)
}

func item(c notebook.Cell, execution string) room.Item {
	return room.Item{Cell: c.ID, Execution: domain.ExecutionID(execution), Source: c.Source, MayFail: tagged(c, "raises-exception")}
}

func tagged(c notebook.Cell, tag string) bool {
	tags, _ := c.Metadata["tags"].([]any)
	for _, t := range tags {
		if t == tag {
			return true
		}
	}
	return false
}

// runnable returns the code cells in order, of those in only when it names some.
func (r *Room) runnable(only []string) []notebook.Cell {
	wanted := map[string]bool{}
	for _, id := range only {
		wanted[id] = true
	}
	var out []notebook.Cell
	for _, c := range r.nb.Cells() {
		if c.Type == "code" && (len(only) == 0 || wanted[string(c.ID)]) {
			out = append(out, c)
		}
	}
	return out
}

// observed says whether the heads a client saw are the notebook's own.
func (r *Room) observed(hex []string) bool {
	now := r.headsHex()
	if len(hex) != len(now) {
		return false
	}
	seen := map[string]bool{}
	for _, h := range hex {
		seen[h] = true
	}
	for _, h := range now {
		if !seen[h] {
			return false
		}
	}
	return true
}

func (r *Room) headsHex() []string {
	var out []string
	for _, h := range r.nb.Engine().Heads() {
		out = append(out, h.String())
	}
	return out
}

func (r *Room) setKeepAlive(secs int) {
	r.handle(room.KeepAliveSet{After: time.Duration(secs) * time.Second})
}

// clone copies the notebook, without outputs, into a room in memory.
func (r *Room) clone(p *peer, req wire.Request) {
	snap := r.snapshot(false)
	r.start(func(ctx context.Context) {
		id, err := r.deps.Registry.Clone(ctx, r, snap)
		r.post(func() {
			if err != nil {
				r.respondError(p, req.ID, domain.Errorf(domain.CodeInternal, "The notebook could not be copied: %w", err))
				return
			}
			r.respond(p.id, req.ID, wire.ResultNotebookCloned, wire.NotebookCloned{NotebookID: string(id), WorkingDir: r.workingDir})
		})
	})
}

// blobFrame stores a blob that a peer uploads.
func (r *Room) blobFrame(p *peer, body []byte) {
	h, data, err := wire.DecodePutBlob(body)
	if err != nil {
		r.respond(p.id, h.ID, wire.ResultBlobUploadError, wire.BlobUploadError{Reason: wire.BlobUploadReason{Kind: "invalid_header"}})
		return
	}
	if h.Op != wire.BlobPut {
		r.respond(p.id, h.ID, wire.ResultBlobUploadError, wire.BlobUploadError{Reason: wire.BlobUploadReason{Kind: "unsupported"}})
		return
	}
	data = append([]byte(nil), data...)
	r.start(func(context.Context) {
		ref, err := r.deps.Blobs.Put(data, h.MediaType)
		r.post(func() {
			switch {
			case err != nil:
				r.respond(p.id, h.ID, wire.ResultBlobUploadError, wire.BlobUploadError{Reason: wire.BlobUploadReason{Kind: "io", Message: err.Error()}})
			case h.SHA256 != "" && ref.Hash != h.SHA256:
				r.respond(p.id, h.ID, wire.ResultBlobUploadError, wire.BlobUploadError{Reason: wire.BlobUploadReason{Kind: "hash_mismatch"}})
			default:
				r.respond(p.id, h.ID, wire.ResultBlobStored, wire.BlobStored{Hash: ref.Hash, Size: ref.Size, MediaType: h.MediaType})
			}
		})
	})
}

func envSource(s string) string {
	if s == "" || s == "auto" || len(s) > 5 && s[:5] == "auto:" {
		return ""
	}
	return s
}

// rawObject decodes a JSON object, or returns an empty one.
func rawObject(b json.RawMessage) map[string]any {
	m := map[string]any{}
	_ = json.Unmarshal(b, &m) // a message that is no object is an empty one
	return m
}
