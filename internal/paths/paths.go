// Package paths says where the programs of runt keep their things: one place
// for the socket, the state and the caches, never nteract's. It reads the
// environment and makes nothing.
package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// Environment variables that move things.
const (
	EnvSocket = "RUNTIMED_SOCKET_PATH" // the daemon's socket
	EnvState  = "RUNT_STATE_DIR"       // the folder for state, of whatever socket
)

// maxSocketPath is what a socket address holds on every system, less some room
// for the suffixes that are added.
const maxSocketPath = 90

// Places says where one daemon and its clients meet and keep things.
type Places struct {
	Socket string // the daemon's socket
	State  string // journals, blobs, catalog, logs of the daemon of this socket
	Shared string // what all daemons of a user share: private environments
	Cache  string // compiled code; may be deleted at any time
}

// For returns the places of the daemon on a socket; "" means the one of the
// environment or the default.
func For(socket string) Places {
	if socket == "" {
		socket = os.Getenv(EnvSocket)
	}
	base := base("XDG_STATE_HOME", ".local", "state")
	p := Places{Shared: filepath.Join(base, "runt"), Cache: filepath.Join(cacheBase(), "runt-go")}
	standard := defaultSocket(p.Shared)
	if socket == "" {
		socket = standard
	}
	if abs, err := filepath.Abs(socket); err == nil {
		socket = abs
	}
	p.Socket, p.State = socket, p.Shared
	if socket != standard {
		p.State = filepath.Join(p.Shared, "sockets", shortHash(socket))
	}
	if dir := os.Getenv(EnvState); dir != "" {
		p.State = dir
	}
	return p
}

// LogFile is where a daemon started in the background writes its log.
func (p Places) LogFile() string { return filepath.Join(p.State, "runtimed.log") }

func defaultSocket(state string) string {
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		return filepath.Join(run, "runt", "runtimed.sock")
	}
	if s := filepath.Join(state, "runtimed.sock"); len(s) <= maxSocketPath {
		return s
	}
	return filepath.Join(os.TempDir(), "runt-"+shortHash(state), "runtimed.sock")
}

func base(env string, below ...string) string {
	if dir := os.Getenv(env); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{home()}, below...)...)
}

func cacheBase() string { return base("XDG_CACHE_HOME", ".cache") }

func home() string {
	if h, err := os.UserHomeDir(); err == nil {
		return h
	}
	return os.TempDir()
}

func shortHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])[:12]
}
