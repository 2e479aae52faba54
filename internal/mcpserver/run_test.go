package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"runt/internal/domain"
	"runt/internal/testenv"
)

// warm connects to the notebook whose kernel all tests of the shared bed use,
// because starting a kernel takes longer than most tests. time is imported there.
func (a *agent) warm() {
	a.t.Helper()
	if shared.warm != "" {
		a.call("connect_notebook", map[string]any{"notebook_id": shared.warm})
		return
	}
	shared.warm = firstID(a.t, a.call("create_notebook", nil))
	a.call("create_cell", map[string]any{"source": "import time", "and_run": true, "timeout_secs": 60})
}

func executionID(t testing.TB, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "execution ")
	if !ok {
		t.Fatalf("no execution in %q", text)
	}
	return firstID(t, rest)
}

func TestK06_RunRightAfterCreate(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("hasty", nil)
	created := a.beginCall("create_notebook", nil)
	run := a.beginCall("create_cell", map[string]any{"source": "print('no waiting')", "and_run": true, "timeout_secs": 60})
	if ans := answerOf(a.await("create", created)); ans.isError {
		t.Fatal(ans.text)
	}
	wantWords(t, answerOf(a.await("run", run)).text, "no waiting", "done")
}

func TestTimeouts(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("waiter", nil)
	a.warm()
	slow := firstID(t, a.call("create_cell", map[string]any{"source": "print('begun T', flush=True)\ntime.sleep(1.5)\nprint('over')"}))
	text := a.call("execute_cell", map[string]any{"cell_id": slow, "timeout_secs": 0})
	if status := strings.Fields(text)[2]; status != "queued" && status != "running" {
		t.Errorf("timeout 0: %s", text)
	}
	id := executionID(t, text)
	text = a.call("get_results", map[string]any{"execution_id": id, "wait_secs": 0.5})
	wantWords(t, text, slow, "running", "begun", id, "get_results")
	wantWords(t, a.call("get_results", map[string]any{"execution_id": id, "wait_secs": "20"}), "done", "begun", "over")
	// The same cell again, stopped when its time is over.
	start := time.Now()
	text = a.call("execute_cell", map[string]any{"cell_id": slow, "timeout_secs": 0.3, "on_timeout": "interrupt"})
	wantWords(t, text, "KeyboardInterrupt", "error")
	if took := time.Since(start); took > 1400*time.Millisecond {
		t.Errorf("interrupted after %v", took)
	}
	// And interrupted by another call.
	running := a.beginCall("execute_cell", map[string]any{"cell_id": slow})
	b.awaitOutput(a, "begun T")
	wantWords(t, a.call("interrupt_kernel", nil), "Interrupted execution")
	wantWords(t, answerOf(a.await("run", running)).text, "KeyboardInterrupt")
	wantWords(t, a.call("execute_code", map[string]any{"code": "1+1"}), "2")
}

// awaitOutput waits until the running execution has printed a text.
func (b *bed) awaitOutput(a *agent, text string) {
	b.t.Helper()
	testenv.Await(b.t, b.t.Context(), "output "+text, func() bool {
		listed := a.call("get_all_cells", map[string]any{"view": "outputs"})
		return strings.Contains(listed, "running") && strings.Contains(listed, "→ "+text)
	})
}

func TestS23_ALongRunHoldsUpNobody(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("busy", nil)
	a.warm()
	running := a.beginCall("create_cell", map[string]any{"source": "print('begun S', flush=True)\ntime.sleep(2)", "and_run": true})
	b.awaitOutput(a, "begun S")
	start := time.Now()
	a.call("get_all_cells", nil)
	a.call("create_cell", map[string]any{"source": "meanwhile"})
	a.call("create_notebook", nil)
	if took := time.Since(start); took > time.Second {
		t.Errorf("a read, an edit and a create beside a long run took %v", took)
	}
	select {
	case <-running:
		t.Error("the long run was over before the others; the test proves nothing")
	default:
	}
	wantWords(t, answerOf(a.await("run", running)).text, "done")
}

func TestProgressAndCancellation(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("impatient", nil)
	a.warm()
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "print('begun P', flush=True)\ntime.sleep(1)\nprint('over')"}))
	id, ch := a.begin("tools/call", map[string]any{"_meta": map[string]any{"progressToken": "p"}, "name": "execute_cell", "arguments": map[string]any{"cell_id": cell}})
	b.awaitOutput(a, "begun P")
	a.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}})
	ans := answerOf(a.await("cancelled call", ch))
	wantWords(t, ans.text, "running", "begun", "cancelled")
	execution := executionID(t, ans.text)
	wantWords(t, a.call("get_results", map[string]any{"execution_id": execution, "wait_secs": 20}), "done", "over")
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.notes) == 0 || a.notes[0]["method"] != "notifications/progress" {
		t.Errorf("no progress came: %v", a.notes)
	}
}

func TestK08_Input(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("asker", nil)
	a.warm()
	a.fails(domain.CodeInvalidArgument, "send_input", map[string]any{"text": "too early"})
	text := a.call("create_cell", map[string]any{"source": "name = input('Who? ')\nprint('hello', name)", "and_run": true, "timeout_secs": 60})
	wantWords(t, text, "running", "waits for input", "Who? ", "send_input")
	wantWords(t, a.call("send_input", map[string]any{"text": "Ada"}), "Who? ")
	wantWords(t, a.call("get_results", map[string]any{"execution_id": executionID(t, text), "wait_secs": 20}), "hello Ada", "done")
}

func TestRunAllStopsAtTheFirstError(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("runner", nil)
	a.call("create_notebook", nil)
	var cells []string
	for _, source := range []string{"print('a')", "1/0", "print('never')"} {
		cells = append(cells, firstID(t, a.call("create_cell", map[string]any{"source": source})))
	}
	a.call("create_cell", map[string]any{"source": "# text", "cell_type": "markdown"})
	text := a.call("run_all_cells", map[string]any{"from_cell_id": cells[0], "timeout_secs": 60})
	wantWords(t, text, "3 cells", "1 done", "1 error", "1 cancelled", "ZeroDivisionError", cells[2])
	if text := a.call("get_cell", map[string]any{"cell_id": cells[2]}); strings.Contains(text, "→ never") {
		t.Errorf("the cell after the error ran: %s", text)
	}
	a.call("set_cell_metadata", map[string]any{"cell_id": cells[1], "add_tags": "raises-exception"})
	wantWords(t, a.call("run_all_cells", map[string]any{"from_cell_id": cells[0], "to_cell_id": cells[2]}), "2 done", "1 error")
	wantWords(t, a.call("run_all_cells", map[string]any{"to_cell_id": cells[0]}), "2 cells", "2 done")
	text = a.call("run_all_cells", map[string]any{"from_cell_id": cells[0], "to_cell_id": cells[0], "wait": false})
	wantWords(t, text, "1 cells", executionID(t, text))
	a.fails(domain.CodeInvalidArgument, "run_all_cells", map[string]any{"from_cell_id": cells[1], "to_cell_id": cells[0]})
	wantWords(t, a.call("restart_kernel", map[string]any{"run_all": true}), "restarted", "3 done", "1 error")
}

func TestC121_ReadRightAfterRun(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("reader", nil)
	a.warm()
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "0"}))
	for i := range 100 {
		source := fmt.Sprintf("print('value', %d); %d", i, i)
		run := a.call("set_cell", map[string]any{"cell_id": cell, "source": source, "and_run": true})
		read := a.call("get_cell", map[string]any{"cell_id": cell})
		_, outputs, ok := strings.Cut(run, "\n")
		if !ok || !strings.HasSuffix(read, outputs) || !strings.Contains(outputs, fmt.Sprint("value ", i)) {
			t.Fatalf("run %d gave\n%s\nand the read after it\n%s", i, run, read)
		}
	}
}

func TestK10_ManyLinesAreShownInShort(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("flooder", nil)
	a.warm()
	text := a.call("create_cell", map[string]any{"source": "for i in range(100000): print(i)", "and_run": true, "timeout_secs": 80})
	wantWords(t, text, "done", "\n0\n", "99999", "left out", "get_results")
	if raw, err := json.Marshal(text); err != nil || len(raw) > 8000 {
		t.Errorf("%d bytes for the model, %v", len(raw), err)
	}
	if full := a.call("get_results", map[string]any{"execution_id": executionID(t, text), "full_output": true}); len(full) <= len(text) || len(full) > 64<<10 {
		t.Errorf("full output has %d bytes, the usual one %d", len(full), len(text))
	}
}

func TestC108_Images(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("painter", nil)
	a.warm()
	const source = `import struct, zlib, base64
from IPython.display import Image, display
def png(w, h):
    rows = (b'\0' + bytes([200, 30, 30]) * w) * h
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
display(Image(png(8, 8)))
display(Image(png(3000, 20)))`
	ans := a.try("create_cell", map[string]any{"source": source, "and_run": true, "timeout_secs": 60})
	if ans.images != 2 || ans.raw["structuredContent"] != nil {
		t.Errorf("%d images, structuredContent %v\n%s", ans.images, ans.raw["structuredContent"], ans.text)
	}
	wantWords(t, ans.text, "8 × 8", "image/png")
	cell := firstID(t, ans.text)
	if ans := a.try("get_cell", map[string]any{"cell_id": cell, "images": false}); ans.images != 0 {
		t.Errorf("%d images although none were asked for", ans.images)
	}
}

func TestConcurrentEditsOfOneCell(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("left", nil)
	a.call("create_notebook", map[string]any{"path": "shared.ipynb"})
	other := b.agent("right", nil)
	other.call("connect_notebook", map[string]any{"path": "shared.ipynb"})
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "<|>"}))
	const each = 50
	var wg sync.WaitGroup
	for _, side := range []struct {
		a              *agent
		match, content string
	}{{a, "<", "<a%d;"}, {other, ">", "b%d;>"}} {
		wg.Go(func() {
			for i := range each {
				content := fmt.Sprintf(side.content, i)
				side.a.call("replace_match", map[string]any{"cell_id": cell, "match": side.match, "content": content})
			}
		})
	}
	wg.Wait()
	testenv.Await(t, t.Context(), "both to see every insert", func() bool {
		x, y := a.call("get_cell", map[string]any{"cell_id": cell}), other.call("get_cell", map[string]any{"cell_id": cell})
		for i := range each {
			for _, insert := range []string{fmt.Sprintf("a%d;", i), fmt.Sprintf("b%d;", i)} {
				if strings.Count(x, insert) != 1 || strings.Count(y, insert) != 1 {
					return false
				}
			}
		}
		return true
	})
}
