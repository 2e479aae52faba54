package present

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/outputs.golden")

// recorded returns outputs of a real kernel by name: see testdata/README.md.
func recorded(t testing.TB) map[string][]Output {
	t.Helper()
	b, err := os.ReadFile("testdata/outputs.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct{ Outputs []json.RawMessage }
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	all := map[string][]Output{}
	for name, c := range cases {
		for _, raw := range c.Outputs {
			o, err := FromManifestJSON(raw)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = append(all[name], o)
		}
	}
	return all
}

// checkResult fails when a result breaks what holds for all of them.
func checkResult(t testing.TB, name string, r Result, limit int) {
	t.Helper()
	if n := jsonSize(r.Text); n > limit {
		t.Errorf("%s: %d bytes of text in JSON, limit %d", name, n, limit)
	}
	if i := strings.IndexFunc(r.Text, control); i >= 0 || !utf8.ValidString(r.Text) {
		t.Errorf("%s: control character or broken UTF-8 at %d in %q", name, i, r.Text)
	}
	if len(r.Images) > MaxImages {
		t.Errorf("%s: %d images", name, len(r.Images))
	}
	for _, img := range r.Images {
		if _, _, err := ReadImage(Content{Bytes: img.Data}, img.MIME); err != nil || len(img.Data) > MaxImageBytes {
			t.Errorf("%s: image of %d bytes, %v", name, len(img.Data), err)
		}
	}
}

func TestK09_OutputsOfARealKernelReadWell(t *testing.T) {
	cases := recorded(t)
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		status := StatusDone
		if slices.ContainsFunc(cases[name], func(o Output) bool { return o.Type == TypeError }) {
			status = StatusError
		}
		for _, full := range []bool{false, true} {
			o := Options{Full: full}
			r := Execution(ExecutionView{CellID: "cell-1", ExecutionID: "e1", Status: status, Outputs: cases[name]}, o)
			limit := DefaultLimit
			if full {
				limit = FullLimit
			}
			checkResult(t, name, r, limit)
			if full && status != StatusError {
				continue
			}
			title := name
			if full {
				title += " (full)"
			}
			fmt.Fprintf(&b, "======== %s\n%s\n", title, r.Text)
			for _, img := range r.Images {
				fmt.Fprintf(&b, "-------- image %s\n", img.MIME)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/outputs.golden", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/outputs.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-golden +now)\n%s", diff)
	}
}
