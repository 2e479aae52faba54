package client

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/wire"
)

// fakeBroken is a connection whose writes fail from some time on while its
// reader has not been run yet, as when the other end of a socket has just been killed.
type fakeBroken struct {
	net.Conn
	broken *atomic.Bool
	reads  chan struct{} // closed when the reader may run again
}

func (c fakeBroken) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.broken.Load() {
		<-c.reads
	}
	return n, err
}

func (c fakeBroken) Write(b []byte) (int, error) {
	if c.broken.Load() {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(b)
}

// S21: an error that says the connection is lost comes from a handle that is
// over. A call that waits for the next handle would get this one otherwise, again and again.
func TestS21_AHandleIsOverWhenItSaysSo(t *testing.T) {
	d := newFake(t)
	for name, use := range map[string]func(h *Handle, n int) error{
		"edit": func(h *Handle, n int) error {
			_, err := h.Edit(t.Context(), func(tx *notebook.Tx) error { return tx.SetMetadata("n", n) })
			return err
		},
		"request": func(h *Handle, _ int) error {
			// The first one is sent before the connection is known to be broken, and its answer never comes.
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := h.Request(ctx, wire.Request{Action: wire.ActionAcknowledgeSync})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			broken, reads := &atomic.Bool{}, make(chan struct{})
			o := d.options(name)
			o.Dial = func(ctx context.Context, socket string) (net.Conn, error) {
				nc, err := dialUnix(ctx, socket)
				return fakeBroken{nc, broken, reads}, err
			}
			d.Room(name)
			h, err := Join(t.Context(), o, domain.NotebookID(name))
			if err != nil {
				t.Fatal(err)
			}
			defer closeHandle(t, h)
			defer close(reads)
			broken.Store(true)
			for n := 0; n < 1000 && domain.CodeOf(err) != domain.CodeSessionDisconnected; n++ {
				err = use(h, n)
			}
			if domain.CodeOf(err) != domain.CodeSessionDisconnected || !errors.Is(err, syscall.EPIPE) {
				t.Fatalf("got %v", err)
			}
			select {
			case <-h.Done():
			default:
				t.Error("the handle still counts as connected")
			}
			if h.Err() == nil {
				t.Error("the handle has no error")
			}
		})
	}
}
