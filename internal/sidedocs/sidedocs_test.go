package sidedocs

import (
	"os"
	"path/filepath"
	"testing"

	"runt/internal/automerge"
)

// TestGenesis compares with the heads that nteract's documents begin with.
func TestGenesis(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	engine := automerge.Open(automerge.Options{CacheDir: filepath.Join(cache, "runt-test", "wasm")})
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	shard, err := engine.NewShard()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		make func(*automerge.Shard, string) (*automerge.Doc, error)
		want string
	}{
		"comms":    {Comms, "59e6107683328412635b4c868124e9c4014704de086aef822a58c07d85153a57"},
		"comments": {Comments, "4bd008133860dda10c7f06c8bfac8c1ac87b0dc30fee44fcbe3087bf4ffe2bd1"},
	} {
		doc, err := tc.make(shard, "local:me/test")
		if err != nil {
			t.Fatal(err)
		}
		if heads := doc.Heads(); len(heads) != 1 || heads[0].String() != tc.want {
			t.Errorf("%s begins with %v, want %s", name, heads, tc.want)
		}
		b := automerge.NewBatch()
		b.Put(b.Root(), "x", true)
		if _, err := doc.Apply(b); err != nil {
			t.Errorf("%s cannot be changed: %v", name, err)
		}
	}
	shard.Close()
	if _, err := Comms(shard, "x"); err == nil {
		t.Error("a document was made in a closed shard")
	}
}
