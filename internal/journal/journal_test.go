package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"runt/internal/testenv"
)

func TestAppendedRecordsAreThereAfterReopening(t *testing.T) {
	path, b := filled(t, 100)
	j, r := open(t, path, Options{})
	want(t, r.Records, recs(0, 100))
	if r.Torn || r.Corrupt != "" {
		t.Errorf("recovery %+v of a whole file", r)
	}
	if j.Size() != int64(len(b)) {
		t.Errorf("size %d, want %d", j.Size(), len(b))
	}
	if err := wait(t, j, j.Append(rec(100))); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, r = open(t, path, Options{})
	want(t, r.Records, recs(0, 101))
}

func TestRecordsOfEverySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path, Options{})
	var all []Record
	for _, size := range []int{0, 1, 4096, 1 << 20, 20 << 20} {
		all = append(all, Record{Type: 255, Data: bytes.Repeat([]byte(recordMagic), size/4+1)[:size]})
	}
	j.Append(all...)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, r := open(t, path, Options{})
	want(t, r.Records, all)
}

// TestGroupCommit holds the disk while records come in from many goroutines:
// they must go out with one more write and one more sync.
func TestGroupCommit(t *testing.T) {
	var syncs atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var told []uint64
	o := Options{
		OnDurable: func(pos uint64) { told = append(told, pos) },
		Fail: func(step string) error {
			if step == StepSync {
				syncs.Add(1)
				once.Do(func() { close(entered); <-release })
			}
			return nil
		},
	}
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path, o)
	j.Append(rec(0))
	<-entered
	var g sync.WaitGroup
	for range 50 {
		g.Go(func() { j.Append(rec(1)) })
	}
	g.Wait()
	if j.Durable() != 0 {
		t.Error("a position is durable before its sync")
	}
	close(release)
	if err := wait(t, j, 51); err != nil {
		t.Fatal(err)
	}
	if n := syncs.Load(); n != 2 {
		t.Errorf("%d syncs for 51 records, want 2", n)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, []uint64{1, 51}) {
		t.Errorf("OnDurable told %v, want [1 51]", told)
	}
}

func TestWaitHonoursItsContext(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	j, _ := open(t, filepath.Join(t.TempDir(), "a.journal"), Options{Fail: func(step string) error {
		if step == StepWrite {
			close(entered)
			<-release
		}
		return nil
	}})
	pos := j.Append(rec(0))
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Wait(ctx, pos); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
	close(release)
	if err := wait(t, j, pos); err != nil {
		t.Error(err)
	}
}

// TestD04_DiskFull refuses every step in turn: nothing is acknowledged, the
// error surfaces, and the same records are written once there is room.
func TestD04_DiskFull(t *testing.T) {
	for _, at := range []string{StepWrite, StepSync, StepSyncDir} {
		t.Run(at, func(t *testing.T) {
			var full atomic.Bool
			var surfaced atomic.Int32
			path := filepath.Join(t.TempDir(), "a.journal")
			j, _ := open(t, path, Options{
				OnError: func(err error) { surfaced.Add(1) },
				Fail: func(step string) error {
					if full.Load() && step == at {
						return syscall.ENOSPC
					}
					return nil
				},
			})
			if at != StepSyncDir {
				if err := wait(t, j, j.Append(rec(0))); err != nil {
					t.Fatal(err)
				}
			} else {
				j.Append(rec(0))
			}
			full.Store(true)
			pos := j.Append(rec(1))
			err := wait(t, j, pos)
			if at == StepSyncDir && err == nil {
				full.Store(false) // the first write was over before the disk was full
			} else {
				if !errors.Is(err, syscall.ENOSPC) || !errors.Is(j.Err(), syscall.ENOSPC) || j.Durable() >= pos {
					t.Fatalf("error %v, state %v, durable %d", err, j.Err(), j.Durable())
				}
				testenv.Await(t, t.Context(), "the error to be told", func() bool { return surfaced.Load() > 0 })
			}
			pos = j.Append(rec(2))
			if err := wait(t, j, pos); full.Load() && !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("error %v, want no space", err)
			}
			full.Store(false)
			err = wait(t, j, pos)
			if errors.Is(err, syscall.ENOSPC) { // of an attempt that began before there was room
				err = wait(t, j, pos)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			_, r := open(t, path, Options{})
			want(t, r.Records, recs(0, 3))
		})
	}
}

// TestD04_RealFullDevice uses the device that is always full.
func TestD04_RealFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("no /dev/full here")
		return
	}
	path := filepath.Join(t.TempDir(), "a.journal")
	j, _ := open(t, path, Options{})
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	own := j.file
	j.file = full
	if err := wait(t, j, j.Append(rec(0))); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want no space", err)
	}
	if err := j.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close says %v, want no space", err)
	}
	_ = own.Close()
}

func TestRewriteReplacesWhatWasBefore(t *testing.T) {
	path, before := filled(t, 500)
	j, _ := open(t, path, Options{})
	j.Append(rec(500))
	j.Rewrite([]Record{rec(9999)})
	pos := j.Append(rec(501))
	if err := wait(t, j, pos); err != nil {
		t.Fatal(err)
	}
	if j.Size() >= int64(len(before)) {
		t.Errorf("size %d after a rewrite, %d before", j.Size(), len(before))
	}
	if got := int64(len(read(t, path))); got != j.Size() {
		t.Errorf("size %d, the file has %d", j.Size(), got)
	}
	j.Append(rec(502))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, r := open(t, path, Options{})
	want(t, r.Records, []Record{rec(9999), rec(501), rec(502)})
}

// TestRewriteThatFailsChangesNothing makes each of its steps fail: the old file goes on.
func TestRewriteThatFailsChangesNothing(t *testing.T) {
	for _, at := range []string{StepCreate, StepRename} {
		t.Run(at, func(t *testing.T) {
			path, _ := filled(t, 5)
			var surfaced error
			j, _ := open(t, path, Options{
				OnError: func(err error) { surfaced = err },
				Fail: func(step string) error {
					if step == at {
						return syscall.ENOSPC
					}
					return nil
				},
			})
			j.Append(rec(5))
			j.Rewrite([]Record{rec(9999)})
			if err := wait(t, j, j.Append(rec(6))); err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(surfaced, syscall.ENOSPC) {
				t.Errorf("surfaced %v, want no space", surfaced)
			}
			_, r := open(t, path, Options{})
			want(t, r.Records, recs(0, 7))
			if _, err := os.Stat(path + ".new"); err == nil {
				t.Error("an unfinished file is left")
			}
		})
	}
}

// TestRewriteIsNotAcknowledgedBeforeItsFolder fails the sync of the folder after the rename.
func TestRewriteIsNotAcknowledgedBeforeItsFolder(t *testing.T) {
	path, _ := filled(t, 5)
	var full atomic.Bool
	full.Store(true)
	j, _ := open(t, path, Options{Fail: func(step string) error {
		if step == StepSyncDir && full.Load() {
			return syscall.EIO
		}
		return nil
	}})
	pos := j.Rewrite([]Record{rec(9999)})
	if err := wait(t, j, pos); !errors.Is(err, syscall.EIO) {
		t.Errorf("error %v, want EIO", err)
	}
	full.Store(false)
	if err := wait(t, j, pos); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, r := open(t, path, Options{})
	want(t, r.Records, []Record{rec(9999)})
}

func TestClosedJournal(t *testing.T) {
	path, _ := filled(t, 1)
	j, _ := open(t, path, Options{})
	first := j.Append(rec(1))
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := wait(t, j, first); err != nil {
		t.Errorf("what was appended before Close: %v", err)
	}
	if err := wait(t, j, j.Append(rec(2))); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}

// TestWaitersOfOneAttempt lets many wait for a write that fails: each is told.
func TestWaitersOfOneAttempt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.journal")
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		j, _, err := Open(path, Options{Fail: func(step string) error {
			if step == StepWrite {
				<-release
				return syscall.EIO
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		pos := j.Append(rec(0))
		var told atomic.Int32
		for range 20 {
			go func() {
				if errors.Is(j.Wait(t.Context(), pos), syscall.EIO) {
					told.Add(1)
				}
			}()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		if told.Load() != 20 {
			t.Errorf("%d of 20 were told", told.Load())
		}
		if err := j.Close(); !errors.Is(err, syscall.EIO) {
			t.Errorf("close says %v, want EIO", err)
		}
	})
}
