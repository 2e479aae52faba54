package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"runt/internal/session"
	"runt/internal/session/peer"
)

// Environment variables by which the proxy hands over the notebooks of an earlier child.
const (
	envRejoin    = "NTERACT_MCP_REJOIN_NOTEBOOK" // the default notebook: an id or a path
	envRejoinAll = "RUNT_MCP_REJOIN"             // all of them: a JSON list of {id, path, default}
)

// handshakeLimit is how long the watch of the daemon waits for the client to
// say who it is, so that its notebooks are not joined under no name.
const handshakeLimit = 2 * time.Second

// Run serves one MCP client over o.In and o.Out until the input ends, the daemon
// is replaced by another version, or ctx ends. The exit code is 0, or
// session.ExitUpgraded when the process should be started anew, in which case
// calls that are under way are left without an answer, for the proxy to send again.
// It returns when everything it started has ended, apart from a read of an input that cannot be closed.
func Run(ctx context.Context, o Options) (exitCode int, err error) {
	s := New(o)
	initial, err := session.ParseInitial(s.o.Getenv(envRejoin), s.o.Getenv(envRejoinAll), s.canonical)
	if err != nil {
		s.o.Logger.Warn("notebooks to rejoin are not known", "err", err)
	}
	c := s.NewClient(initial)
	t := newStdio(o.In, o.Out, s.o.Logger)
	c.order, c.draining = t.order, t.draining
	known := make(chan struct{})
	var once sync.Once
	t.onInitialize = func(i initialize) {
		c.SetName(i.ClientInfo.Name, i.ClientInfo.Title)
		once.Do(func() { close(known) })
	}

	ctx, cancel := context.WithCancel(ctx)
	exit := make(chan int, 1)
	served := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { s.watch(ctx, known, exit) })
	wg.Go(func() { served <- c.mcpServer().Run(context.WithoutCancel(ctx), t) })
	select {
	case exitCode = <-exit:
		t.abort()
	case <-ctx.Done():
		t.abort()
	case err = <-served:
	}
	cancel()
	c.Close()
	wg.Wait()
	if err != nil {
		return 1, fmt.Errorf("serve MCP client: %w", err)
	}
	return exitCode, s.Close()
}

// watch keeps the sessions of all clients joined, and says when to exit.
func (s *Server) watch(ctx context.Context, known <-chan struct{}, exit chan<- int) {
	timer := time.NewTimer(handshakeLimit)
	defer timer.Stop()
	select {
	case <-known:
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	events, cancel := context.WithCancel(ctx)
	ch := peer.Events(events, s.peerOptions())
	code := session.Watch(ctx, ch, s.sessions)
	cancel()
	for range ch { // until its goroutine has ended
	}
	if ctx.Err() == nil {
		exit <- code
	}
}
