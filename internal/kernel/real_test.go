package kernel

import (
	"context"
	"os"
	"testing"
	"time"

	"runt/internal/testenv/pyenv"
)

func TestK14_ResultsComeBeforeDone(t *testing.T) {
	t.Setenv(envHostProcess, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "rk") // t.TempDir is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	h, err := StartHost(t.Context(), HostConfig{Dir: dir, Command: []string{self}, RoomID: "r"}, LaunchSpec{KernelName: "python3", Argv: pyenv.Argv(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Execute(Execute{ID: "x", Code: "1+1"}); err != nil {
		t.Fatal(err)
	}
	seen := ""
	for e := range h.Events() {
		if e.Message != nil && e.Message.Type == "execute_result" {
			seen = string(e.Message.Content)
		}
		if e.Kind == EventDone {
			break
		}
	}
	if seen == "" {
		t.Error("no result before done")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}
