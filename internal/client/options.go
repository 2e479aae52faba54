package client

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"

	"runt/internal/automerge"
	"runt/internal/domain"
)

// Options says which daemon to talk to and who is talking.
type Options struct {
	Socket   string            // path of the daemon's socket
	Engine   *automerge.Engine // needed for handles only
	Operator string            // kind and name of who acts, as "agent:claude"; a suffix of its own is added for every connection
	Label    string            // what other peers are shown
	Logger   *slog.Logger      // nil: none
	Carry    *Handle           // a lost handle of the same notebook whose undelivered edits are taken along; may be nil

	Dial   func(ctx context.Context, socket string) (net.Conn, error)                  // nil: a Unix socket
	Rand   io.Reader                                                                   // nil: crypto/rand
	Notify func(folder string) (changes <-chan struct{}, stop func() error, err error) // nil: file system events; for Watch
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = dialUnix
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Notify == nil {
		o.Notify = watchFolder
	}
	return o
}

func (o Options) uuid() string { return domain.RandomIDs{Rand: o.Rand}.UUID() }

func dialUnix(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}

// connect dials the daemon.
func (o Options) connect(ctx context.Context) (net.Conn, error) {
	nc, err := o.Dial(ctx, o.Socket)
	if err != nil {
		if ctx.Err() != nil {
			return nil, timeoutOf(ctx, "connect to the daemon")
		}
		return nil, domain.Errorf(domain.CodeSessionDisconnected, "no daemon answers at %s: %w", o.Socket, err).
			WithHint("Start it with `runt daemon start`; `runt doctor` tells what is wrong with it.")
	}
	return nc, nil
}

// timeoutOf returns the error of an operation that its context ended: as it is
// when the caller cancelled it, a timeout otherwise.
func timeoutOf(ctx context.Context, what string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return domain.Errorf(domain.CodeTimeout, "gave up to %s: %w", what, cause).
			WithHint("Try again; `runt daemon status` tells whether the daemon is busy.")
	}
	return cause
}
