package kernel

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// sharedKernel is one Python kernel that many tests use, one after the other.
var sharedKernel *client

// shared returns a kernel that the test must leave as it found it.
func shared(t testing.TB) *client {
	t.Helper()
	if sharedKernel == nil {
		dir, err := os.MkdirTemp("", "rk")
		if err != nil {
			t.Fatal(err)
		}
		h, err := StartHost(t.Context(), HostConfig{Dir: dir, Command: command(t), RoomID: "shared", OrphanAfter: time.Minute}, pythonSpec(t))
		if err != nil {
			t.Fatal(err)
		}
		sharedKernel = watch(h)
	}
	sharedKernel.awaitKind(t, EventReady, "")
	return sharedKernel
}

// endShared ends the shared kernel after the last test.
func endShared() error {
	if sharedKernel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := sharedKernel.Shutdown(ctx)
	return errors.Join(err, sharedKernel.Close(), os.RemoveAll(sharedKernel.Dir()))
}
