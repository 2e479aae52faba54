package automerge

import (
	"encoding/binary"
	"os"
	"testing"
)

// engine is shared by the tests of this package, and cacheDir by the engines
// that some tests make for themselves: compiling takes a second.
var (
	engine   *Engine
	cacheDir string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if cacheDir, err = os.MkdirTemp("", "automerge-test-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(cacheDir)
	engine = Open(Options{CacheDir: cacheDir})
	<-engine.Ready()
	code := m.Run()
	if err := engine.Close(); err != nil && code == 0 {
		code = 1
	}
	return code
}

func newShard(t testing.TB) *Shard {
	t.Helper()
	s, err := engine.NewShard()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newTestDoc(t testing.TB, actor string) *Doc {
	t.Helper()
	d, err := newShard(t).New(actor)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// apply makes one change by the operations that f puts into a batch.
func apply(t testing.TB, d *Doc, f func(b *Batch)) Update {
	t.Helper()
	b := NewBatch()
	f(b)
	up, err := d.Apply(b)
	must(t, err)
	return up
}

// seeded returns n documents on shards of their own that share a first change.
func seeded(t testing.TB, n int) []*Doc {
	t.Helper()
	first := newTestDoc(t, "seed")
	apply(t, first, func(b *Batch) {
		b.Put(b.Root(), "text", Text("hello"))
		b.Put(b.Root(), "list", List{})
		b.Put(b.Root(), "map", Map{})
	})
	saved, err := first.Save()
	must(t, err)
	var ds []*Doc
	for i := range n {
		d, err := newShard(t).Load(saved, "actor-"+string(rune('a'+i)))
		must(t, err)
		ds = append(ds, d)
	}
	return ds
}

// truth reads the whole document out of the machine, past the mirror.
func truth(t testing.TB, d *Doc) any {
	t.Helper()
	v, found, err := d.GetAt(nil)
	must(t, err)
	if !found {
		t.Fatal("document has no root")
	}
	return v
}

func appendLeb(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }
