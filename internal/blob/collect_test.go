package blob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCollectKeepsWhatIsReferredToOrYoung(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := Open(t.TempDir(), Options{Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	referred, old, renewed := put(t, s, "referred", ""), put(t, s, "old", ""), put(t, s, "renewed", "")
	clock = clock.Add(48 * time.Hour)
	put(t, s, "renewed", "")
	young := put(t, s, "young", "")
	if err := os.WriteFile(s.path(Hash([]byte("no bytes")))[:len(s.Root())+1]+"stranger", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := s.Collect(t.Context(), func(h string) bool { return h == referred.Hash }, 24*time.Hour)
	if err != nil || got != (Collected{1, 3}) {
		t.Errorf("collected %+v, %v", got, err)
	}
	for _, ref := range []Ref{referred, renewed, young} {
		if _, _, err := s.Get(ref.Hash); err != nil {
			t.Errorf("%+v: %v", ref, err)
		}
	}
	if _, err := s.Stat(old.Hash); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old one: %v", err)
	}
	if n := names(t, s); len(n) != 7 {
		t.Errorf("files %v", n)
	}
}

func TestCollectStopsWithItsContext(t *testing.T) {
	s := open(t)
	put(t, s, "x", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Collect(ctx, func(string) bool { return false }, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCollectNeverTakesWhatWasJustPut puts old blobs again while a collector
// runs that would remove them all.
func TestCollectNeverTakesWhatWasJustPut(t *testing.T) {
	var clock atomic.Int64
	s, err := Open(t.TempDir(), Options{Now: func() time.Time { return time.Unix(clock.Load(), 0) }})
	if err != nil {
		t.Fatal(err)
	}
	const blobs = 20
	for i := range blobs {
		put(t, s, fmt.Sprint(i), "")
	}
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := s.Collect(t.Context(), func(string) bool { return false }, 100*time.Second); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 20 {
		clock.Add(1000)
		for range blobs {
			ref := put(t, s, fmt.Sprint(rand.IntN(blobs)), "")
			if _, _, err := s.Get(ref.Hash); err != nil {
				t.Errorf("just put and gone: %v", err)
			}
		}
	}
	close(stop)
	all.Wait()
}
