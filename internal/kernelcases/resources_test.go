package kernelcases

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"runt/internal/testenv"
)

// readURI reads a resource and returns its text, or the bytes of its blob.
func (a *agent) readURI(uri string) (text string, err any) {
	a.t.Helper()
	m := a.request("resources/read", map[string]any{"uri": uri})
	res, _ := m["result"].(map[string]any)
	list, _ := res["contents"].([]any)
	if len(list) == 0 {
		return "", m["error"]
	}
	c, _ := list[0].(map[string]any)
	if c["uri"] != uri {
		a.t.Errorf("%s: the contents are of %v", uri, c["uri"])
	}
	if s, ok := c["blob"].(string); ok {
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			a.t.Fatal(err)
		}
		return string(raw), nil
	}
	text, _ = c["text"].(string)
	return text, nil
}

func TestResources(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	text := n.run("from IPython.display import display\nprint('start')\nfor i in range(30000): print('line', i)\ndisplay({'application/x-thing': 'AAECAw==', 'text/plain': 'thing'}, raw=True)")
	want(t, fmt.Sprint(n.request("resources/list", nil)["result"]), "runt://notebooks")
	want(t, fmt.Sprint(n.request("resources/templates/list", nil)["result"]), "runt://notebooks/{id}/cells/{cell_id}", "runt://blobs/{sha256}")
	for uri, word := range map[string]string{
		"runt://notebooks": n.id, "runt://notebooks/" + n.id + "/cells": "range(30000)", "runt://notebooks/" + n.id + "/cells/" + firstID(t, text): "line 0",
	} {
		got, err := n.readURI(uri)
		if !strings.Contains(got, word) {
			t.Errorf("%s: %v %.300s", uri, err, got)
		}
	}
	for _, uri := range []string{"runt://notebooks/" + n.id + "/cells/none", "runt://notebooks/7/cells", "runt://blobs/7", "runt://what", "file:///etc/passwd",
		"runt://blobs/" + strings.Repeat("0", 64), "runt://notebooks/00000000-0000-4000-8000-000000000000/cells"} {
		if got, err := n.readURI(uri); err == nil {
			t.Errorf("%s gave %.100s", uri, got)
		}
	}
	// What an answer only names is read by its address.
	uri := text[strings.Index(text, "runt://blobs/"):]
	uri, _, _ = strings.Cut(uri, "]")
	if got, err := n.readURI(uri); got != "\x00\x01\x02\x03" {
		t.Errorf("%s: %q %v", uri, got, err)
	}
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	uri := "runt://notebooks/" + n.id + "/cells"
	for _, u := range []string{uri, uri, "runt://notebooks"} {
		if m := n.request("resources/subscribe", map[string]any{"uri": u}); m["error"] != nil {
			t.Fatal(m["error"])
		}
	}
	updates := func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		count := 0
		for _, note := range n.notes {
			if p, _ := note["params"].(map[string]any); note["method"] == "notifications/resources/updated" && p["uri"] == uri {
				count++
			}
		}
		return count
	}
	began := time.Now()
	for range 30 {
		n.cell("x = 1")
	}
	testenv.Await(t, t.Context(), "an update", func() bool { return updates() > 0 })
	before := updates()
	n.cell("x = 2")
	testenv.Await(t, t.Context(), "an update after the last edit", func() bool { return updates() > before })
	if got, took := updates(), time.Since(began); got > int(took.Seconds())+2 {
		t.Errorf("%d updates in %v", got, took)
	}
	if m := n.request("resources/unsubscribe", map[string]any{"uri": uri}); m["error"] != nil {
		t.Fatal(m["error"])
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	n := shared(t).borrow(t)
	want(t, fmt.Sprint(n.request("prompts/list", nil)["result"]), "analyse-data", "fix-error")
	got := fmt.Sprint(n.request("prompts/get", map[string]any{"name": "analyse-data", "arguments": map[string]any{"data": "sales.csv", "question": "Which month?"}})["result"])
	want(t, got, "sales.csv", "Which month?", "create_notebook")
	if m := n.request("prompts/get", map[string]any{"name": "analyse-data"}); m["error"] == nil {
		t.Error("a prompt without what it needs")
	}
	cell := firstID(t, n.run("undefined_name + 1"))
	got = fmt.Sprint(n.request("prompts/get", map[string]any{"name": "fix-error", "arguments": map[string]any{"cell_id": cell}})["result"])
	want(t, got, cell)
}
