package houserules

import (
	"os/exec"
	"path/filepath"
	"testing"

	"runt/internal/testenv"
)

// validate reads each notebook as Jupyter does and compares it with what Jupyter would write.
const validate = `import sys, nbformat
for name in sys.argv[1:]:
    text = open(name, encoding="utf-8", newline="").read()
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    assert text == nbformat.writes(book) + "\n", name + " is not in canonical form"
    assert not any(c.get("outputs") or c.get("execution_count") for c in book.cells), name + " holds outputs"`

func TestExamplesAreValidAndCanonical(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(testenv.Root(t), "examples", "*.ipynb"))
	if err != nil || len(names) == 0 {
		t.Fatalf("examples: %v, %v", names, err)
	}
	if out, err := exec.CommandContext(t.Context(), testenv.Python(t), append([]string{"-c", validate}, names...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
