package mcpserver

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"math/big"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/env"
	"runt/internal/session"
	"runt/internal/session/peer"
)

// Options configure a Server.
type Options struct {
	In          io.Reader // of Run; closed at the end if it is an io.Closer
	Out         io.Writer // of Run
	Socket      string    // of the daemon
	Engine      *automerge.Engine
	Logger      *slog.Logger // nil discards
	Version     string
	StartDaemon func(context.Context) error // starts a daemon if none runs; nil: none is started
	Dir         string                      // folder that relative paths begin at; "" for the process's own
	StateDir    string                      // where private Python environments are kept, for list_kernels
	Getenv      func(string) string         // nil for os.Getenv

	extend func(*mcp.Server) // adds what tests need to the MCP library's server of each client; nil for nothing
}

// Server holds the MCP clients of one process.
type Server struct {
	o   Options
	ids domain.RandomIDs

	mu       sync.Mutex // guards the fields that follow
	clients  map[*Client]bool
	resolver *env.Resolver
}

// New returns a Server without clients.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Dir == "" {
		if dir, err := os.Getwd(); err == nil {
			o.Dir = dir
		}
	}
	return &Server{o: o, ids: domain.RandomIDs{Rand: rand.Reader}, clients: map[*Client]bool{}}
}

func (s *Server) peerOptions() peer.Options {
	return peer.Options{Socket: s.o.Socket, Engine: s.o.Engine, StartDaemon: s.o.StartDaemon, Version: s.o.Version, Logger: s.o.Logger}
}

// NewClient adds a client that holds the given notebooks from an earlier process.
func (s *Server) NewClient(initial []session.Initial) *Client {
	d := peer.New(s.peerOptions())
	c := &Client{srv: s, dialer: d, suffix: s.ids.UUID()[:4], session: s.ids.UUID()}
	c.sessions = session.NewClient(session.Options{
		Dialer: d, Initial: initial, Canonical: s.canonical, Jitter: jitter, Logger: s.o.Logger,
	})
	c.SetName("", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c] = true
	return c
}

// jitter returns a random number in [0,1).
func jitter() float64 {
	const steps = 1000
	n, err := rand.Int(rand.Reader, big.NewInt(steps))
	if err != nil {
		return 0
	}
	return float64(n.Int64()) / steps
}

// sessions lists the sessions of all clients.
func (s *Server) sessions() []*session.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*session.Client, 0, len(s.clients))
	for c := range s.clients {
		all = append(all, c.sessions)
	}
	return all
}

// Close ends all clients. It may be called twice.
func (s *Server) Close() error {
	s.mu.Lock()
	clients := make([]*Client, 0, len(s.clients))
	for c := range s.clients {
		clients = append(clients, c)
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(c.Close)
	}
	wg.Wait()
	return nil
}

// kernels finds kernelspecs and interpreters.
func (s *Server) kernels() *env.Resolver {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resolver == nil {
		s.resolver = env.New(env.Options{StateDir: s.o.StateDir, Logger: s.o.Logger})
	}
	return s.resolver
}
