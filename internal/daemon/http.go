package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"runt/internal/blob"
)

// httpServer serves blobs on a loopback port of its own.
type httpServer struct {
	srv   *http.Server
	log   *slog.Logger
	port  int
	token string
	done  chan struct{}
}

func serveHTTP(blobs *blob.Store, token string, log *slog.Logger) (*httpServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	h := &httpServer{log: log, token: token, port: l.Addr().(*net.TCPAddr).Port, done: make(chan struct{}),
		srv: &http.Server{Handler: blobs.Handler(token), ReadHeaderTimeout: 10 * time.Second}}
	go func() {
		defer close(h.done)
		if err := h.srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("http server ended", "error", err)
		}
	}()
	return h, nil
}

func (h *httpServer) close(ctx context.Context) {
	if err := h.srv.Shutdown(ctx); err != nil {
		h.log.Debug("http server closed", "error", errors.Join(err, h.srv.Close()))
	}
	<-h.done
}
