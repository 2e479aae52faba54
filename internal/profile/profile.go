// Package profile lets developers look into a running program: profiles and
// execution traces of the Go runtime, on a socket of its own. It is off unless
// EnvDir names a folder; the variable is for developers and may change.
//
//	RUNT_PPROF_DIR=/tmp/p runtimed &
//	curl --unix-socket /tmp/p/runtimed-*.sock 'http://x/debug/pprof/profile?seconds=10' >cpu
//	go tool pprof -top cpu
//
// Serve starts one goroutine, which the function it returns ends and waits for.
package profile

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// EnvDir names the environment variable with the folder for sockets.
const EnvDir = "RUNT_PPROF_DIR"

// FreePath is where a POST makes the program give memory back to the system.
const FreePath = "/debug/free"

const headerTimeout = 5 * time.Second

// Serve opens the socket NAME-PID.sock in the folder that EnvDir names, if it
// names one. The caller calls stop in the end.
func Serve(name string) (stop func(), err error) {
	dir := os.Getenv(EnvDir)
	if dir == "" {
		return func() {}, nil
	}
	l, err := net.Listen("unix", filepath.Join(dir, fmt.Sprintf("%s-%d.sock", name, os.Getpid())))
	if err != nil {
		return nil, fmt.Errorf("serve profiles: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("POST "+FreePath, func(w http.ResponseWriter, _ *http.Request) {
		debug.FreeOSMemory()
		w.WriteHeader(http.StatusNoContent)
	})
	s := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "profiles are no longer served:", err)
		}
	}()
	return func() {
		_ = s.Close() // whoever is reading a profile is cut off
		<-done
	}, nil
}
