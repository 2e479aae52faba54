package kernelcases

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/client"
	"runt/internal/daemon"
	"runt/internal/testenv"
)

// modelLimit is how much of an answer a model gets without asking for more, in bytes on the wire.
const modelLimit = 8000

// 300,000 prints: they end, in order, nothing is lost, the answer is short, and
// the daemon answers others meanwhile.
func TestK10_ManyPrints(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	n.run("import time")
	const lines = 300_000 / divisor
	cell := n.cell(fmt.Sprintf("for i in range(%d): print(i)", lines))
	running := n.beginCall("execute_cell", map[string]any{"cell_id": cell, "timeout_secs": 80})
	worst := n.bed.pings(t, n.agent, running)
	ans := answerOf(n.await("the flood", running))
	want(t, ans.text, " · done · ", "\n0\n1\n", fmt.Sprint("\n", lines-1), "left out", "get_results")
	if ans.bytes > modelLimit {
		t.Errorf("C092: %d bytes for the model, want at most %d", ans.bytes, modelLimit)
	}
	if worst > 200*time.Millisecond*slack {
		t.Errorf("a ping took %v during the flood", worst)
	}
	t.Logf("slowest ping %v, answer of %d bytes", worst, ans.bytes)
	var b strings.Builder
	for i := range lines {
		fmt.Fprintln(&b, i)
	}
	file := n.saved(t, "flood.ipynb")
	stored := fileOutputs(file, cell)
	if len(stored) != 1 || fileText(stored[0]["text"]) != b.String() {
		t.Errorf("the file has %d outputs, the first of %d bytes, want one of %d", len(stored), len(fileText(stored[0]["text"])), b.Len())
	}
	full := n.try("get_results", map[string]any{"execution_id": executionOf(t, ans.text), "full_output": true})
	if full.bytes <= ans.bytes || full.bytes > 60_000 {
		t.Errorf("C109: the full output has %d bytes", full.bytes)
	}
}

// pings pings the daemon and reads through the agent until the call is over, and
// returns the slowest ping.
func (b *bed) pings(t testing.TB, a *agent, running <-chan map[string]any) time.Duration {
	t.Helper()
	worst := time.Duration(0)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for len(running) == 0 {
		began := time.Now()
		if _, err := client.Ping(t.Context(), b.opt.Socket); err != nil {
			t.Fatal(err)
		}
		worst = max(worst, time.Since(began))
		a.call("get_all_cells", nil)
		<-tick.C
	}
	return worst
}

// 20,000 prints that are flushed one by one.
func TestK10_FlushedPrints(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	const lines = 20_000 / divisor
	cell := n.cell(fmt.Sprintf("for i in range(%d): print(i, flush=True)", lines))
	text := n.call("execute_cell", map[string]any{"cell_id": cell, "timeout_secs": 80})
	want(t, text, " · done · ", "\n0\n1\n", fmt.Sprint("\n", lines-1))
	var b strings.Builder
	for i := range lines {
		fmt.Fprintln(&b, i)
	}
	stored := fileOutputs(n.saved(t, "flushed.ipynb"), cell)
	if len(stored) != 1 || fileText(stored[0]["text"]) != b.String() {
		t.Errorf("%d outputs in the file, not every line in order", len(stored))
	}
}

// What goes on printing is cut at a limit, with a note that everybody sees.
func TestK10_StoredOutputHasALimit(t *testing.T) {
	t.Parallel()
	b := alone(t, func(o *daemon.Options) { o.Config.MaxStreamText, o.Config.MaxOutputs = 1<<20/divisor, 50 })
	n := b.fresh(t, nil)
	text := n.run(fmt.Sprintf("for i in range(%d): print('line', i)\nprint('the end')", 300_000/divisor))
	want(t, text, "done", "line 0", "\nthe end")
	stored := fileOutputs(n.saved(t, "cut.ipynb"), firstID(t, text))
	if s := fileText(stored[0]["text"]); len(s) > 2<<20/divisor || !strings.Contains(s, "\n[output limit of ") || !strings.HasSuffix(s, fmt.Sprintf("\nline %d\nthe end\n", 300_000/divisor-1)) {
		t.Errorf("%d bytes stored", len(s))
	}
	text = n.run("from IPython.display import display\nfor i in range(200): display(i)")
	want(t, text, "done", "150 more are not kept")
	if stored := fileOutputs(n.saved(t, "cut.ipynb"), firstID(t, text)); len(stored) > 51 {
		t.Errorf("%d outputs stored", len(stored))
	}
}

// A thread that prints after its cell: the text reaches the cell that started
// it, or the one that runs by then, as the kernel says.
func TestK11_LateThreadOutput(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	const source = "import threading\ndef late():\n    time.sleep(.3)\n    print('from the', 'thread')\nth = threading.Thread(target=late); th.start()\nprint('cell over')"
	first := n.run(source)
	cell := firstID(t, first)
	testenv.Await(t, t.Context(), "late output", func() bool {
		return strings.HasSuffix(n.call("get_cell", map[string]any{"cell_id": cell}), "cell over\nfrom the thread")
	})
	want(t, n.call("get_results", map[string]any{"execution_id": executionOf(t, first)}), "from the thread")
	want(t, fileText(fileOutputs(n.saved(t, "late.ipynb"), cell)[0]["text"]), "from the thread")
	first = n.run(source)
	second := n.run("th.join(); time.sleep(.2); print('second')")
	want(t, n.call("get_cell", map[string]any{"cell_id": firstID(t, first)})+second, "from the thread")
}

// One print of 64 MiB.
func TestK11_HugePrint(t *testing.T) {
	t.Parallel()
	n := shared(t).fresh(t, nil)
	ans := n.try("create_cell", map[string]any{"source": fmt.Sprintf("print('x' * ((64 << 20) // %d) + 'end')", divisor), "and_run": true, "timeout_secs": 80})
	want(t, ans.text, "done", "xxx", "left out")
	if ans.isError || ans.bytes > modelLimit {
		t.Errorf("%d bytes: %.300s", ans.bytes, ans.text)
	}
	wantOutput(t, n.run("print('next')"), "next")
}

// K14: the answer has the last output, always.
func TestK14_LastOutputIsInTheAnswer(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	cell := n.cell("")
	for i := range 100 {
		text := n.call("set_cell", map[string]any{"cell_id": cell, "source": fmt.Sprintf("print('a')\nsys.stderr.write('b%d')\nprint('last %d')\n%d", i, i, i), "and_run": true})
		if !strings.Contains(text, fmt.Sprint("last ", i)) || !strings.HasSuffix(text, fmt.Sprint("\n", i)) || !strings.Contains(text, fmt.Sprint("b", i)) {
			t.Fatalf("round %d: %s", i, text)
		}
		if again := n.call("get_cell", map[string]any{"cell_id": cell}); !strings.HasSuffix(again, outputs(text)) {
			t.Fatalf("C121: round %d read\n%s\nafter\n%s", i, again, text)
		}
	}
}

// Large and binary content is kept beside the notebook, whole, and images reach the model small.
func TestC108_ImagesAndBinaryContent(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	n.run(`import struct, zlib
from IPython.display import Image, display, SVG, Audio
def png(w, h):
    rows = b''.join(b'\0' + os.urandom(3 * w) if y % 8 == 0 else b'\0' * (3 * w + 1) for y in range(h))
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')`)
	ans := n.try("create_cell", map[string]any{"source": "p = png(8, 8)\nq = png(2400, 1600)\ndisplay(Image(p))\ndisplay(Image(q))\nimport hashlib\nprint(hashlib.sha256(q).hexdigest())", "and_run": true, "timeout_secs": 60})
	if len(ans.images) != 2 || ans.raw["structuredContent"] != nil {
		t.Fatalf("%d images, structured content %v\n%s", len(ans.images), ans.raw["structuredContent"], ans.text)
	}
	want(t, ans.text, "8 × 8", "image/png")
	for i, img := range ans.images {
		if len(img) > 1_400_000 || strings.ContainsAny(img, "\n ") {
			t.Errorf("image %d has %d characters of base64", i, len(img))
		}
	}
	lines := strings.Split(ans.text, "\n")
	sum := lines[len(lines)-1]
	blob := filepath.Join(n.bed.root, "blobs", sum[:2], sum[2:])
	b, err := os.ReadFile(blob)
	if err != nil {
		t.Fatalf("the image is not kept whole: %v", err)
	}
	if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
		t.Error("the image that is kept is another")
	}
	five := n.try("create_cell", map[string]any{"source": "for i in range(6): display(Image(p))", "and_run": true})
	if len(five.images) != 4 {
		t.Errorf("%d images of 6, want 4", len(five.images))
	}
	none := n.try("get_cell", map[string]any{"cell_id": firstID(t, five.text), "images": false})
	if len(none.images) != 0 {
		t.Errorf("%d images although none were wanted", len(none.images))
	}
	bad := n.try("create_cell", map[string]any{"source": "display({'image/png': 'bm90IGFuIGltYWdl', 'text/plain': 'fallback'}, raw=True)\ndisplay({'image/png': '***'}, raw=True)", "and_run": true})
	if len(bad.images) != 0 {
		t.Error("C071: a broken image was handed over as one")
	}
	want(t, bad.text, "fallback", "broken")
	svg := n.try("create_cell", map[string]any{"source": "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"></svg>'))\ndisplay(Audio(b'\\0' * 4000, rate=8000))", "and_run": true})
	want(t, svg.text, "image/svg+xml")
	if len(svg.images) != 0 {
		t.Error("an SVG was handed over as an image")
	}
}
