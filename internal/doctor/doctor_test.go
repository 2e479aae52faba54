package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"runt/internal/env"
	"runt/internal/paths"
	"runt/internal/testenv"
)

func options(t *testing.T) Options {
	t.Helper()
	dir := testenv.ShortDir(t)
	state := filepath.Join(dir, "state")
	for _, d := range []string{state, filepath.Join(dir, "hosts")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return Options{Places: paths.Places{Socket: filepath.Join(dir, "s"), State: state, Shared: state, Cache: filepath.Join(dir, "cache")},
		Hosts: filepath.Join(dir, "hosts"), Dir: dir, Env: env.New(env.Options{StateDir: state})}
}

// find returns the findings of a check that are not ok.
func find(findings []Finding, check string) string {
	var s strings.Builder
	for _, f := range findings {
		if f.Check == check && f.Status != OK {
			s.WriteString(string(f.Status) + ": " + f.Text + " " + f.Hint + "\n")
		}
	}
	return s.String()
}

func TestAFreshMachineIsFine(t *testing.T) {
	o := options(t)
	if got := Worst(Examine(t.Context(), o)); got == Failure {
		t.Errorf("worst finding %s: %+v", got, Examine(t.Context(), o))
	}
}

func TestWhatIsLeftOverIsFound(t *testing.T) {
	o := options(t)
	l, err := net.Listen("unix", o.Places.Socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(o.Places.State, "rooms", "some-id", "journal")
	for file, content := range map[string]string{journal: "this is no journal", filepath.Join(o.Hosts, "x", "other"): ""} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := Examine(t.Context(), o)
	for check, want := range map[string]string{"socket": "left over", "journals": "some-id", "kernel hosts": "no kernel host"} {
		if got := find(found, check); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", check, got, want)
		}
	}
	if got := Worst(found); got != Failure {
		t.Errorf("worst finding %s, want %s", got, Failure)
	}
}

func TestADaemonThatHangsIsFound(t *testing.T) {
	o := options(t)
	lock, err := os.Create(o.Places.Socket + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got := find(Examine(t.Context(), o), "daemon"); !strings.Contains(got, "does not answer") {
		t.Errorf("got %q", got)
	}
}
