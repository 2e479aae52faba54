package host

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"runt/internal/domain"
	"runt/internal/kernel/link"
)

// connection is the content of a kernel's connection file.
type connection struct {
	Shell     int    `json:"shell_port"`
	IOPub     int    `json:"iopub_port"`
	Stdin     int    `json:"stdin_port"`
	Control   int    `json:"control_port"`
	Heartbeat int    `json:"hb_port"`
	IP        string `json:"ip"`
	Key       string `json:"key"`
	Transport string `json:"transport"`
	Scheme    string `json:"signature_scheme"`
	Kernel    string `json:"kernel_name"`
}

const (
	transportIPC = "ipc"
	transportTCP = "tcp"
)

// newConnection chooses endpoints and a key. The sockets of ipc lie in dir; for
// tcp five free ports are taken, which others may take before the kernel does.
func newConnection(dir, transport, kernel string) (connection, error) {
	c := connection{Shell: 1, IOPub: 2, Stdin: 3, Control: 4, Heartbeat: 5, Transport: transport,
		IP: filepath.Join(dir, "k"), Scheme: "hmac-sha256", Key: rand.Text(), Kernel: kernel}
	if transport == transportIPC {
		return c, link.CheckSocketPath(c.IP + "-5")
	}
	if transport != transportTCP {
		return c, domain.Errorf(domain.CodeInvalidArgument, "transport %q of a kernel is neither ipc nor tcp.", transport)
	}
	c.IP = "127.0.0.1"
	for _, port := range []*int{&c.Shell, &c.IOPub, &c.Stdin, &c.Control, &c.Heartbeat} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return c, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = l.Close() }() // all five at the end, so that they differ
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return c, nil
}

func (c connection) endpoint(port int) string {
	if c.Transport == transportIPC {
		return fmt.Sprintf("ipc://%s-%d", c.IP, port)
	}
	return fmt.Sprintf("tcp://%s:%d", c.IP, port)
}

// write puts the connection file where only this user can read it.
func (c connection) write(path string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode connection file: %w", err)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove connection file: %w", err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("write connection file: %w", err)
	}
	return nil
}

// removeSockets removes what a kernel on ipc left in dir.
func (c connection) removeSockets() {
	if c.Transport != transportIPC {
		return
	}
	for port := c.Shell; port <= c.Heartbeat; port++ {
		_ = os.Remove(fmt.Sprintf("%s-%d", c.IP, port)) // most are gone already
	}
}
