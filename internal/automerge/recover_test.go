package automerge

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// crash makes d's machine trap, as a fault in the crate would.
func crash(t testing.TB, d *Doc) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.call(callCrash, 0, nil); !errors.Is(err, ErrTrap) {
		t.Fatalf("error %v, want a trap", err)
	}
}

// privateEngine returns an engine whose machines no other test shares.
func privateEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	o.CacheDir = cacheDir
	e := Open(o)
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

func shardOf(t testing.TB, e *Engine) *Shard {
	t.Helper()
	s, err := e.NewShard()
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestTrapRebuildsEveryDocumentOfTheMachine(t *testing.T) {
	e := privateEngine(t, Options{})
	var ds []*Doc
	for i := range 4 {
		d, err := shardOf(t, e).New(fmt.Sprint("actor", i))
		must(t, err)
		apply(t, d, func(b *Batch) { b.Put(b.Root(), "text", Text("hello")) })
		if i%2 == 0 {
			_, err := d.Save()
			must(t, err)
		}
		apply(t, d, func(b *Batch) { b.Splice(b.At("text"), 5, 0, " world") })
		ds = append(ds, d)
	}
	if n := e.Stats().VMs; n != 1 {
		t.Fatalf("%d machines, want one", n)
	}
	crash(t, ds[0])
	for i, d := range ds {
		up := apply(t, d, func(b *Batch) { b.Put(b.Root(), "n", i) })
		if len(up.Hashes) != 1 || len(up.Before) != 1 {
			t.Errorf("update %+v", up)
		}
		if v, _ := d.Get("text"); v != Text("hello world") {
			t.Errorf("text %q", v)
		}
		checkMirror(t, d)
	}
	if ds[0].vm == ds[1].vm || ds[1].vm != ds[2].vm {
		t.Error("the shard that trapped is not alone, or the others are apart")
	}
}

func TestTrapStartsThePeersSyncAnew(t *testing.T) {
	for _, live := range []bool{true, false} {
		ds := seeded(t, 2)
		l := newLink(ds[0], ds[1])
		l.a.pure = !live
		settle(t, l)
		crash(t, ds[0])
		apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", 1) })
		apply(t, ds[1], func(b *Batch) { b.Put(b.Root(), "y", 2) })
		settle(t, l)
		sameState(t, ds...)
	}
}

func TestTrapDuringUseByManyGoroutines(t *testing.T) {
	e := privateEngine(t, Options{})
	var wg sync.WaitGroup
	var docs []*Doc
	for i := range 6 {
		d, err := shardOf(t, e).New(fmt.Sprint("actor", i))
		must(t, err)
		docs = append(docs, d)
	}
	made := make([]int, len(docs))
	for i, d := range docs {
		wg.Go(func() {
			for n := range 40 {
				if i == 0 && n%10 == 5 {
					d.mu.Lock()
					_ = d.call(callCrash, 0, nil)
					d.mu.Unlock()
				}
				b := NewBatch()
				b.Put(b.Root(), fmt.Sprint("k", n), n)
				_, err := d.Apply(b)
				if err == nil {
					made[i]++
				} else if !errors.Is(err, ErrTrap) {
					t.Errorf("apply: %v", err)
				}
			}
		})
	}
	wg.Wait()
	for i, d := range docs {
		v, _ := d.Get()
		if n := len(v.(map[string]any)); n != made[i] || n == 0 {
			t.Errorf("document %d has %d keys, want %d", i, n, made[i])
		}
		checkMirror(t, d)
	}
}

func TestOutOfMemoryIsATrap(t *testing.T) {
	e := privateEngine(t, Options{MemoryLimitPages: 64})
	d, err := shardOf(t, e).New("a")
	must(t, err)
	other, err := shardOf(t, e).New("b")
	must(t, err)
	apply(t, other, func(b *Batch) { b.Put(b.Root(), "x", 1) })
	b := NewBatch()
	b.Put(b.Root(), "big", make([]byte, 8<<20))
	if _, err := d.Apply(b); !errors.Is(err, ErrTrap) {
		t.Fatalf("error %v, want a trap", err)
	}
	apply(t, d, func(b *Batch) { b.Put(b.Root(), "small", 1) })
	apply(t, other, func(b *Batch) { b.Put(b.Root(), "y", 1) })
	checkMirror(t, other)
}

func TestDedicateMovesDocumentsAndKeepsLivePeers(t *testing.T) {
	ds := seeded(t, 2)
	l := newLink(ds[0], ds[1])
	settle(t, l)
	before := ds[0].vm
	must(t, ds[0].shard.Dedicate())
	must(t, ds[0].shard.Dedicate())
	if ds[0].vm == before || !ds[0].vm.dedicated {
		t.Error("document was not moved")
	}
	if !l.a.Live() {
		t.Error("live peer was reset")
	}
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "x", 1) })
	settle(t, l)
	sameState(t, ds...)
}

func TestCompactionKeepsRecoveryAndLaggingPeers(t *testing.T) {
	ds := seeded(t, 3)
	l, lag := newLink(ds[0], ds[1]), newLink(ds[0], ds[2])
	settle(t, l, lag)
	for i := range keepForPeers + 50 {
		apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "k", i) })
		settle(t, l)
	}
	if _, err := ds[0].Save(); err != nil {
		t.Fatal(err)
	}
	if n := len(ds[0].hist.log); n != keepForPeers {
		t.Errorf("%d changes kept, want %d", n, keepForPeers)
	}
	apply(t, ds[0], func(b *Batch) { b.Put(b.Root(), "after", 1) })
	crash(t, ds[0])
	settle(t, l, lag)
	sameState(t, ds...)
}

func TestLogIsCompactedByItself(t *testing.T) {
	d := newTestDoc(t, "a")
	for i := range 12 {
		apply(t, d, func(b *Batch) { b.Put(b.Root(), "k", bytes.Repeat([]byte{byte(i)}, 40<<10)) })
	}
	if d.hist.covered == 0 || d.hist.tail > compactAt+(41<<10) {
		t.Errorf("no snapshot was taken: %d bytes of changes", d.hist.tail)
	}
	crash(t, d)
	apply(t, d, func(b *Batch) { b.Put(b.Root(), "x", 1) })
	checkMirror(t, d)
}

func TestClosedThingsSaySo(t *testing.T) {
	e := Open(Options{CacheDir: cacheDir})
	s, err := e.NewShard()
	must(t, err)
	d, err := s.New("a")
	must(t, err)
	p := d.NewPeer()
	d.Close()
	if _, err := d.Apply(NewBatch()); !errors.Is(err, ErrClosed) {
		t.Errorf("closed document: %v", err)
	}
	if _, err := p.Generate(); !errors.Is(err, ErrClosed) {
		t.Errorf("peer of a closed document: %v", err)
	}
	s.Close()
	s.Close()
	if _, err := s.New("b"); !errors.Is(err, ErrClosed) {
		t.Errorf("closed shard: %v", err)
	}
	must(t, e.Close())
	must(t, e.Close())
	if _, err := e.NewShard(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed engine: %v", err)
	}
}

func TestActorsAreUniqueOverMachines(t *testing.T) {
	e := privateEngine(t, Options{ShardsPerVM: 1})
	seen := map[string]bool{}
	const n = 12
	for range n {
		d, err := shardOf(t, e).New("")
		must(t, err)
		up := apply(t, d, func(b *Batch) { b.Put(b.Root(), "x", 1) })
		cs, _, err := parseChanges(up.Changes)
		must(t, err)
		seen[cs[0].actor] = true
	}
	if len(seen) != n {
		t.Errorf("%d different actors on %d machines", len(seen), n)
	}
	if got := e.Stats().VMs; got != n {
		t.Errorf("%d machines, want %d", got, n)
	}
}

func TestMachinesAreSharedAndGivenBack(t *testing.T) {
	e := privateEngine(t, Options{ShardsPerVM: 3})
	var ss []*Shard
	for range 7 {
		s, err := e.NewShard()
		must(t, err)
		ss = append(ss, s)
	}
	if got := e.Stats(); got.VMs != 3 || got.Shards != 7 {
		t.Errorf("%+v, want 3 machines with 7 shards", got)
	}
	for _, s := range ss {
		s.Close()
	}
	if got := e.Stats(); got.VMs != 0 {
		t.Errorf("%+v after closing all", got)
	}
}
