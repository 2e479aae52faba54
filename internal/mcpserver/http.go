package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits of MCP over HTTP.
const (
	DefaultIdle        = time.Hour // how long a session may lie idle
	DefaultMaxSessions = 1000      // sessions at once

	headerLimit  = 10 * time.Second // for a client to send the head of a request
	keepAlive    = 2 * time.Minute  // for a client's connection without a request
	maxHeader    = 64 << 10         // bytes of a request's head
	shutdownTime = 5 * time.Second  // for the connections to end, after the sessions have
)

// HTTPPath is where MCP is served.
const HTTPPath = "/mcp"

// HTTPOptions configure MCP over HTTP.
type HTTPOptions struct {
	Listener    net.Listener  // of RunHTTP, which closes it; made by ListenHTTP
	Token       string        // what clients must bring as a bearer token
	Hosts       []string      // further names by which clients may address the server
	Idle        time.Duration // how long a session may lie idle; 0 means DefaultIdle
	MaxSessions int           // 0 means DefaultMaxSessions
	Records     string        // folder in which sessions are noted, so that they go on in the next process; "" for none
}

func (h HTTPOptions) withDefaults() HTTPOptions {
	if h.Idle == 0 {
		h.Idle = DefaultIdle
	}
	if h.MaxSessions == 0 {
		h.MaxSessions = DefaultMaxSessions
	}
	return h
}

// RunHTTP serves MCP clients over HTTP until ctx ends or the daemon is replaced
// by another version, in which case the exit code is session.ExitUpgraded. Each
// HTTP session is a client of its own. Calls that are under way at the end are
// answered with what they have. It returns when everything it started has ended.
func RunHTTP(ctx context.Context, o Options, h HTTPOptions) (exitCode int, err error) {
	s := New(o)
	web := s.newWeb(h)
	srv := &http.Server{
		Handler: web.guarded(), ReadHeaderTimeout: headerLimit, IdleTimeout: keepAlive, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelWarn),
	}
	known := make(chan struct{})
	close(known)
	ctx, cancel := context.WithCancel(ctx)
	exit := make(chan int, 1)
	served := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { s.watch(ctx, known, exit) })
	wg.Go(func() { served <- srv.Serve(h.Listener) })
	select {
	case exitCode = <-exit:
	case <-ctx.Done():
	case err = <-served:
	}
	cancel()
	err = errors.Join(err, stopServing(srv, web))
	wg.Wait()
	if err != nil {
		return 1, fmt.Errorf("serve MCP over HTTP: %w", err)
	}
	return exitCode, s.Close()
}

// stopServing ends the sessions, then the connections.
func stopServing(srv *http.Server, web *web) error {
	web.close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close()
	}
	return nil
}

// web serves the HTTP sessions of a Server. Its goroutines are the janitor and
// the ends of sessions; close ends and awaits them.
type web struct {
	s       *Server
	o       HTTPOptions
	records records

	wg       sync.WaitGroup
	stop     chan struct{} // closed by close
	reviving sync.Mutex    // held while a session of an earlier process is made to go on

	mu       sync.Mutex // guards the fields that follow
	sessions map[string]*httpSession
	closed   bool
}

func (s *Server) newWeb(o HTTPOptions) *web {
	w := &web{s: s, o: o.withDefaults(), records: records{o.Records}, stop: make(chan struct{}), sessions: map[string]*httpSession{}}
	if err := w.records.prune(time.Now()); err != nil {
		s.o.Logger.Warn("sessions of earlier processes", "err", err)
	}
	w.wg.Go(w.sweep)
	return w
}

// guarded is the handler for the outside.
func (w *web) guarded() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(HTTPPath, w)
	return newGuard(w.o.Token, w.o.Hosts, mux)
}

// close refuses new requests, ends all sessions, and waits for that. It may be called twice.
func (w *web) close() {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	var all []*httpSession
	for _, hs := range w.sessions {
		all = append(all, hs)
	}
	w.mu.Unlock()
	if first {
		close(w.stop)
	}
	for _, hs := range all {
		w.end(hs, drainGrace)
	}
	w.wg.Wait()
}

// end takes a session off the list and ends it in the background. grace is how long its calls may go on.
func (w *web) end(hs *httpSession, grace time.Duration) {
	w.mu.Lock()
	listed := w.sessions[hs.id] == hs
	if listed {
		delete(w.sessions, hs.id)
	}
	w.mu.Unlock()
	if listed {
		w.wg.Go(func() { hs.end(grace) })
	}
}

// sweepsPerIdle is how often in the time of idleness idle sessions are looked for.
const sweepsPerIdle = 4

// sweep ends sessions that have been idle for too long.
func (w *web) sweep() {
	t := time.NewTicker(w.o.Idle/sweepsPerIdle + 1)
	defer t.Stop()
	for {
		select {
		case <-w.stop:
			return
		case now := <-t.C:
			for _, hs := range w.idleSince(now.Add(-w.o.Idle)) {
				w.s.o.Logger.Info("session timed out", "session", hs.name(), "idle", w.o.Idle)
				w.end(hs, 0)
			}
		}
	}
}

func (w *web) idleSince(limit time.Time) []*httpSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	var idle []*httpSession
	for _, hs := range w.sessions {
		if hs.idleSince(limit) {
			idle = append(idle, hs)
		}
	}
	return idle
}

// find returns a session that is not ending, or nil.
func (w *web) find(id string) *httpSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[id]
}

// admit makes a session, unless there are too many or the server is going down.
func (w *web) admit() (*httpSession, error) {
	hs := w.s.newHTTPSession(record{})
	if err := w.list(hs); err != nil {
		hs.end(0)
		return nil, err
	}
	return hs, nil
}

// list puts a session on the list, if there is room for it.
func (w *web) list(hs *httpSession) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
		return errors.New("the server is going down; try again")
	case len(w.sessions) >= w.o.MaxSessions:
		return fmt.Errorf("all %d sessions are in use; end one with DELETE, or wait until an idle one times out", w.o.MaxSessions)
	}
	w.sessions[hs.id] = hs
	return nil
}
