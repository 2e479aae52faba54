package kernel

import (
	"context"
	"encoding/json"
	"fmt"

	"runt/internal/domain"
	"runt/internal/kernel/link"
)

// Events returns the channel of events. It always is the same one.
func (h *Host) Events() <-chan Event { return h.events }

// Welcome tells where the host stood when the connection was made: its phase,
// what runs and what waits. Events up to Last are older than that.
func (h *Host) Welcome() Welcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.welcome
}

// Dir returns the host's folder.
func (h *Host) Dir() string { return h.dir }

// Execute has code run after everything that was asked for before, also while
// the kernel still starts. The same ID twice runs once. An error means that the kernel is gone; otherwise
// Accepted, and later Done or the end of the kernel, are events.
func (h *Host) Execute(x Execute) error {
	if x.ID == "" {
		return domain.Errorf(domain.CodeInvalidArgument, "an execution needs an id.")
	}
	return h.order(link.Command{Op: link.OpExecute, Execute: &x})
}

// Cancel ends an execution that the kernel does not have yet, as aborted. It does nothing to others.
func (h *Host) Cancel(executionID string) error {
	return h.order(link.Command{Op: link.OpCancel, ExecutionID: executionID})
}

// Interrupt interrupts an execution, or the running one when the id is empty.
// One that has not begun is interrupted as soon as it begins, one that still waits in the host ends
// as aborted; one that is over is left alone. Every attempt is an event, until Done or one with GaveUp.
func (h *Host) Interrupt(executionID string) error {
	return h.order(link.Command{Op: link.OpInterrupt, ExecutionID: executionID})
}

// Input answers the input request of the running execution. Without one it does nothing.
func (h *Host) Input(text string) error {
	return h.order(link.Command{Op: link.OpInput, Text: text})
}

// Ack says that events up to number n are safe: the host forgets them.
func (h *Host) Ack(n uint64) {
	h.mu.Lock()
	h.ack = max(h.ack, n)
	h.mu.Unlock()
	h.poke()
}

// Comm sends a comm_open, comm_msg or comm_close to the kernel: type, content, metadata and buffers of m are
// used, and its ID if it has one.
func (h *Host) Comm(m Message) error {
	return h.order(link.Command{Op: link.OpComm, Message: &m})
}

// Request sends a request on channel shell or control and returns the reply. The
// content is encoded as JSON, nil as an empty object. The
// kernel answers on shell only when it is not running anything.
func (h *Host) Request(ctx context.Context, channel, msgType string, content any) (Message, error) {
	if content == nil {
		content = struct{}{}
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return Message{}, fmt.Errorf("encode %s: %w", msgType, err)
	}
	r, err := h.ask(ctx, link.Command{Op: link.OpRequest, Channel: channel, Message: &Message{Type: msgType, Content: raw}})
	if err != nil {
		return Message{}, err
	}
	if r.Message == nil {
		return Message{}, domain.Errorf(domain.CodeInternal, "kernel host gave no answer to %s.", msgType)
	}
	return *r.Message, nil
}

// Shutdown ends the kernel, by force if need be, and the host, and returns when
// both are gone. The last event is Died with Requested set, unless the kernel had ended
// before. Events that were not acknowledged stay on disk, for Adopt. The receiver of Events need not read meanwhile.
func (h *Host) Shutdown(ctx context.Context) error {
	if _, err := h.ask(ctx, link.Command{Op: link.OpShutdown}); err != nil {
		select {
		case <-h.ended: // it ended while we asked, which is what we want
		default:
			return fmt.Errorf("shut down kernel: %w", err)
		}
	}
	select {
	case <-h.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of kernel host: %w", context.Cause(ctx))
	}
}

// ask sends a command and waits for its reply.
func (h *Host) ask(ctx context.Context, cmd link.Command) (link.Reply, error) {
	ch := make(chan link.Reply, 1)
	h.mu.Lock()
	h.lastID++
	cmd.ID = h.lastID
	h.replies[cmd.ID] = ch
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.replies, cmd.ID)
		h.mu.Unlock()
	}()
	if err := h.order(cmd); err != nil {
		return link.Reply{}, err
	}
	select {
	case r := <-ch:
		if r.Error != "" {
			return r, domain.Errorf(domain.CodeKernelUnavailable, "%s.", r.Error)
		}
		return r, nil
	case <-h.ended:
		return link.Reply{}, domain.Errorf(domain.CodeKernelDied, "the kernel ended: %w.", ErrClosed)
	case <-ctx.Done():
		return link.Reply{}, context.Cause(ctx)
	}
}

// Close lets go of the host: it and its kernel live on. Events is closed, what was not received stays with the host.
func (h *Host) Close() error {
	h.end(ErrClosed)
	h.stop()
	h.mu.Lock()
	conn := h.conn
	h.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // wakes the reader
	}
	h.wg.Wait()
	return nil
}
