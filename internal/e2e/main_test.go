// Package e2e runs the three programs as they are installed, with real kernels,
// and looks at them from outside: as an MCP client, as a peer, as a person with
// kill. A bed is a folder with a home, a socket and a daemon of its own; most
// tests share one and make notebooks of their own in it. When a bed ends, its
// notebooks and its daemon do, and nothing that was started in it may be left.
package e2e

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, "the shared bed:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}
