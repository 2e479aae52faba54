package client

import (
	"context"
	"time"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/trace"
	"runt/internal/wire"
)

// Longest times to wait for the answer to a request.
const (
	requestTimeout  = 30 * time.Second
	completeTimeout = 7 * time.Second
	launchTimeout   = 300 * time.Second
)

func timeoutFor(action string) time.Duration {
	switch action {
	case wire.ActionLaunchKernel, wire.ActionRestartKernel, wire.ActionSyncEnvironment:
		return launchTimeout
	case wire.ActionComplete:
		return completeTimeout
	}
	return requestTimeout
}

// Request sends a request and waits for its answer. An answer of kind "error"
// is returned as an error; all others, also those that refuse, are the
// caller's to read. The id of the request is set here.
func (h *Handle) Request(ctx context.Context, r wire.Request) (wire.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeoutFor(r.Action))
	defer cancel()
	r.ID = h.o.uuid()
	body, err := wire.EncodeRequest(r)
	if err != nil {
		return wire.Response{}, domain.Errorf(domain.CodeInvalidArgument, "the daemon cannot be asked that: %w", err)
	}
	answer := make(chan wire.Response, 1)
	if err := h.expect(r.ID, answer); err != nil {
		return wire.Response{}, err
	}
	defer h.forget(r.ID)
	if err := h.conn.Send(wire.FrameRequest, body); err != nil {
		return wire.Response{}, h.broken(err)
	}
	select {
	case response := <-answer:
		return response, responseError(response)
	case <-h.lost:
		select { // it may have come just before
		case response := <-answer:
			return response, responseError(response)
		default:
			return wire.Response{}, h.Err()
		}
	case <-ctx.Done():
		return wire.Response{}, timeoutOf(ctx, "wait for the daemon's answer to "+r.Action)
	}
}

// Confirm waits until the daemon has everything that was edited here, on its
// disk if it is runt's.
func (h *Handle) Confirm(ctx context.Context) error {
	heads := h.nb.Engine().Heads()
	if h.info.NotebookSyncReceipt || h.Extended() {
		_, err := h.Request(ctx, wire.Request{Action: wire.ActionAcknowledgeSync, RequiredHeads: automerge.HashStrings(heads)})
		if err == nil {
			h.noteOnDisk(heads)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return h.WaitFor(ctx, func() bool { return containsAll(h.nbSync.peer.TheirHeads(), heads) })
}

func (h *Handle) expect(id string, answer chan<- wire.Response) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.pending[id] = answer
	}
	return h.err
}

func (h *Handle) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pending, id)
}

// answered hands a response to whoever waits for it. One that nobody waits for
// any more is dropped.
func (h *Handle) answered(body []byte) error {
	response, err := wire.DecodeResponse(body)
	if err != nil {
		return err
	}
	trace.Mark("client.response", response.Result)
	h.mu.Lock()
	answer := h.pending[response.ID]
	delete(h.pending, response.ID)
	h.mu.Unlock()
	if answer != nil {
		answer <- response // of capacity 1 and used once
	} else {
		h.o.Logger.Debug("response to no request", "request", response.ID, "result", response.Result)
	}
	return nil
}

func responseError(r wire.Response) error {
	if r.Result != wire.ResultError {
		return nil
	}
	var body wire.ErrorBody
	if err := r.Decode(&body); err != nil {
		return err
	}
	return refusal(body.Error, body.Code, body.Hint, domain.CodeInternal)
}

func containsAll(all, some []automerge.Hash) bool {
	have := make(map[automerge.Hash]bool, len(all))
	for _, h := range all {
		have[h] = true
	}
	for _, h := range some {
		if !have[h] {
			return false
		}
	}
	return true
}
