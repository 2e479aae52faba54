package roomactor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runt/internal/domain"
	"runt/internal/env"
	"runt/internal/kernel"
	"runt/internal/notebook"
	"runt/internal/room"
	"runt/internal/trace"
	"runt/internal/wire"
)

// Bounds of what a room waits for from its kernel host.
const (
	launchTimeout   = 5 * time.Minute  // resolving an environment, which may download packages
	hostTimeout     = 15 * time.Second // starting a host process
	shutdownTimeout = 10 * time.Second // from asking the kernel to end to its being killed
	questionTimeout = 5 * time.Second  // completion, history, inspection
	eventBatch      = 512              // kernel events handed to the actor at once
)

// hostHandle is the room's hold of a kernel host.
type hostHandle struct {
	room       *Room
	host       *kernel.Host
	dir        string
	generation uint64
	written    uint64 // number of the last event that is in the documents
	done       chan struct{}
}

func (h *hostHandle) ack(seq uint64) { h.host.Ack(seq) }

// detach lets go of the host; it and its kernel live on.
func (h *hostHandle) detach() {
	if err := h.host.Close(); err != nil {
		h.room.log.Debug("host detached", "error", err)
	}
}

// performKernel performs the effects that concern the kernel.
func (r *Room) performKernel(e room.Effect) {
	switch e := e.(type) {
	case room.LaunchKernel:
		r.launch(e)
	case room.StopKernel:
		r.stopKernel(e)
	case room.HostExecute:
		trace.Mark("room.dispatch", string(e.Execution))
		r.hostDo("execute", func(h *kernel.Host) error {
			return h.Execute(kernel.Execute{ID: string(e.Execution), Code: e.Source, Tag: e.Note, StoreHistory: true, AllowStdin: e.Input, StopOnError: true})
		})
	case room.HostInterrupt:
		r.hostDo("interrupt", func(h *kernel.Host) error { return h.Interrupt(string(e.Execution)) })
	case room.HostInput:
		r.hostDo("input", func(h *kernel.Host) error { return h.Input(e.Text) })
	}
}

// hostDo hands something to the host. When that fails the host is gone, which
// its events tell as well.
func (r *Room) hostDo(what string, do func(*kernel.Host) error) {
	if r.host == nil {
		return
	}
	if err := do(r.host.host); err != nil {
		r.log.Warn("kernel host not reached", "what", what, "error", err)
	}
}

// chooseKernel notes which kernel is wanted; "" leaves it to the notebook.
func (r *Room) chooseKernel(name string) {
	if name != "" {
		r.kernelName = name
	}
	req := r.launchRequest()
	source := shownSource("", kernel.LaunchSpec{Language: req.Language}, req)
	r.handle(room.KernelChosen{Kernel: kernelInfo(req.KernelName, req.Language, source)})
}

// launchRequest says what the notebook asks of its environment.
func (r *Room) launchRequest() env.Request {
	md := r.nb.Metadata()
	spec, _ := md["kernelspec"].(map[string]any)
	info, _ := md["language_info"].(map[string]any)
	req := env.Request{NotebookPath: r.path, WorkingDir: r.workingDir, KernelName: r.kernelName}
	if name, _ := spec["name"].(string); req.KernelName == "" {
		req.KernelName = name
	}
	if req.Language, _ = spec["language"].(string); req.Language == "" {
		req.Language, _ = info["name"].(string)
	}
	if req.Language == "" && req.KernelName == "" {
		req.Language = "python"
	}
	req.Dependencies = dependencies(md)
	return req
}

// dependencies reads metadata.runt.uv.dependencies.
func dependencies(md map[string]any) []string {
	runt, _ := md["runt"].(map[string]any)
	uv, _ := runt["uv"].(map[string]any)
	list, _ := uv["dependencies"].([]any)
	var out []string
	for _, d := range list {
		if s, ok := d.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// launch starts a kernel when the disk has that the one before was given up; a
// disk that refuses does not keep anybody from working.
func (r *Room) launch(e room.LaunchKernel) {
	r.callOff()
	r.durableOr(r.journalEnd(), func() { r.launchNow(e) }, func(error) { r.launchNow(e) })
}

func (r *Room) launchNow(e room.LaunchKernel) {
	if e.Generation != r.core.Generation() {
		return // called off while it waited for the disk
	}
	req := r.launchRequest()
	ctx, cancel := context.WithTimeout(r.ctx, launchTimeout)
	r.callOff = cancel
	r.start(func(context.Context) {
		defer cancel()
		spec, err := kernel.LaunchSpec{}, supportedSource(e.EnvSource)
		if err == nil {
			spec, err = r.deps.Env.Resolve(ctx, req, func(line string) {
				r.post(func() { r.handle(room.LaunchProgress{Generation: e.Generation, Text: line}) })
			})
			spec.EnvSource = shownSource(e.EnvSource, spec, req)
		}
		var host *kernel.Host
		var dir string
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			host, dir, err = r.startHost(spec)
		}
		if err != nil {
			r.post(func() { r.handle(room.LaunchFailed{Generation: e.Generation, Err: launchError(err)}) })
			return
		}
		r.unclaimedMu.Lock()
		r.unclaimed[host] = true
		r.unclaimedMu.Unlock()
		r.post(func() { r.hostStarted(e.Generation, host, dir, spec) })
	})
}

// discardUnclaimed ends the hosts that were started and never reached the actor.
func (r *Room) discardUnclaimed() {
	r.unclaimedMu.Lock()
	defer r.unclaimedMu.Unlock()
	for host := range r.unclaimed {
		r.discard(host)
	}
	clear(r.unclaimed)
}

// Environment sources of protocol v4 that are made here. Clients know a closed
// set of them, so every Python kernel is shown as one of these two.
const (
	sourcePrewarmed = "uv:prewarmed" // an environment as it was found or kept ready
	sourceInline    = "uv:inline"    // made for the dependencies in the notebook
)

// supportedSource refuses environments that cannot be made here.
func supportedSource(requested string) error {
	kind, _, _ := strings.Cut(requested, ":")
	switch kind {
	case "conda", "pixi", "deno":
		return domain.Errorf(domain.CodeEnvironmentFailed, "Environments of %s are not made by this daemon.", kind).
			WithHint("Use a Python environment with ipykernel, or an installed kernelspec.")
	}
	return nil
}

// shownSource names the environment as protocol v4 does.
func shownSource(requested string, spec kernel.LaunchSpec, req env.Request) string {
	switch {
	case spec.Language != "python":
		return spec.EnvSource
	case requested != "":
		return requested
	case len(req.Dependencies) > 0:
		return sourceInline
	}
	return sourcePrewarmed
}

func launchError(err error) *domain.Error {
	var de *domain.Error
	if errors.As(err, &de) {
		return de
	}
	return domain.Errorf(domain.CodeKernelUnavailable, "The kernel could not be started: %w", err).
		WithHint("Look into the daemon's log (runt daemon logs), then restart the kernel.")
}

// startHost starts a host. It is not called off half-way: a process that is on
// its way has to be known to be ended.
func (r *Room) startHost(spec kernel.LaunchSpec) (*kernel.Host, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), hostTimeout)
	defer cancel()
	dir := filepath.Join(r.deps.HostsDir, r.deps.IDs.UUID()[:8])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("make host folder: %w", err)
	}
	host, err := kernel.StartHost(ctx, kernel.HostConfig{Dir: dir, Command: r.deps.HostCommand, RoomID: string(r.id),
		OrphanAfter: r.deps.OrphanAfter, Logger: r.log}, spec)
	if err != nil {
		return nil, "", err
	}
	return host, dir, nil
}

// discard ends a host that nobody wants any more.
func (r *Room) discard(host *kernel.Host) {
	r.pass("roomactor/discard")
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := host.Shutdown(ctx)
	if err := host.Close(); err != nil {
		r.log.Debug("kernel host closed", "error", err)
	}
	if err != nil {
		r.log.Warn("kernel host not shut down", "error", err)
		r.reap(host.Dir())
		return
	}
	r.removeHostDir(host.Dir())
}

func (r *Room) hostStarted(generation uint64, host *kernel.Host, dir string, spec kernel.LaunchSpec) {
	r.unclaimedMu.Lock()
	delete(r.unclaimed, host)
	r.unclaimedMu.Unlock()
	if generation != r.core.Generation() {
		r.start(func(context.Context) { r.discard(host) })
		return
	}
	r.hold(&hostHandle{room: r, host: host, dir: dir, generation: generation, done: make(chan struct{})})
	r.record(runtimeStep{Host: dir, State: r.runState}.record(nil))
	r.noteKernel(spec)
	r.handle(room.HostStarted{Generation: generation, Kernel: kernelInfo(spec.KernelName, spec.Language, spec.EnvSource)})
}

// noteKernel writes the kernel that was chosen into the metadata of a notebook
// that was made here and names none, so that its file says how to run it. What a
// file says is never changed by opening it.
func (r *Room) noteKernel(spec kernel.LaunchSpec) {
	r.log.Info("kernel launched", "kernel", spec.KernelName, "env", spec.EnvSource)
	have, _ := r.nb.Metadata()["kernelspec"].(map[string]any)
	if name, _ := have["name"].(string); !r.made || name != "" {
		return
	}
	display := spec.DisplayName
	if display == "" {
		display = spec.KernelName
	}
	upd, err := r.nb.Edit(func(tx *notebook.Tx) error {
		return tx.SetMetadata("kernelspec", map[string]any{"name": spec.KernelName, "display_name": display, "language": spec.Language})
	})
	if err != nil {
		r.log.Error("notebook edit failed", "error", err)
		return
	}
	r.changed(docNotebook, upd, nil)
}

// kernelInfo names a kernel as protocol v4 does: by its type, which is "python"
// for every Python kernel, and the kernelspec for others.
func kernelInfo(spec, language, envSource string) room.KernelInfo {
	if language == "python" {
		spec = language
	}
	return room.KernelInfo{Name: spec, Language: language, EnvSource: envSource}
}

// hold makes h the room's host and begins to hear its events.
func (r *Room) hold(h *hostHandle) {
	r.host, r.hostDir = h, h.dir
	r.start(func(ctx context.Context) {
		defer close(h.done)
		r.hear(ctx, h)
	})
}

// hear hands the host's events to the actor, many at once when there are many.
func (r *Room) hear(ctx context.Context, h *hostHandle) {
	events := h.host.Events()
	for {
		var batch []kernel.Event
		select {
		case ev, ok := <-events:
			if !ok {
				return
			}
			batch = append(batch, ev)
		case <-ctx.Done():
			return
		}
		for more := true; more && len(batch) < eventBatch; {
			select {
			case ev, ok := <-events:
				if more = ok; ok {
					batch = append(batch, ev)
				}
			default:
				more = false
			}
		}
		if !r.post(func() { r.kernelEvents(h, batch) }) {
			return
		}
	}
}

func (r *Room) kernelEvents(h *hostHandle, batch []kernel.Event) {
	for _, ev := range batch {
		r.kernelEvent(h, ev)
	}
}

func (r *Room) kernelEvent(h *hostHandle, ev kernel.Event) {
	id := domain.ExecutionID(ev.ExecutionID)
	switch ev.Kind {
	case kernel.EventAccepted:
		accepted := room.KernelAccepted{Generation: h.generation, Seq: ev.Seq, Execution: id}
		if ev.Execute != nil {
			accepted.Source, accepted.Note = ev.Execute.Code, ev.Execute.Tag
		}
		r.handle(accepted)
	case kernel.EventReady:
		r.handle(room.KernelReady{Generation: h.generation, Seq: ev.Seq})
	case kernel.EventMessage:
		if ev.Message.Type == "status" {
			return
		}
		if len(ev.Message.Type) > 5 && ev.Message.Type[:5] == "comm_" {
			r.kernelComm(ev.Message)
			return
		}
		r.handle(room.KernelMessage{Generation: h.generation, Seq: ev.Seq, Execution: id, Message: roomMessage(ev.Message)})
	case kernel.EventInputRequest:
		content := rawObject(ev.Message.Content)
		prompt, _ := content["prompt"].(string)
		password, _ := content["password"].(bool)
		r.handle(room.KernelWantsInput{Generation: h.generation, Seq: ev.Seq, Execution: id, Prompt: prompt, Password: password})
	case kernel.EventDone:
		done := room.ExecutionEnded{Generation: h.generation, Seq: ev.Seq, Execution: id, Status: ev.Done.Status, Reason: ev.Done.Reason}
		if ev.Done.Count != nil {
			done.Count = *ev.Done.Count
		}
		trace.Mark("room.ended", ev.ExecutionID)
		for _, m := range pages(ev.Done.Payload) {
			r.handle(room.KernelMessage{Generation: h.generation, Seq: ev.Seq, Execution: id, Message: m})
		}
		r.handle(done)
		trace.Mark("room.closed", ev.ExecutionID)
	case kernel.EventDied, kernel.EventFailed, kernel.EventLost:
		reason, hint := deathReason(ev)
		r.handle(room.KernelDied{Generation: h.generation, Seq: ev.Seq, Reason: reason, Hint: hint})
	}
}

// roomMessage decodes a message of the kernel, keeping big numbers.
func roomMessage(m *kernel.Message) room.Message {
	d := json.NewDecoder(bytes.NewReader(m.Content))
	d.UseNumber()
	content := map[string]any{}
	_ = d.Decode(&content) // content that is no object has nothing to show
	return room.Message{Type: m.Type, Content: content}
}

// stopKernel lets go of the host and ends it when the disk has what it was for:
// until then it is the only one who knows.
func (r *Room) stopKernel(e room.StopKernel) {
	r.callOff()
	h := r.host
	if h != nil && h.generation != e.Generation {
		h = nil
	}
	if h != nil {
		r.host = nil
		r.stopping[h] = true
	}
	stop := func() {
		if h == nil {
			if e.Closing {
				r.handle(room.HostStopped{})
			}
			return
		}
		delete(r.stopping, h)
		r.start(func(context.Context) {
			r.discard(h.host)
			if e.Closing {
				r.post(func() { r.handle(room.HostStopped{}) })
			}
		})
	}
	r.durableOr(r.journalEnd(), stop, func(error) { stop() })
}

// kernelQuestion asks the kernel something that is no execution.
func (r *Room) kernelQuestion(p *peer, req wire.Request) {
	if r.host == nil {
		r.respond(p.id, req.ID, wire.ResultNoKernel, nil)
		return
	}
	host := r.host.host
	r.start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, questionTimeout)
		defer cancel()
		result, body, err := ask(ctx, host, req)
		r.post(func() {
			if err != nil {
				r.respondError(p, req.ID, domain.Errorf(domain.CodeTimeout, "The kernel did not answer: %w", err).
					WithHint("It answers when no cell runs."))
				return
			}
			r.respond(p.id, req.ID, result, body)
		})
	})
}

func (r *Room) sendComm(p *peer, req wire.Request) {
	if r.host == nil {
		r.respond(p.id, req.ID, wire.ResultNoKernel, nil)
		return
	}
	m, err := wire.DecodeCommMessage(req.Message)
	if err != nil {
		r.respondError(p, req.ID, domain.Errorf(domain.CodeInvalidArgument, "The comm message could not be read: %w", err))
		return
	}
	r.hostDo("comm", func(h *kernel.Host) error { return h.Comm(commMessage(m)) })
	r.respond(p.id, req.ID, wire.ResultOK, nil)
}

// kernelComm tells every peer of a comm message of the kernel.
func (r *Room) kernelComm(m *kernel.Message) {
	b := wire.Broadcast{Event: wire.BroadcastComm, MsgType: m.Type, Content: m.Content}
	for _, buf := range m.Buffers {
		b.Buffers = append(b.Buffers, buf)
	}
	body, err := wire.EncodeBroadcast(b)
	if err != nil {
		r.log.Warn("comm message not encoded", "error", err)
		return
	}
	for _, p := range r.peers {
		p.sendFailed(p.conn.Send(wire.FrameBroadcast, body))
	}
}
