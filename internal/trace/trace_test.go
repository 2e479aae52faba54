package trace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func points(notes []Note) (all []string) {
	for _, n := range notes {
		all = append(all, n.Point+" "+n.Subject)
	}
	return all
}

func TestMarksOfAllProcessesComeInOrder(t *testing.T) {
	dir := t.TempDir()
	Mark("before", "x")
	if err := To(dir); err != nil {
		t.Fatal(err)
	}
	Mark("first", "a")
	Mark("second", "")
	if err := Off(); err != nil {
		t.Fatal(err)
	}
	Mark("after", "x")
	other := "1 other b\nnonsense\n2 torn"
	if err := os.WriteFile(filepath.Join(dir, "other-1"+Suffix), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	notes, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"other b", "first a", "second "}, points(notes)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestAMissingFolderIsAnError(t *testing.T) {
	if err := To(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error")
	}
	if err := Off(); err != nil {
		t.Error(err)
	}
}

// TestMarkCostsNothingWhenOff: it must not be felt on the path of an execution.
func TestMarkCostsNothingWhenOff(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Mark("point", "subject") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMarkOff(b *testing.B) {
	for b.Loop() {
		Mark("point", "subject")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1 point subject\n")
	f.Add("x y z\n1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range parse(text) {
			if n.Point == "" && n.Subject == "" && n.At == 0 {
				continue
			}
		}
	})
}
