package docvalue

import (
	"encoding/json"
	"math"
	"testing"

	"runt/internal/automerge"

	"github.com/google/go-cmp/cmp"
)

func TestFromJSON(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want any
	}{
		{"whole number", json.Number("5"), int64(5)},
		{"number above the signed range", json.Number("18446744073709551615"), automerge.Uint(math.MaxUint64)},
		{"unsigned that fits", uint64(7), int64(7)},
		{"fraction stays one", json.Number("1.0"), 1.0},
		{"huge number", json.Number("1e300"), 1e300},
		{"float", 2.5, 2.5},
		{"nested", map[string]any{"a": []any{json.Number("1"), nil, true, "x"}}, map[string]any{"a": []any{int64(1), nil, true, "x"}}},
		{"raw", json.RawMessage(`{"a":[1,2.5]}`), map[string]any{"a": []any{int64(1), 2.5}}},
		{"anything encodable", []string{"a", "b"}, []any{"a", "b"}},
		{"text stays one", automerge.Text("x"), automerge.Text("x")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := FromJSON(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFromJSONRefuses(t *testing.T) {
	deep := any(map[string]any{})
	for range MaxDepth {
		deep = map[string]any{"x": deep}
	}
	for name, in := range map[string]any{"too deep": deep, "a channel": make(chan int), "no number": json.Number("x"), "broken raw": json.RawMessage("{")} {
		if got, err := FromJSON(in); err == nil {
			t.Errorf("%s: got %v, want an error", name, got)
		}
	}
}

func TestToJSONCopies(t *testing.T) {
	in := map[string]any{
		"text": automerge.Text("t"), "list": []any{automerge.Counter(3), uint64(4), []byte("ab")}, "map": map[string]any{"k": nil},
	}
	got := ToJSON(in).(map[string]any)
	want := map[string]any{"text": "t", "list": []any{int64(3), uint64(4), "YWI="}, "map": map[string]any{"k": nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	got["map"].(map[string]any)["k"] = 1
	if in["map"].(map[string]any)["k"] != nil {
		t.Error("the copy shares a map with the original")
	}
}

func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b any
		want bool
	}{
		{"text and string", automerge.Text("a"), "a", true},
		{"signed and unsigned", int64(5), uint64(5), true},
		{"unsigned kinds", uint64(math.MaxUint64), automerge.Uint(math.MaxUint64), true},
		{"negative and unsigned", int64(-1), uint64(math.MaxUint64), false},
		{"whole and fraction", int64(1), 1.0, false},
		{"fraction and whole", 1.0, int64(1), false},
		{"unsigned and fraction", uint64(1), 1.0, false},
		{"not a number", math.NaN(), math.NaN(), true},
		{"nil and nothing", nil, "", false},
		{"nil", nil, nil, true},
		{"booleans", true, true, true},
		{"boolean and map", true, map[string]any{}, false},
		{"maps", map[string]any{"a": int64(1)}, map[string]any{"a": uint64(1)}, true},
		{"maps of other sizes", map[string]any{"a": nil}, map[string]any{}, false},
		{"lists", []any{"a", nil}, []any{automerge.Text("a"), nil}, true},
		{"bytes", []byte("a"), []byte("a"), true},
		{"list and string", []any{}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Equal(tc.a, tc.b); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if got := Equal(tc.b, tc.a); got != tc.want {
				t.Errorf("the other way round: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestMergeCountsOnlyChanges(t *testing.T) {
	old := map[string]any{"same": int64(1), "gone": "x", "changed": "a", "inner": map[string]any{"same": true, "new": nil}}
	want := map[string]any{"same": uint64(1), "changed": "b", "inner": map[string]any{"same": true, "new": "y"}}
	b := automerge.NewBatch()
	if n := Merge(b, b.Root(), old, want); n != 3 {
		t.Errorf("%d changes, want 3", n)
	}
	if n := Merge(automerge.NewBatch(), b.Root(), want, want); n != 0 {
		t.Errorf("%d changes between equal maps", n)
	}
}
