package paths

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestPlacesOfSocketsDoNotMix(t *testing.T) {
	home := t.TempDir()
	for _, v := range []string{EnvSocket, EnvState, "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(v, "")
	}
	t.Setenv("HOME", home)
	standard := For("")
	other := For(filepath.Join(home, "other.sock"))
	if standard.State == other.State || standard.Socket == other.Socket {
		t.Errorf("two sockets share a place: %+v, %+v", standard, other)
	}
	if standard.Shared != other.Shared {
		t.Errorf("environments are not shared: %q, %q", standard.Shared, other.Shared)
	}
	for _, p := range []Places{standard, other} {
		if strings.Contains(p.State, ".cache") || strings.Contains(p.Socket, filepath.Join(".cache", "runt")) {
			t.Errorf("places of nteract are used: %+v", p)
		}
	}
	t.Setenv(EnvSocket, other.Socket)
	if got := For(""); got != other {
		t.Errorf("socket from the environment: got %+v, want %+v", got, other)
	}
	t.Setenv(EnvSocket, "")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1")
	if got, want := For("").Socket, "/run/user/1/runt/runtimed.sock"; got != want {
		t.Errorf("socket %q, want %q", got, want)
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("HOME", filepath.Join(home, strings.Repeat("deep/", 30)))
	if got := For("").Socket; len(got) > maxSocketPath {
		t.Errorf("socket path %q has %d bytes", got, len(got))
	}
}
