package link

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The files in a host's folder.
const (
	SocketFile     = "sock"          // where the host listens for its daemon
	ManifestFile   = "manifest.json" // who the host is
	LaunchFile     = "launch.json"   // what the host is to start; read and removed by it
	ConnectionFile = "kernel.json"   // the kernel's connection file
	SpoolFolder    = "spool"
	LogFile        = "host.log"
)

// EnvListenFD names the environment variable by which a host learns the number
// of an inherited descriptor that already listens on its socket.
const EnvListenFD = "RUNT_HOST_LISTEN_FD"

// EnvHostDir is set for every kernel to the folder of its host, so that what the kernel left behind can be told from other processes.
const EnvHostDir = "RUNT_KERNEL_HOST_DIR"

// Launch is the content of LaunchFile.
type Launch struct {
	Spec        LaunchSpec    `json:"spec"`
	RoomID      string        `json:"room_id"`
	OrphanAfter time.Duration `json:"orphan_after"`
}

// Manifest tells the next daemon about a host: what it serves, where, and which processes it is.
type Manifest struct {
	Version     int       `json:"version"` // of the protocol on the socket
	RoomID      string    `json:"room_id"`
	Socket      string    `json:"socket"`
	PID         int       `json:"pid"`
	Start       string    `json:"start"`                // of PID, so that a number used again is not mistaken for it
	KernelPID   int       `json:"kernel_pid,omitempty"` // also its process group; 0 until it is started
	KernelStart string    `json:"kernel_start,omitempty"`
	KernelName  string    `json:"kernel_name"`
	DisplayName string    `json:"display_name,omitempty"`
	Language    string    `json:"language,omitempty"`
	EnvSource   string    `json:"env_source,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	Dir         string    `json:"dir"`
}

// WriteManifest puts the manifest into its folder, whole or not at all.
func WriteManifest(m Manifest) error {
	return writeJSON(filepath.Join(m.Dir, ManifestFile), m)
}

// ReadManifest reads the manifest in a host's folder.
func ReadManifest(dir string) (Manifest, error) {
	var m Manifest
	err := readJSON(filepath.Join(dir, ManifestFile), &m)
	return m, err
}

// WriteLaunch tells the host of a folder what to start.
func WriteLaunch(dir string, l Launch) error { return writeJSON(filepath.Join(dir, LaunchFile), l) }

// TakeLaunch reads what the host of a folder is to start, and removes it because it holds an environment.
func TakeLaunch(dir string) (Launch, error) {
	var l Launch
	path := filepath.Join(dir, LaunchFile)
	if err := readJSON(path, &l); err != nil {
		return l, err
	}
	return l, os.Remove(path)
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, b, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return os.Rename(temp, path)
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
