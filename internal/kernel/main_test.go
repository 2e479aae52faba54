package kernel

import (
	"context"
	"fmt"
	"os"
	"testing"
)

const envHostProcess = "RUNT_TEST_KERNEL_HOST"

// TestMain makes this binary a kernel host when a test starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(envHostProcess) != "" {
		if err := RunHost(context.Background(), os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
