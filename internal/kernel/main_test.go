package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"runt/internal/kernel/proc"
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
	if err := errors.Join(endShared(), leaked()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaked is an error when goroutines of this package outlive their owners.
func leaked() error {
	var left []byte
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := proc.Await(ctx, func() bool {
		left = nil
		buf := make([]byte, 1<<20)
		for _, stack := range bytes.Split(buf[:runtime.Stack(buf, true)], []byte("\n\n")) {
			if bytes.Contains(stack, []byte("runt/internal/kernel")) && !bytes.Contains(stack, []byte("TestMain")) {
				left = append(append(left, stack...), '\n')
			}
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("goroutines left: %w\n%s", err, left)
	}
	return nil
}
