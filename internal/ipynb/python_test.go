package ipynb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// pythonPath is the folder that holds Python's nbformat, or "" when the
// interpreter on PATH has it by itself.
var pythonPath = sync.OnceValues(func() (string, error) {
	if exec.Command("python3", "-c", "import nbformat").Run() == nil {
		return "", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	final := filepath.Join(cache, "runt-test", "nbformat")
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(final), "nbformat-")
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("python3", "-m", "pip", "install", "--quiet", "--target", fresh, "nbformat").CombinedOutput(); err != nil {
		return "", fmt.Errorf("install nbformat: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, final); err != nil { // another process was first
		return final, os.RemoveAll(fresh)
	}
	return final, nil
})

// python runs a program with nbformat at hand. It reads in as JSON from its
// standard input and writes JSON, decoded into out.
func python(t *testing.T, program string, in, out any) {
	t.Helper()
	path, err := pythonPath()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", "import json, sys, nbformat\ndata = json.load(sys.stdin)\n"+program)
	cmd.Env = os.Environ()
	if path != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+path)
	}
	cmd.Stdin, cmd.Stderr = bytes.NewReader(b), os.Stderr
	answer, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatal(err)
	}
}

// validated is what nbformat says of a file.
type validated struct{ Error, Written string }

const validate = `
answer = []
for text in data:
    try:
        nb = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
        nbformat.validate(nb)
        out = nbformat.writes(nb, version=nbformat.NO_CONVERT)
        answer.append({"Error": "", "Written": out if out.endswith("\n") else out + "\n"})
    except Exception as e:
        answer.append({"Error": type(e).__name__ + ": " + str(e)[:400], "Written": ""})
json.dump(answer, sys.stdout)`

// TestX05_NbformatAcceptsWhatWeWrite lets Python's nbformat validate random
// notebooks and write them again: the bytes must be ours.
func TestX05_NbformatAcceptsWhatWeWrite(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	var files []string
	for range 300 {
		files = append(files, string(render(t, nil, randomNotebook(random))))
	}
	spec := NewNotebook("python", "python3", "Python 3")
	spec.Cells = []Cell{{ID: "a", Type: TypeCode}, {ID: "b", Type: TypeMarkdown}, {ID: "c", Type: TypeRaw, Source: "x"}}
	files = append(files, string(render(t, nil, spec)), string(render(t, nil, NewNotebook("", "", ""))), string(render(t, nil, Notebook{})))
	var answers []validated
	python(t, validate, files, &answers)
	for i, a := range answers {
		if a.Error != "" {
			t.Fatalf("%s\n%s", a.Error, files[i])
		}
		if a.Written != files[i] {
			t.Fatalf("nbformat writes\n%s\nwe write\n%s", a.Written, files[i])
		}
	}
}

// TestX05_EditedFilesAreValid edits files of all minor versions and styles and lets nbformat validate them.
func TestX05_EditedFilesAreValid(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	var files []string
	for i := range 200 {
		f, err := Parse(restyled(t, render(t, nil, randomNotebook(random)), i%6), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := f.Notebook()
		mutate(random, &n)
		files = append(files, string(render(t, f, n)))
	}
	for _, text := range []string{worksheets, withoutIDs, idsTooEarly, someIDs} {
		files = append(files, string(edited(t, text, 0, "new = 1\n")))
	}
	var answers []validated
	python(t, validate, files, &answers)
	for i, a := range answers {
		if a.Error != "" {
			t.Fatalf("%s\n%s", a.Error, files[i])
		}
	}
}

// TestSplitLinesLikePython compares SplitLines with str.splitlines(True).
func TestSplitLinesLikePython(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	texts := []string{"", "\n", "a", "a\n", "\r\n", "\n\r", "a\r\nb\rc\n\nd"}
	parts := []string{"a", "é", "笔", "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f", "\u0085", "\u0084", "\u2028", "\u2029", "\u202a", "😀", "\x00"}
	for range 500 {
		s := ""
		for range random.IntN(12) {
			s += parts[random.IntN(len(parts))]
		}
		texts = append(texts, s)
	}
	var answers [][]string
	python(t, `json.dump([s.splitlines(True) for s in data], sys.stdout)`, texts, &answers)
	for i, s := range texts {
		if got := SplitLines(s); !slices.Equal(got, answers[i]) {
			t.Errorf("SplitLines(%q) = %q, want %q", s, got, answers[i])
		}
	}
}

// TestNumbersLikePython compares the text of floats with Python's.
func TestNumbersLikePython(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	numbers := []float64{0, 1, -1, 0.1, 1e15, 1e16, 1.5e16, 123456789012345680, 1e-4, 1e-5, 1.5e-7, 1e100, 5e-324, math.MaxFloat64, math.Copysign(0, -1), 2.5}
	for range 500 {
		numbers = append(numbers, random.NormFloat64()*math.Pow(10, float64(random.IntN(60)-30)))
	}
	texts := make([]string, len(numbers))
	for i, f := range numbers {
		w := writer{}
		w.float(f)
		texts[i] = string(w.buf)
	}
	var answers []string
	python(t, `json.dump([json.dumps(float(s)) for s in data], sys.stdout)`, texts, &answers)
	for i := range texts {
		if texts[i] != answers[i] {
			t.Errorf("%v is written %s, want %s", numbers[i], texts[i], answers[i])
		}
	}
}
