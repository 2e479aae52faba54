package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/failpoint"
	"runt/internal/testenv"
	"runt/internal/wire"
)

// blocked makes sure that a save was refused with words a person understands,
// and that the notebook is still to be saved.
func (b *bed) blocked(h *client.Handle, want string) {
	b.t.Helper()
	resp := b.save(h, wire.Request{})
	var body wire.SaveBlocked
	if err := resp.Decode(&body); err != nil || resp.Result != wire.ResultSaveBlocked {
		b.t.Fatalf("save: %s %s, %v", resp.Result, resp.Raw, err)
	}
	if !strings.Contains(body.Reason.Message, want) || body.Hint == "" {
		b.t.Errorf("the save says %+v, want %q and a hint", body, want)
	}
	// While an automatic save is under way the notebook does not count as dirty.
	testenv.Await(b.t, b.ctx(), "a notebook that does not count as saved", func() bool {
		for _, i := range b.d.rooms.list() {
			if i.ID == h.ID() {
				return i.Status.Dirty
			}
		}
		return false
	})
}

func (b *bed) saved(h *client.Handle, path, want string) {
	b.t.Helper()
	if resp := b.save(h, wire.Request{}); resp.Result != wire.ResultNotebookSaved {
		b.t.Fatalf("save once cured: %s %s", resp.Result, resp.Raw)
	}
	if got := read(b.t, path); !strings.Contains(got, want) || !json.Valid([]byte(got)) {
		b.t.Errorf("the file has no %q:\n%s", want, got)
	}
}

// onlyFile makes sure that a save that failed left nothing beside the file.
func onlyFile(t *testing.T, dir string, want ...string) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range names {
		got = append(got, n.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the folder has %v, want %v", got, want)
	}
}

// smallDisk mounts a disk that is soon full; where that is not allowed, writing fails as on a full one.
func smallDisk(t *testing.T) (dir string, fill, clear func()) {
	dir = t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		return dir, func() { arm(t, "roomactor/disk-full", "error(no space)") }, func() { failpoint.Clear("roomactor/disk-full") }
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	fill = func() {
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // it is full
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return dir, fill, func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

func TestD04_DiskFull(t *testing.T) {
	dir, fill, empty := smallDisk(t)
	b := newBed(t, nil)
	path := filepath.Join(dir, "n.ipynb")
	writeNotebook(t, path, twoCells)
	h := b.open(path)
	fill()
	b.setSource(h, "first", "x = 'while full'\n"+strings.Repeat("# much\n", 2000))
	b.blocked(h, "no space left")
	if got := read(t, path); got != twoCells {
		t.Errorf("the old file is damaged:\n%s", got)
	}
	if temp, _ := filepath.Glob(filepath.Join(dir, ".runt*")); len(temp) > 0 {
		t.Errorf("%v is left", temp)
	}
	empty()
	b.saved(h, path, "while full")
	onlyFile(t, dir, "n.ipynb")
}

func TestD04_ReadOnlyFile(t *testing.T) {
	b := newBed(t, nil)
	dir := t.TempDir()
	path := filepath.Join(dir, "n.ipynb")
	writeNotebook(t, path, twoCells)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	h := b.open(path)
	b.setSource(h, "first", "print('runs')")
	if done := b.run(h, "first"); text(done) != "runs\n" {
		t.Errorf("ran %q", text(done))
	}
	b.blocked(h, "read-only")
	b.blocked(h, "permission denied")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o444 || read(t, path) != twoCells {
		t.Errorf("the file was changed: %v, %v", info.Mode(), err)
	}
	onlyFile(t, dir, "n.ipynb")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	b.saved(h, path, "runs")
}

func TestD04_FolderGone(t *testing.T) {
	b := newBed(t, nil)
	dir := filepath.Join(t.TempDir(), "there")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "n.ipynb")
	writeNotebook(t, path, twoCells)
	h := b.open(path)
	b.setSource(h, "first", "x = 'homeless'")
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	b.blocked(h, dir)
	if err := os.Rename(dir+"-moved", dir); err != nil {
		t.Fatal(err)
	}
	b.saved(h, path, "homeless")
	// A file that is gone while its folder is there is written anew.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	b.setSource(h, "first", "x = 'anew'")
	b.saved(h, path, "anew")
}

// What the journal cannot keep is not acknowledged, and the room does not close over it.
func TestD04_StateFolderFull(t *testing.T) {
	b := newBed(t, shortLived(20*time.Millisecond))
	h := b.create(client.CreateOptions{})
	b.setSource(h, b.add(h, "x = 1"), "x = 2")
	arm(t, "roomactor/journal", "error(no space left)")
	cell := b.add(h, "y = 'at the time'")
	err := h.Confirm(b.ctx())
	if domain.CodeOf(err) != domain.CodeSaveFailed || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("confirm says %v", err)
	}
	_, err = h.Execute(b.ctx(), cell, "", client.ExecuteOptions{})
	if domain.CodeOf(err) != domain.CodeSaveFailed { // the kernel starts, the queue is not on disk
		t.Errorf("execute says %v", err)
	}
	id := h.ID()
	testenv.Await(t, b.ctx(), "the cell's end", func() bool { return b.d.rooms.list()[0].Status.Running == "" })
	closeHandle(t, h)
	quiet := time.NewTimer(300 * time.Millisecond)
	<-quiet.C
	if b.rooms() != 1 {
		t.Fatal("the room closed with changes that are nowhere")
	}
	failpoint.Clear("roomactor/journal")
	h = b.join(id)
	b.setSource(h, cell, "y = 'afterwards'") // confirmed
	closeHandle(t, h)
	b.awaitRooms(0)
	h = b.join(id)
	if c, _ := h.Notebook().Cell(cell); c.Source != "y = 'afterwards'" {
		t.Errorf("%q", c.Source)
	}
}

func TestD05_SymlinkModeAndOwnerStay(t *testing.T) {
	b := newBed(t, nil)
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real.ipynb"), filepath.Join(dir, "link.ipynb")
	writeNotebook(t, target, twoCells)
	if err := os.Symlink("real.ipynb", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 { // only root may give files away
		owner = 12345
		if err := os.Chown(target, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	h := b.open(link)
	b.setSource(h, "first", "x = 'through the link'")
	b.saved(h, target, "through the link")
	if at, err := os.Readlink(link); err != nil || at != "real.ipynb" {
		t.Errorf("the link is %q, %v", at, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != 0o640 || int(st.Uid) != owner {
		t.Errorf("mode %v, owner %d, want 0640 and %d", info.Mode(), st.Uid, owner)
	}
	onlyFile(t, dir, "link.ipynb", "real.ipynb")
}
