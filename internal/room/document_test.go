package room

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"runt/internal/automerge"
	"runt/internal/runtimestate"
)

// TestThePaperIsTheDocument lives some of the histories of TestModel with a real
// document beside the paper, which must take every change and be equal to it.
func TestThePaperIsTheDocument(t *testing.T) {
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	engine := automerge.Open(automerge.Options{CacheDir: filepath.Join(dir, "runt-test", "wasm")})
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}()
	const histories = 60
	for seed := range uint64(histories) {
		shard, err := engine.NewShard()
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, seed)
		w.real, err = runtimestate.New(shard, "runtimed:test")
		if err != nil {
			t.Fatal(err)
		}
		w.live(40)
		shard.Close()
	}
}

// editReal applies a change to the real document.
func (w *world) editReal(e EditRuntime) {
	_, err := w.real.Edit(func(tx *runtimestate.Tx) error {
		for _, op := range e.Ops {
			if err := op.Apply(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.fatalf("the document refuses %+v: %v", e.Ops, err)
	}
}

// checkReal compares the real document with the paper.
func (w *world) checkReal() {
	p := w.disk.paper
	executing, queued := w.real.Queue()
	got, want := asJSON(w, executing, queued, w.real.Kernel(), w.real.Executions()), asJSON(w, p.executing, append([]string(nil), p.queued...), p.kernel, p.executions())
	if got != want {
		w.fatalf("the document is\n%s\nthe paper\n%s", got, want)
	}
}

func asJSON(w *world, v ...any) string {
	for i, x := range v {
		if q, ok := x.([]string); ok && len(q) == 0 {
			v[i] = nil
		}
		if all, ok := x.([]runtimestate.Execution); ok {
			for j := range all {
				if len(all[j].Outputs) == 0 {
					all[j].Outputs = nil
				}
			}
			if len(all) == 0 {
				v[i] = nil
			}
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		w.fatalf("%v", err)
	}
	return string(b)
}
