package runtimestate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/automerge"
	"runt/internal/domain"

	"github.com/google/go-cmp/cmp"
)

var engine *automerge.Engine

func TestMain(m *testing.M) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	engine = automerge.Open(automerge.Options{CacheDir: filepath.Join(cache, "runt-test", "wasm")})
	code := m.Run()
	if err := engine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "close engine:", err)
		code = 1
	}
	os.Exit(code)
}

func newShard(t testing.TB) *automerge.Shard {
	t.Helper()
	s, err := engine.NewShard()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func newDoc(t testing.TB) *Doc {
	t.Helper()
	d, err := New(newShard(t), "runtimed:state")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func edit(t testing.TB, d *Doc, fn func(*Tx) error) automerge.Update {
	t.Helper()
	u, err := d.Edit(fn)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func of[T any](v T) *T { return &v }

func stream(id string, seq uint64, text string) Output {
	return Output{ID: id, Seq: seq, Manifest: map[string]any{"output_type": "stream", "output_id": id, "name": "stdout", "text": Inline(text)}}
}

func display(id string, seq uint64, displayID string) Output {
	return Output{ID: id, Seq: seq, Manifest: map[string]any{
		"output_type": "display_data", "output_id": id, "data": map[string]any{"image/png": Blob("ab12", 5)}, "transient": map[string]any{"display_id": displayID},
	}}
}

// TestGenesis compares with the head that nteract's runtime states begin with.
func TestGenesis(t *testing.T) {
	d := newDoc(t)
	heads := d.Engine().Heads()
	const want = "4aa226b3047f50f85b5b74ab8f395220bacea6cec9d8a1ed9a5649f15edc2649"
	if len(heads) != 1 || heads[0].String() != want {
		t.Errorf("heads %v, want %s", heads, want)
	}
	executing, queued := d.Queue()
	if executing != "" || queued != nil || len(d.Executions()) != 0 || d.Path() != "" || d.LastSaved() != "" || d.InputRequest() != nil {
		t.Error("a new runtime state is not empty")
	}
	if k := d.Kernel(); k != (Kernel{Lifecycle: NotStarted}) {
		t.Errorf("kernel %+v", k)
	}
}

// TestExecutionAsStored looks at the scalar types that other clients insist on.
func TestExecutionAsStored(t *testing.T) {
	d := newDoc(t)
	edit(t, d, func(tx *Tx) error {
		return tx.PutExecution(Execution{
			ID: "e1", CellID: "c1", Status: Executing, Source: "1", Submitter: "local:me/x", Seq: 3,
			Outputs: []Output{stream("o1", 0, "hi"), display("o2", 1, "d1")},
		})
	})
	raw, _ := d.Engine().Get("executions", "e1")
	want := map[string]any{
		"status": "running", "execution_count": nil, "success": nil, "source": "1", "cell_id": "c1", "seq": uint64(3), "submitted_by_actor_label": "local:me/x",
		"outputs": map[string]any{
			"o1": map[string]any{"seq": uint64(0), "manifest": map[string]any{"output_type": "stream", "output_id": "o1", "name": "stdout", "text": map[string]any{"inline": "hi"}}},
			"o2": map[string]any{"seq": uint64(1), "manifest": map[string]any{
				"output_type": "display_data", "output_id": "o2", "transient": map[string]any{"display_id": "d1"},
				"data": map[string]any{"image/png": map[string]any{"blob": "ab12", "size": int64(5)}},
			}},
		},
	}
	if diff := cmp.Diff(want, raw); diff != "" {
		t.Error(diff)
	}
	index, _ := d.Engine().Get("display_index")
	if diff := cmp.Diff(map[string]any{"d1": map[string]any{"e1\x00o2": true}}, index); diff != "" {
		t.Error(diff)
	}
}

func TestExecutionFromBeginningToEnd(t *testing.T) {
	d := newDoc(t)
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.PutExecution(Execution{ID: "e1", CellID: "c1", Status: Queued, Source: "1"}), tx.SetQueue("", []string{"e1"}))
	})
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.SetStatus("e1", Executing), tx.SetQueue("e1", nil), tx.SetActivity(Busy), tx.SetCount("e1", 4))
	})
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.PutOutput("e1", stream("b", 0, "one"), ""), tx.PutOutput("e1", stream("a", 1, "two"), ""))
	})
	u := edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.SetStreamText("e1", "b", Inline("one more")), tx.DeleteOutput("e1", "a"),
			tx.PutOutput("e1", stream("c", 2, "three"), ""), tx.Finish("e1", Error, false), tx.SetQueue("", nil), tx.SetActivity(Idle))
	})
	if len(u.Hashes) != 1 {
		t.Errorf("%d changes, want 1", len(u.Hashes))
	}
	got, ok := d.Execution("e1")
	want := Execution{
		ID: "e1", CellID: "c1", Status: Error, Source: "1", Count: of(int64(4)), Success: of(false),
		Outputs: []Output{stream("b", 0, "one more"), stream("c", 2, "three")},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Error(diff)
	}
	if d.Status("e1") != Error || d.Status("none") != "" || !Terminal(Cancelled) || Terminal(Executing) {
		t.Error("status")
	}
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.ClearOutputs("e1"), tx.PutOutput("e1", stream("z", 0, "new"), ""))
	})
	if e, _ := d.Execution("e1"); len(e.Outputs) != 1 || e.Outputs[0].ID != "z" {
		t.Errorf("outputs after clearing: %+v", e.Outputs)
	}
	edit(t, d, func(tx *Tx) error { return errors.Join(tx.DeleteExecution("e1"), tx.DeleteExecution("none")) })
	if _, ok := d.Execution("e1"); ok || len(d.ExecutionIDs()) != 0 {
		t.Error("the execution is still there")
	}
}

func TestCancelledHasNoSuccess(t *testing.T) {
	d := newDoc(t)
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.PutExecution(Execution{ID: "e", Status: Queued}), tx.Finish("e", Cancelled, false))
	})
	if e, _ := d.Execution("e"); e.Status != Cancelled || e.Success != nil {
		t.Errorf("execution %+v", e)
	}
}

func TestOrders(t *testing.T) {
	d := newDoc(t)
	edit(t, d, func(tx *Tx) error {
		return errors.Join(
			tx.PutExecution(Execution{ID: "b", Seq: 2, Outputs: []Output{stream("y", 1, ""), stream("x", 1, ""), stream("z", 0, "")}}),
			tx.PutExecution(Execution{ID: "c", Seq: 1}), tx.PutExecution(Execution{ID: "a", Seq: 2}),
		)
	})
	if got := strings.Join(d.ExecutionIDs(), " "); got != "c a b" {
		t.Errorf("executions %q", got)
	}
	var outputs []string
	all := d.Executions()
	for _, o := range all[len(all)-1].Outputs {
		outputs = append(outputs, o.ID)
	}
	if got := strings.Join(outputs, " "); len(all) != 3 || got != "z x y" {
		t.Errorf("outputs %q", got)
	}
}

// TestForeignShapes reads entries as other programs may leave them.
func TestForeignShapes(t *testing.T) {
	d := newDoc(t)
	b := automerge.NewBatch()
	b.Put(b.At("executions"), "e", automerge.Map{
		{Key: "status", Value: automerge.Text("done")}, {Key: "seq", Value: 7}, {Key: "execution_count", Value: automerge.Uint(2)},
		{Key: "outputs", Value: automerge.Map{
			{Key: "no seq", Value: automerge.Map{{Key: "manifest", Value: automerge.Map{}}}},
			{Key: "no manifest", Value: automerge.Map{{Key: "seq", Value: automerge.Uint(1)}}},
			{Key: "negative", Value: automerge.Map{{Key: "seq", Value: -1}, {Key: "manifest", Value: automerge.Map{}}}},
			{Key: "scalar", Value: 5},
			{Key: "good", Value: automerge.Map{{Key: "seq", Value: 3}, {Key: "manifest", Value: automerge.Map{}}}},
		}},
	})
	b.Put(b.At("executions"), "scalar", "x")
	if _, err := d.Engine().Apply(b); err != nil {
		t.Fatal(err)
	}
	want := []Execution{{ID: "e", Status: Done, Seq: 7, Count: of(int64(2)), Outputs: []Output{{ID: "good", Seq: 3, Manifest: map[string]any{}}}}}
	if diff := cmp.Diff(want, d.Executions()); diff != "" {
		t.Error(diff)
	}
}

func TestQueueIsWrittenByDifference(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to string
		changes  int // patches expected at most
	}{
		{"first", "", "a", 1},
		{"append", "a b c", "a b c d", 1},
		{"next", "a b c", "b c", 1},
		{"one cancelled", "a b c d", "a c d", 1},
		{"all cancelled", "a b c", "", 3},
		{"other order", "a b c d", "a c b d", 4},
		{"nothing", "a b", "a b", 0},
		{"replaced", "a b", "x y z", 5},
		{"repeated", "a a", "a a a", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDoc(t)
			edit(t, d, func(tx *Tx) error { return tx.SetQueue("run", strings.Fields(tc.from)) })
			u := edit(t, d, func(tx *Tx) error { return tx.SetQueue("run", strings.Fields(tc.to)) })
			executing, queued := d.Queue()
			if got := strings.Join(queued, " "); got != tc.to || executing != "run" {
				t.Errorf("queue %q, want %q", got, tc.to)
			}
			if len(u.Patches) > tc.changes {
				t.Errorf("%d patches, want at most %d: %v", len(u.Patches), tc.changes, u.Patches)
			}
		})
	}
}

func TestDisplayIndex(t *testing.T) {
	d := newDoc(t)
	edit(t, d, func(tx *Tx) error {
		return errors.Join(
			tx.PutExecution(Execution{ID: "e1", Outputs: []Output{display("o1", 0, "d")}}),
			tx.PutExecution(Execution{ID: "e2"}), tx.PutOutput("e2", display("o2", 0, "d"), "d"),
			tx.PutOutput("e2", display("o3", 1, "other"), "other"), tx.PutOutput("e2", display("o3", 1, "other"), "other"),
		)
	})
	if diff := cmp.Diff([]OutputRef{{"e1", "o1"}, {"e2", "o2"}}, d.DisplayTargets("d")); diff != "" {
		t.Error(diff)
	}
	edit(t, d, func(tx *Tx) error { return errors.Join(tx.DeleteExecution("e1"), tx.DeleteOutput("e2", "o3")) })
	if diff := cmp.Diff([]OutputRef{{"e2", "o2"}}, d.DisplayTargets("d")); diff != "" {
		t.Error(diff)
	}
	if index, _ := d.Engine().Get("display_index"); len(index.(map[string]any)) != 1 {
		t.Errorf("index %v keeps what nothing shows", index)
	}
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.ClearOutputs("e2"), tx.PutOutput("e2", display("o4", 0, "d"), "d"))
	})
	if diff := cmp.Diff([]OutputRef{{"e2", "o4"}}, d.DisplayTargets("d")); diff != "" {
		t.Error(diff)
	}
	edit(t, d, func(tx *Tx) error { return tx.PutExecution(Execution{ID: "e2"}) })
	if got := d.DisplayTargets("d"); got != nil {
		t.Errorf("targets %v of an execution that was replaced", got)
	}
}

func TestKernelAndTheRest(t *testing.T) {
	d := newDoc(t)
	k := Kernel{Lifecycle: Failed, ErrorReason: "missing_ipykernel", ErrorDetails: "run X", Name: "python3", Language: "python", EnvSource: "uv:prewarmed", RuntimeAgentID: "r"}
	u := edit(t, d, func(tx *Tx) error { return tx.SetKernel(k) })
	if d.Kernel() != k || len(u.Patches) != 7 {
		t.Errorf("kernel %+v, %d patches", d.Kernel(), len(u.Patches))
	}
	edit(t, d, func(tx *Tx) error {
		return errors.Join(
			tx.SetIdentity("n1"), tx.SetPath("/x.ipynb"), tx.SetLastSaved("2026-01-01T00:00:00Z"), tx.SetTrust("trusted", true),
			tx.SetEnvProgress("installing"), tx.SetInputRequest(map[string]any{"prompt": "name? ", "password": false}),
			tx.SetFileState(FileState{ExportedHeads: []string{"ab"}, SaveSequence: 2, Issue: "conflict", Reason: "both changed"}),
		)
	})
	status, needs := d.Trust()
	if d.NotebookID() != "n1" || d.Path() != "/x.ipynb" || d.LastSaved() != "2026-01-01T00:00:00Z" || status != "trusted" || !needs {
		t.Error("ids, path, save time or trust")
	}
	if d.EnvProgress()["message"] != "installing" || d.InputRequest()["prompt"] != "name? " {
		t.Errorf("progress %v, input %v", d.EnvProgress(), d.InputRequest())
	}
	if diff := cmp.Diff(FileState{ExportedHeads: []string{"ab"}, SaveSequence: 2, Issue: "conflict", Reason: "both changed"}, d.FileState()); diff != "" {
		t.Error(diff)
	}
	if v, _ := d.Engine().Get("file_checkpoint", "save_sequence"); v != uint64(2) {
		t.Errorf("save_sequence is %T", v)
	}
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.SetEnvProgress(""), tx.SetInputRequest(nil), tx.SetPath(""), tx.SetFileState(FileState{ExportedHeads: []string{"cd"}, SaveSequence: 3}))
	})
	if d.EnvProgress() != nil || d.InputRequest() != nil || d.Path() != "" || d.FileState().Issue != "" {
		t.Error("something was not cleared")
	}
	edit(t, d, func(tx *Tx) error {
		return errors.Join(tx.SetInputRequest(map[string]any{"prompt": "x"}), tx.SetInputRequest(nil), tx.SetEnvProgress("a"), tx.SetEnvProgress(""), tx.SetPath("/y"), tx.SetPath(""))
	})
	if d.EnvProgress() != nil || d.InputRequest() != nil || d.Path() != "" {
		t.Error("the last of two writes in one edit did not count")
	}
}

func TestEditThatChangesNothing(t *testing.T) {
	d := newDoc(t)
	boom := errors.New("boom")
	before := d.Engine().Heads()
	for name, fn := range map[string]func(*Tx) error{
		"nothing":      func(*Tx) error { return nil },
		"same kernel":  func(tx *Tx) error { return tx.SetKernel(Kernel{Lifecycle: NotStarted}) },
		"same queue":   func(tx *Tx) error { return tx.SetQueue("", []string{}) },
		"no input":     func(tx *Tx) error { return tx.SetInputRequest(nil) },
		"no progress":  func(tx *Tx) error { return tx.SetEnvProgress("") },
		"same trust":   func(tx *Tx) error { return tx.SetTrust("no_dependencies", false) },
		"same path":    func(tx *Tx) error { return errors.Join(tx.SetPath(""), tx.SetLastSaved("")) },
		"gone already": func(tx *Tx) error { return tx.DeleteExecution("none") },
	} {
		if u := edit(t, d, fn); u.Changes != nil || !automerge.SameHeads(u.Heads, before) {
			t.Errorf("%s: made a change", name)
		}
	}
	for name, fn := range map[string]func(*Tx) error{
		"fails":        func(tx *Tx) error { return errors.Join(tx.SetPath("x"), boom) },
		"no execution": func(tx *Tx) error { return tx.SetStatus("none", Done) },
		"no output":    func(tx *Tx) error { return tx.SetStreamText("none", "o", nil) },
		"unstorable output": func(tx *Tx) error {
			return tx.PutExecution(Execution{ID: "e", Outputs: []Output{{ID: "o", Manifest: map[string]any{"x": func() {}}}}})
		},
	} {
		if _, err := d.Edit(fn); err == nil || !automerge.SameHeads(d.Engine().Heads(), before) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	d := newDoc(t)
	saved, err := d.Engine().Save()
	if err != nil {
		t.Fatal(err)
	}
	u := edit(t, d, func(tx *Tx) error { return tx.PutExecution(Execution{ID: "e", Status: Done}) })
	again, err := Load(newShard(t), append(saved, u.Changes...), "runtimed:state")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.Executions(), again.Executions()); diff != "" {
		t.Error(diff)
	}
	other, err := newShard(t).New("x")
	if err != nil {
		t.Fatal(err)
	}
	if saved, err = other.Save(); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(newShard(t), saved, "x"); domain.CodeOf(err) != domain.CodeFileUnreadable {
		t.Errorf("loading something else: %v", err)
	}
}

// BenchmarkOneCommitExecution is the whole of a short execution in one change,
// with the oldest one deleted, as the daemon writes it.
func BenchmarkOneCommitExecution(b *testing.B) {
	d := newDoc(b)
	i := 0
	for b.Loop() {
		i++
		edit(b, d, func(tx *Tx) error {
			id := fmt.Sprint("e", i)
			return errors.Join(
				tx.PutExecution(Execution{ID: id, CellID: "c", Status: Done, Source: "1+1", Count: of(int64(i)), Success: of(true), Seq: uint64(i), Outputs: []Output{stream("o", 0, "2")}}),
				tx.DeleteExecution(fmt.Sprint("e", i-8)), tx.SetActivity(Idle),
			)
		})
	}
}
