package mcpserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"runt/internal/testenv"
	"runt/internal/toolspec"
)

func TestP01_CapabilitiesAreWhatTheProxySays(t *testing.T) {
	var want, got any
	if err := json.Unmarshal(toolspec.CapabilitiesJSON(), &want); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(capabilities())
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the server says %s, the proxy %s, %v", text, toolspec.CapabilitiesJSON(), err)
	}
}

func TestAddressesOfResources(t *testing.T) {
	const id = "30f03946-0b45-4509-a9d7-fb1f85ca70ad"
	hash := strings.Repeat("ab", 32)
	for uri, want := range map[string]resource{
		"runt://notebooks":                                   {kind: uriNotebooks},
		"runt://notebooks/" + id + "/cells":                  {kind: uriCells, notebook: id},
		"runt://notebooks/" + id + "/cells/cell-1":           {kind: uriCell, notebook: id, cell: "cell-1"},
		"runt://notebooks/" + id + "/cells/a%2Fb%20c":        {kind: uriCell, notebook: id, cell: "a/b c"},
		"runt://blobs/" + hash:                               {kind: uriBlob, blob: hash},
		"runt://notebooks/":                                  {},
		"runt://notebooks/" + id:                             {},
		"runt://notebooks/" + id + "/cells/":                 {},
		"runt://notebooks/" + id + "/cells/a/b":              {},
		"runt://notebooks/../etc/cells":                      {},
		"runt://blobs/../../etc/passwd":                      {},
		"runt://blobs/":                                      {},
		"runt://notebooks/" + id + "/cells/%zz":              {},
		"file:///etc/passwd":                                 {},
		"":                                                   {},
		"runt://notebooks/" + id + "/cells\x00/x":            {},
		"runt://notebooks/" + strings.ToUpper(id) + "/cells": {kind: uriCells, notebook: id},
	} {
		if got := parseURI(uri); got != want {
			t.Errorf("%q: %+v, want %+v", uri, got, want)
		}
	}
}

// readURI reads a resource; its contents are there even of an error.
func (a *agent) readURI(uri string) (contents []map[string]any, failed string) {
	a.t.Helper()
	m := a.request("resources/read", map[string]any{"uri": uri})
	if m["error"] != nil {
		return nil, fmt.Sprint(m["error"])
	}
	res, _ := m["result"].(map[string]any)
	list, _ := res["contents"].([]any)
	for _, c := range list {
		entry, _ := c.(map[string]any)
		contents = append(contents, entry)
	}
	return contents, ""
}

func (a *agent) mustRead(uri string) []map[string]any {
	a.t.Helper()
	contents, failed := a.readURI(uri)
	if failed != "" || len(contents) == 0 {
		a.t.Fatalf("read %s: %s", uri, failed)
	}
	return contents
}

func TestResourcesShowNotebooksAndCells(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("reader", nil)
	a.warm()
	id := shared.warm
	ran := a.call("create_cell", map[string]any{"source": "print('shown as a resource')\nimport base64\nfrom IPython.display import Image, display\n" +
		"display(Image(data=base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==')))", "and_run": true, "timeout_secs": 60})
	cell := firstID(t, ran)
	var notebooks []notebookEntry
	if err := json.Unmarshal([]byte(fmt.Sprint(a.mustRead(uriNotebooks)[0]["text"])), &notebooks); err != nil {
		t.Fatal(err)
	}
	uri := ""
	for _, n := range notebooks {
		if n.ID == id && n.Held && n.Default && len(n.Peers) > 0 {
			uri = n.URI
		}
	}
	var cells []cellEntry
	if err := json.Unmarshal([]byte(fmt.Sprint(a.mustRead(uri)[0]["text"])), &cells); err != nil {
		t.Fatal(err)
	}
	last := cells[len(cells)-1]
	if last.ID != cell || last.Status != "done" || !strings.HasPrefix(last.Source, "print(") {
		t.Errorf("the last cell is %+v", last)
	}
	contents := a.mustRead(uri + "/" + cell)
	wantWords(t, fmt.Sprint(contents[0]["text"]), cell, "shown as a resource")
	if len(contents) != 2 || contents[1]["mimeType"] != "image/png" || contents[1]["blob"] == "" {
		t.Errorf("contents %v, want the text and an image", contents)
	}
	for _, gone := range []string{uri + "/nope", "runt://notebooks/30f03946-0b45-4509-a9d7-fb1f85ca70ad/cells", "runt://blobs/" + strings.Repeat("ab", 32), "file:///etc/passwd"} {
		if _, failed := a.readURI(gone); !strings.Contains(failed, "Resource not found") {
			t.Errorf("read %s: %q, want that it is not there", gone, failed)
		}
	}
}

func TestS29_URLsFollowADaemonRestart(t *testing.T) {
	b := newBed(t)
	a := b.agent("fetcher", nil)
	a.call("create_notebook", nil)
	text := a.call("create_cell", map[string]any{"and_run": true, "timeout_secs": 60,
		"source": "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"><desc>' + 'x' * 20000 + '</desc></svg>')"})
	_, rest, ok := strings.Cut(text, "runt://blobs/")
	if !ok || len(rest) < 64 {
		t.Fatalf("no blob in %s", text)
	}
	uri := "runt://blobs/" + rest[:64]
	seen := map[string]bool{}
	for range 3 {
		contents := a.mustRead(uri)[0]
		meta, _ := contents["_meta"].(map[string]any)
		at, _ := meta[metaURL].(string)
		resp, err := http.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != contents["text"] || contents["mimeType"] != "image/svg+xml" {
			t.Errorf("%s: status %d, %d bytes, %v; the resource has %v", at, resp.StatusCode, len(body), err, contents["mimeType"])
		}
		seen[at] = true
		b.stop()
		if resp, err := http.Get(at); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s is served without a daemon", at)
		}
		b.start()
	}
	if len(seen) != 3 {
		t.Errorf("the URLs %v, want another after every restart", seen)
	}
}

func TestSubscriptionsTellOfChanges(t *testing.T) {
	b := sharedBed(t)
	a, other := b.agent("subscriber", nil), b.agent("other", nil)
	id := firstID(t, a.call("create_notebook", nil))
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "1"}))
	cells := strings.ReplaceAll(uriCells, "{id}", id)
	for _, uri := range []string{uriNotebooks, cells, cells + "/" + cell, "test://of-somebody-else"} {
		if m := a.request("resources/subscribe", map[string]any{"uri": uri}); m["error"] != nil {
			t.Fatalf("subscribe to %s: %v", uri, m["error"])
		}
	}
	if m := a.request("resources/subscribe", map[string]any{"uri": cells + "/none"}); m["error"] == nil {
		t.Error("a cell that is not there can be subscribed to")
	}
	updates := func(uri string) int {
		a.mu.Lock()
		defer a.mu.Unlock()
		n := 0
		for _, m := range a.notes {
			params, _ := m["params"].(map[string]any)
			if m["method"] == "notifications/resources/updated" && params["uri"] == uri {
				n++
			}
		}
		return n
	}
	other.call("create_cell", map[string]any{"notebook": id, "source": "of the other"})
	testenv.Await(t, t.Context(), "an update of the cells", func() bool { return updates(cells) > 0 })
	testenv.Await(t, t.Context(), "an update of the notebooks", func() bool { return updates(uriNotebooks) > 0 })
	if n := updates(cells + "/" + cell); n != 0 {
		t.Errorf("%d updates of a cell that has not changed", n)
	}
	began := time.Now()
	for i := range 50 {
		other.call("set_cell", map[string]any{"notebook": id, "cell_id": cell, "source": fmt.Sprint("x = ", i)})
	}
	testenv.Await(t, t.Context(), "an update of the cell", func() bool { return updates(cells+"/"+cell) > 0 })
	if n, most := updates(cells+"/"+cell), 2+int(time.Since(began)/updateEvery); n > most {
		t.Errorf("%d updates in %v", n, time.Since(began))
	}
	a.request("resources/unsubscribe", map[string]any{"uri": cells})
	n := updates(cells)
	before := updates(cells + "/" + cell)
	other.call("set_cell", map[string]any{"notebook": id, "cell_id": cell, "source": "last"})
	testenv.Await(t, t.Context(), "the last update", func() bool { return updates(cells+"/"+cell) > before })
	if updates(cells) != n {
		t.Error("updates come after the end of a subscription")
	}
}

func TestPromptsAndCompletions(t *testing.T) {
	b := sharedBed(t)
	a := b.agent("prompted", nil)
	id := firstID(t, a.call("create_notebook", map[string]any{"path": "prompted.ipynb"}))
	cell := firstID(t, a.call("create_cell", map[string]any{"source": "1"}))
	get := func(name string, args map[string]any) string {
		return fmt.Sprint(a.request("prompts/get", map[string]any{"name": name, "arguments": args}))
	}
	wantWords(t, get("analyse-data", map[string]any{"data": "prices.csv", "question": "Why so dear?"}), "prices.csv", "Why so dear?", "create_notebook")
	wantWords(t, get("fix-error", map[string]any{"cell_id": "c1", "notebook": "n.ipynb"}), "c1", "n.ipynb", "connect_notebook")
	wantWords(t, get("fix-error", nil), "errors_only=true")
	for _, bad := range []string{get("analyse-data", nil), get("none", nil)} {
		wantWords(t, bad, "error")
	}
	complete := func(ref map[string]any, name, value string, known map[string]any) string {
		m := a.request("completion/complete", map[string]any{"ref": ref, "argument": map[string]any{"name": name, "value": value}, "context": map[string]any{"arguments": known}})
		res, _ := m["result"].(map[string]any)
		c, _ := res["completion"].(map[string]any)
		return fmt.Sprint(c["values"])
	}
	promptRef := map[string]any{"type": "ref/prompt", "name": "fix-error"}
	wantWords(t, complete(promptRef, "notebook", b.dir, nil), "prompted.ipynb")
	wantWords(t, complete(promptRef, "cell_id", "cell-", nil), cell)
	wantWords(t, complete(map[string]any{"type": "ref/resource", "uri": uriCells}, "id", id[:5], nil), id)
	wantWords(t, complete(map[string]any{"type": "ref/resource", "uri": uriCell}, "cell_id", cell[:9], map[string]any{"id": id}), cell)
	if got := complete(promptRef, "notebook", "nothing begins like this", nil); got != "[]" {
		t.Errorf("completions %s, want none", got)
	}
}
