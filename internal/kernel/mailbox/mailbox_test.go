package mailbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

func TestOrderAndClose(t *testing.T) {
	b := New[int]()
	for i := range 5 {
		b.Put(i)
	}
	b.Close()
	if b.Put(9) {
		t.Error("a closed box took something")
	}
	got, ok := b.Take(t.Context())
	if !ok || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("got %v, %v", got, ok)
	}
	for range 2 {
		if got, ok := b.Take(t.Context()); ok || got != nil {
			t.Errorf("after the end: %v, %v", got, ok)
		}
	}
}

func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New[string]()
		got := make(chan []string, 1)
		go func() {
			v, _ := b.Take(t.Context())
			got <- v
		}()
		synctest.Wait()
		select {
		case v := <-got:
			t.Fatalf("took %v from an empty box", v)
		default:
		}
		b.Put("a")
		if v := <-got; len(v) != 1 || v[0] != "a" {
			t.Errorf("got %v", v)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if v, ok := b.Take(ctx); ok || v != nil {
			t.Errorf("without its context: %v, %v", v, ok)
		}
	})
}

func TestReadyAndGrab(t *testing.T) {
	b := New[int]()
	b.Put(1)
	b.Put(2)
	<-b.Ready()
	if v, open := b.Grab(); len(v) != 2 || !open {
		t.Errorf("got %v, %v", v, open)
	}
	if v, open := b.Grab(); v != nil || !open {
		t.Errorf("then %v, %v", v, open)
	}
	b.Close()
	<-b.Ready()
	if _, open := b.Grab(); open {
		t.Error("open after close")
	}
	<-b.Ready() // stays ready, so that nobody waits for a closed box
}

func TestManyPutters(t *testing.T) {
	b := New[int]()
	const each, putters = 1000, 8
	for p := range putters {
		go func() {
			for i := range each {
				b.Put(p*each + i)
			}
		}()
	}
	last := make([]int, putters)
	for n := 0; n < each*putters; {
		items, ok := b.Take(t.Context())
		if !ok {
			t.Fatal("ended early")
		}
		for _, v := range items {
			if p := v / each; v%each < last[p] {
				t.Fatalf("order of putter %d: %d after %d", p, v%each, last[p])
			} else {
				last[p] = v % each
			}
		}
		n += len(items)
	}
}
