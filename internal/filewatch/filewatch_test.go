package filewatch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"runt/internal/testenv/leak"
)

const patience = 10 * time.Second

func newWatcher(t *testing.T) *Watcher {
	t.Helper()
	leak.Check(t)
	w := New(nil)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func watch(t *testing.T, w *Watcher, path string) *Watch {
	t.Helper()
	x, err := w.Watch(path)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantChange(t *testing.T, x *Watch, what string) {
	t.Helper()
	select {
	case <-x.Changes():
	case <-time.After(patience):
		t.Fatalf("nothing was heard of: %s", what)
	}
}

// wantNone checks that nothing was heard of x, once a later change of other was.
func wantNone(t *testing.T, x, other *Watch) {
	t.Helper()
	write(t, other.path)
	wantChange(t, other, "the other file")
	select {
	case <-x.Changes():
		t.Error("a change was told that there was not")
	default:
	}
}

func drain(x *Watch) {
	select {
	case <-x.Changes():
	default:
	}
}

func TestChangesOfAFile(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	path := filepath.Join(dir, "a.ipynb")
	x, other := watch(t, w, path), watch(t, w, filepath.Join(dir, "b.ipynb"))
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"made", func() error { return os.WriteFile(path, []byte("1"), 0o600) }},
		{"written", func() error { return os.WriteFile(path, []byte("2"), 0o600) }},
		{"replaced", func() error {
			if err := os.WriteFile(path+".tmp", []byte("3"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".tmp", path)
		}},
		{"removed", func() error { return os.Remove(path) }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		wantChange(t, x, step.what)
		write(t, other.path) // so that all events of the step are behind us
		wantChange(t, other, "the other file")
		drain(x)
	}
	wantNone(t, x, other)
}

func TestModeIsNoChange(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	write(t, filepath.Join(dir, "a"))
	x, other := watch(t, w, filepath.Join(dir, "a")), watch(t, w, filepath.Join(dir, "b"))
	if err := os.Chmod(x.path, 0o400); err != nil {
		t.Fatal(err)
	}
	wantNone(t, x, other)
}

func TestTwoWatchesOfOneFile(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	a, b := watch(t, w, filepath.Join(dir, "a")), watch(t, w, filepath.Join(dir, ".", "a"))
	write(t, a.path)
	wantChange(t, a, "for the first")
	wantChange(t, b, "for the second")
	a.Close()
	a.Close()
	write(t, a.path)
	wantChange(t, b, "after the first was closed")
	select {
	case <-a.Done():
	default:
		t.Error("a closed watch is not done")
	}
}

func TestAFolderIsWatchedAgain(t *testing.T) {
	w, path := newWatcher(t), filepath.Join(t.TempDir(), "a")
	watch(t, w, path).Close()
	x := watch(t, w, path)
	write(t, path)
	wantChange(t, x, "a folder that was left and is watched again")
}

// TestMoreFoldersThanWatchers: Linux gives a user 128 watchers by default.
func TestMoreFoldersThanWatchers(t *testing.T) {
	w, dir := newWatcher(t), t.TempDir()
	var all []*Watch
	for i := range 300 {
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		all = append(all, watch(t, w, filepath.Join(folder, "a")))
	}
	write(t, all[299].path)
	wantChange(t, all[299], "the last of many")
}

func TestAFolderThatIsNotThere(t *testing.T) {
	w := newWatcher(t)
	if _, err := w.Watch(filepath.Join(t.TempDir(), "no", "file")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
}

func TestCloseEndsAll(t *testing.T) {
	w := newWatcher(t)
	x := watch(t, w, filepath.Join(t.TempDir(), "a"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-x.Done()
	x.Close()
	if _, err := w.Watch(x.path); !errors.Is(err, ErrClosed) {
		t.Errorf("got error %v, want ErrClosed", err)
	}
}
