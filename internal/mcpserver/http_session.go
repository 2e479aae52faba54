package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	shortID       = 8 // of a session's id in the log: the whole is as good as a key
)

// errSessionEnded is why calls of a session that is over are cancelled.
var errSessionEnded = errors.New("the session has ended")

// httpSession is one MCP client over HTTP. Each has the library's server and
// handler for itself, so that it can be ended, and its events be kept, apart from others.
type httpSession struct {
	id       string
	client   *Client
	server   *mcp.Server
	handler  http.Handler
	draining chan struct{}
	cancel   context.CancelCauseFunc // of the calls
	done     chan struct{}           // closed when the session has ended
	ended    atomic.Bool             // its client has ended it: it has no record any more

	noting sync.Mutex // held while the record is written; guards noted
	noted  []byte     // the record as it was written last

	mu      sync.Mutex // guards the fields that follow
	posts   int        // requests that carry messages, being served
	streams int        // other requests being served
	used    time.Time  // when the last request ended
	idle    chan struct{}
}

// newHTTPSession makes a session, or one like that of a record.
func (s *Server) newHTTPSession(rec record) *httpSession {
	ctx, cancel := context.WithCancelCause(context.Background())
	hs := &httpSession{
		id: orElse(rec.ID, rand.Text()), client: s.NewClient(rec.Notebooks), draining: make(chan struct{}),
		cancel: cancel, done: make(chan struct{}), used: time.Now(), idle: make(chan struct{}, 1),
	}
	c := hs.client
	c.suffix = orElse(rec.Suffix, c.suffix)
	c.httpID, c.order, c.draining, c.ending = hs.id, newOrder(), hs.draining, ctx
	hs.server = c.mcpServer()
	hs.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return hs.server }, &mcp.StreamableHTTPOptions{
		Logger: s.o.Logger, EventStore: newEventStore(maxEventBytes, maxEventStreams), MaxRequestBodyBytes: maxLine,
		DisableLocalhostProtection: true, // the guard has looked at the Host, also where the address is no loopback
	})
	return hs
}

// name is what the log shows of the session.
func (hs *httpSession) name() string { return hs.id[:shortID] }

// ServeHTTP finds the session of a request, or begins one, and lets it answer.
func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(headerSession)
	switch {
	case id == "" && r.Method == http.MethodPost:
		w.begin(rw, r)
	case id == "":
		refuse(rw, http.StatusBadRequest, "the request has no "+headerSession+"; initialize with POST first")
	default:
		hs := w.find(id)
		if hs == nil {
			hs = w.revive(id)
		}
		if hs == nil {
			refuse(rw, http.StatusNotFound, "there is no such session; initialize again")
			return
		}
		if r.Method == http.MethodDelete {
			w.delete(rw, hs)
			return
		}
		hs.serve(rw, r)
		w.note(hs)
	}
}

// refuse answers with an error of HTTP.
func refuse(rw http.ResponseWriter, status int, text string) {
	http.Error(rw, text, status)
}

// begin serves a request without a session, which should be the one that makes it.
func (w *web) begin(rw http.ResponseWriter, r *http.Request) {
	hs, err := w.admit()
	if err != nil {
		rw.Header().Set("Retry-After", "1")
		refuse(rw, http.StatusServiceUnavailable, err.Error())
		return
	}
	hs.serve(rw, r)
	if !hs.initialized() {
		w.end(hs, 0)
		return
	}
	w.note(hs)
	w.s.o.Logger.Info("session began", "session", hs.name(), "label", hs.client.dialer.Label())
}

// deleteLimit is how long the answer to DELETE waits for the session's end.
const deleteLimit = 3 * time.Second

// delete ends a session as its client asked for.
func (w *web) delete(rw http.ResponseWriter, hs *httpSession) {
	w.forget(hs)
	w.end(hs, 0)
	t := time.NewTimer(deleteLimit)
	defer t.Stop()
	select {
	case <-hs.done:
	case <-t.C:
	}
	rw.WriteHeader(http.StatusNoContent)
}

// initialized says whether the client has introduced itself.
func (hs *httpSession) initialized() bool {
	for ss := range hs.server.Sessions() {
		return ss.InitializeParams() != nil
	}
	return false
}

// versions are those of the protocol that a session can agree on, latest first.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// agreed is the version of the protocol that the client and the server have
// agreed on; "" before they have.
func (hs *httpSession) agreed() string {
	for ss := range hs.server.Sessions() {
		switch p := ss.InitializeParams(); {
		case p == nil:
		case slices.Contains(versions, p.ProtocolVersion):
			return p.ProtocolVersion
		default:
			return versions[0]
		}
	}
	return ""
}

// useAgreed lets a request have the version that was agreed on, which counts
// where the client's header is missing or differs. One that does not exist is left for the library to refuse.
func (hs *httpSession) useAgreed(r *http.Request) {
	said, agreed := r.Header.Get(headerVersion), hs.agreed()
	if agreed != "" && said != agreed && (said == "" || slices.Contains(versions, said)) {
		r.Header.Set(headerVersion, agreed)
	}
}

// serve lets the library answer a request of the session.
func (hs *httpSession) serve(rw http.ResponseWriter, r *http.Request) {
	defer hs.enter(r.Method == http.MethodPost)()
	hs.useAgreed(r)
	rw = plainPrimes{rw}
	if r.Method != http.MethodPost {
		hs.handler.ServeHTTP(rw, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxLine))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			refuse(rw, http.StatusRequestEntityTooLarge, "the message is too long")
		} else {
			refuse(rw, http.StatusBadRequest, "the message could not be read")
		}
		return
	}
	m := hs.client.annotateBody(body)
	for _, turn := range m.turns {
		// A call that the library refused has no other to give its turn back.
		defer hs.client.order.leave(turn)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.body)), int64(len(m.body))
	hs.handler.ServeHTTP(rw, r)
}

// plainPrimes leaves the name away that the library gives to the event with
// which a stream begins: the protocol has none for it, and some clients complain.
type plainPrimes struct{ http.ResponseWriter }

// Write writes one event, as the library does.
func (w plainPrimes) Write(event []byte) (int, error) {
	rest, found := bytes.CutPrefix(event, []byte("event: prime\n"))
	n, err := w.ResponseWriter.Write(rest)
	if found && err == nil {
		n = len(event)
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (w plainPrimes) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// enter counts a request; the function that it returns counts it out.
func (hs *httpSession) enter(post bool) (leave func()) {
	n := &hs.streams
	if post {
		n = &hs.posts
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	*n++
	return func() {
		hs.mu.Lock()
		defer hs.mu.Unlock()
		*n--
		hs.used = time.Now()
		if hs.posts == 0 {
			select {
			case hs.idle <- struct{}{}:
			default:
			}
		}
	}
}

// idleSince says whether there has been no request since then.
func (hs *httpSession) idleSince(then time.Time) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.posts == 0 && hs.streams == 0 && hs.used.Before(then)
}

// end lets calls finish for some time, makes them answer with what they have,
// cancels them, and lets go of the client's notebooks.
func (hs *httpSession) end(grace time.Duration) {
	defer close(hs.done)
	answered := hs.awaitIdle(grace)
	close(hs.draining)
	answered = answered || hs.awaitIdle(drainLimit)
	hs.cancel(errSessionEnded)
	if !answered && !hs.awaitIdle(drainLimit) {
		hs.client.srv.o.Logger.Warn("session ends with calls unanswered", "session", hs.name())
	}
	for ss := range hs.server.Sessions() {
		if err := ss.Close(); err != nil {
			hs.client.srv.o.Logger.Debug("close session", "session", hs.name(), "err", err)
		}
	}
	hs.client.Close()
}

// awaitIdle waits until no message is being answered, and says whether that came about.
func (hs *httpSession) awaitIdle(limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		hs.mu.Lock()
		n := hs.posts
		hs.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-hs.idle:
		case <-t.C:
			return false
		}
	}
}

// bounded returns a context that also ends with the client's session.
func (c *Client) bounded(ctx context.Context) (bounded context.Context, done func()) {
	if c.ending == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ending, func() { cancel(context.Cause(c.ending)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
