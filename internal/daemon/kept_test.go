package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/testenv"
)

func TestKeptNotebooksAreListedAndDeleted(t *testing.T) {
	b := newBed(t, shortLived(20*time.Millisecond))
	h := b.create(client.CreateOptions{})
	b.setSource(h, b.add(h, "x"), "\n# The title of it\nx = 1")
	if kept, err := client.ListKept(b.ctx(), b.opt.Socket); err != nil || len(kept) != 0 {
		t.Errorf("while it is open %+v, %v", kept, err)
	}
	if err := client.DeleteKept(b.ctx(), b.opt.Socket, h.ID()); domain.CodeOf(err) != domain.CodeInvalidArgument {
		t.Errorf("an open notebook is deleted: %v", err)
	}
	closeHandle(t, h)
	b.awaitRooms(0)
	bad := domain.NotebookID(b.d.deps.IDs.UUID())
	writeFileAt(t, filepath.Join(b.d.roomsDir(), string(bad), "journal"), "this is no journal")
	kept, err := client.ListKept(b.ctx(), b.opt.Socket)
	if err != nil || len(kept) != 2 {
		t.Fatalf("%+v, %v", kept, err)
	}
	for _, k := range kept {
		if k.NotebookID == string(h.ID()) && (k.Title != "# The title of it" || k.Cells != 2 || k.Bytes == 0 || k.Issue != "") {
			t.Errorf("%+v", k)
		}
		if k.NotebookID == string(bad) && k.Issue == "" {
			t.Errorf("%+v", k)
		}
	}
	for _, id := range []domain.NotebookID{bad, h.ID()} {
		if err := client.DeleteKept(b.ctx(), b.opt.Socket, id); err != nil {
			t.Error(err)
		}
		if err := client.DeleteKept(b.ctx(), b.opt.Socket, id); domain.CodeOf(err) != domain.CodeNotebookUnavailable {
			t.Errorf("deleted again: %v", err)
		}
	}
	if _, err := client.Join(b.ctx(), b.options("x"), h.ID()); domain.CodeOf(err) != domain.CodeNotebookUnavailable {
		t.Errorf("a deleted notebook is joined: %v", err)
	}
}

func writeFileAt(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	writeNotebook(t, path, content)
}

// blobs returns the hashes in the store.
func (b *bed) blobs() map[string]bool {
	found := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(b.opt.StateDir, "blobs", "??", "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, p := range paths {
		if !strings.HasSuffix(p, ".meta") {
			found[filepath.Base(filepath.Dir(p))+filepath.Base(p)] = true
		}
	}
	return found
}

func TestBlobsThatNothingRefersToAreCollected(t *testing.T) {
	b := newBed(t, shortLived(20*time.Millisecond))
	long := func(name string) string { return fmt.Sprintf("print(%q * 5000)", name) }
	open, closed := b.create(client.CreateOptions{}), b.create(client.CreateOptions{})
	shown := b.add(open, long("shown "))
	b.run(open, shown)
	b.run(closed, b.add(closed, long("kept ")))
	b.run(open, b.add(open, long("first ")))
	stray, err := b.d.deps.Blobs.Put([]byte(strings.Repeat("nobody", 3000)), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	closeHandle(t, closed)
	b.awaitRooms(1)
	before := b.blobs()
	if err := b.d.collectBlobs(b.ctx(), time.Hour); err != nil || len(b.blobs()) != len(before) {
		t.Errorf("young blobs are gone: %d of %d, %v", len(b.blobs()), len(before), err)
	}
	if err := b.d.collectBlobs(b.ctx(), 0); err != nil {
		t.Fatal(err)
	}
	after := b.blobs()
	if after[stray.Hash] || len(after) != len(before)-1 {
		t.Errorf("%d blobs of %d are left", len(after), len(before))
	}
	again := b.join(closed.ID())
	for _, h := range []*client.Handle{open, again} {
		for _, x := range h.Runtime().Executions() {
			for _, o := range x.Outputs {
				ref := o.Manifest["text"].(map[string]any)
				if hash, _ := ref["blob"].(string); !after[hash] {
					t.Errorf("the blob of %v is gone", x.CellID)
				}
			}
		}
	}
	// A journal that cannot be read may refer to anything.
	writeFileAt(t, filepath.Join(b.d.roomsDir(), b.d.deps.IDs.UUID(), "journal"), "this is no journal")
	if err := b.d.collectBlobs(b.ctx(), 0); err == nil {
		t.Error("blobs are collected though a journal cannot be read")
	}
}

func TestPeersThatSayNothingAreDropped(t *testing.T) {
	b := newBed(t, func(o *Options) { o.PeerIdle = 400 * time.Millisecond })
	h := b.create(client.CreateOptions{})
	begun := time.Now()
	for time.Since(begun) < 600*time.Millisecond { // it says something all the time
		if err := h.Confirm(b.ctx()); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Receive(t, b.ctx(), "the end of the connection", errOnly(h.Done()))
	testenv.Await(t, b.ctx(), "the peer's leaving", func() bool { return b.d.rooms.list()[0].Status.Peers == 0 })
}

func TestJournalsAreRewrittenWhenTheyGrow(t *testing.T) {
	const limit = 64 << 10
	b := newBed(t, func(o *Options) { o.Config.KeepAlive, o.CompactAt = 20*time.Millisecond, limit })
	h := b.create(client.CreateOptions{})
	cell := b.add(h, "")
	path := filepath.Join(b.d.roomsDir(), string(h.ID()), "journal")
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	rewritten, before, want := 0, size(), ""
	for n := 0; rewritten < 3 && n < 5000; n++ {
		if _, err := h.Edit(b.ctx(), func(tx *notebook.Tx) error { return tx.SpliceSource(cell, n, 0, "x") }); err != nil {
			t.Fatal(err)
		}
		want += "x"
		if n%50 == 0 {
			if err := h.Confirm(b.ctx()); err != nil {
				t.Fatal(err)
			}
			if now := size(); now < before {
				rewritten++
				before = 0
			}
			before = max(before, size())
		}
		if before > 4*limit {
			t.Fatalf("the journal has %d bytes", before)
		}
	}
	if rewritten < 3 {
		t.Errorf("rewritten %d times", rewritten)
	}
	if err := h.Confirm(b.ctx()); err != nil {
		t.Fatal(err)
	}
	id := h.ID()
	b.d.Close()
	b.start()
	if c, _ := b.join(id).Notebook().Cell(cell); c.Source != want {
		t.Errorf("%d characters after a restart, want %d", len(c.Source), len(want))
	}
}
