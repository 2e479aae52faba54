package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runt/internal/domain"
)

func TestAddressesThatEverybodyReachesAreRefused(t *testing.T) {
	for _, tc := range []struct {
		addr       string
		everywhere bool
		hint       string // of the error; "" for none
	}{
		{"127.0.0.1:0", false, ""},
		{"localhost:0", false, ""},
		{":0", true, ""},
		{":8765", false, "127.0.0.1:8765"},
		{"0.0.0.0:8765", false, "--http-any"},
		{"[::]:8765", false, "127.0.0.1:8765"},
		{"8765", false, "127.0.0.1:8765"},
		{"127.0.0.1", false, "127.0.0.1:8765"},
		{"", false, "127.0.0.1:8765"},
		{"127.0.0.1:99999", false, "another port"},
	} {
		ln, err := ListenHTTP(tc.addr, tc.everywhere)
		if err == nil {
			if err := ln.Close(); err != nil {
				t.Error(err)
			}
		}
		var e *domain.Error
		if (err != nil) != (tc.hint != "") || err != nil && (!errors.As(err, &e) || !strings.Contains(e.Hint, tc.hint)) {
			t.Errorf("listen on %q: %v, want an error with the hint %q", tc.addr, err, tc.hint)
		}
	}
}

func TestX03_RequestsOfPagesAndStrangersAreRefused(t *testing.T) {
	g := newGuard("the right token", []string{"Notebooks.example"}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, tc := range []struct {
		host, origin, authorization string
		want                        int
	}{
		{"127.0.0.1:1", "", "Bearer the right token", 200},
		{"[::1]:1", "", "bearer the right token", 200},
		{"localhost", "http://localhost:3000", "Bearer the right token", 200},
		{"localhost:1", "http://127.0.0.1", "Bearer the right token", 200},
		{"LOCALHOST.:1", "http://[::1]:5", "Bearer the right token", 200},
		{"192.0.2.7:1", "", "Bearer the right token", 200},
		{"notebooks.example", "https://notebooks.example", "Bearer the right token", 200},
		{"evil.example", "", "Bearer the right token", 403},
		{"evil.example:1", "", "Bearer the right token", 403},
		{"localhost.evil.example", "", "Bearer the right token", 403},
		{"127.0.0.1.evil.example", "", "Bearer the right token", 403},
		{"", "", "Bearer the right token", 403},
		{"localhost", "http://evil.example", "Bearer the right token", 403},
		{"localhost", "http://localhost.evil.example", "Bearer the right token", 403},
		{"localhost", "http://192.0.2.7", "Bearer the right token", 403},
		{"localhost", "null", "Bearer the right token", 403},
		{"localhost", "localhost", "Bearer the right token", 403},
		{"localhost", "", "", 401},
		{"localhost", "", "Bearer", 401},
		{"localhost", "", "Bearer the wrong token", 401},
		{"localhost", "", "Basic the right token", 401},
		{"localhost", "", "the right token", 401},
	} {
		r := httptest.NewRequest(http.MethodPost, HTTPPath, nil)
		r.Host = tc.host
		if tc.origin != "" {
			r.Header.Set("Origin", tc.origin)
		}
		if tc.authorization != "" {
			r.Header.Set("Authorization", tc.authorization)
		}
		rec := httptest.NewRecorder()
		g.ServeHTTP(rec, r)
		if rec.Code != tc.want {
			t.Errorf("host %q, origin %q, authorization %q: status %d, want %d", tc.host, tc.origin, tc.authorization, rec.Code, tc.want)
		}
	}
}

func TestTheTokenIsMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	first, err := HTTPToken("", "", dir)
	if err != nil || !first.New || len(first.Text) < minToken {
		t.Fatalf("%+v, %v", first, err)
	}
	if st, err := os.Stat(first.File); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", st, err)
	}
	second, err := HTTPToken("", "", dir)
	if err != nil || second.New || second.Text != first.Text {
		t.Errorf("%+v, %v; want the first one", second, err)
	}
	if env, err := HTTPToken("", " sixteen-or-more-characters\n", dir); err != nil || env.Text != "sixteen-or-more-characters" {
		t.Errorf("%+v, %v", env, err)
	}
	file := filepath.Join(dir, "mine")
	for text, ok := range map[string]bool{"": false, "short": false, "has a space in the middle": false, "long-enough-to-be-one\n": true} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := HTTPToken(file, "the-environment-comes-second", dir); (err == nil) != ok {
			t.Errorf("a file with %q: %v", text, err)
		}
	}
	if _, err := HTTPToken(filepath.Join(dir, "none"), "", dir); domain.CodeOf(err) != domain.CodeInvalidArgument {
		t.Errorf("a file that is not there: %v", err)
	}
}

// keptAfter returns the events of a stream after a number, "gone" when they are not kept.
func keptAfter(s *eventStore, stream string, index int) string {
	var kept []string
	for data, err := range s.After(context.Background(), "", stream, index) {
		if err != nil {
			return "gone"
		}
		kept = append(kept, string(data))
	}
	return strings.Join(kept, " ")
}

func TestEventsAreKeptWithinLimits(t *testing.T) {
	ctx := t.Context()
	s := newEventStore(100, 3)
	add := func(stream string, events ...string) {
		t.Helper()
		err := s.Open(ctx, "", stream)
		for _, e := range events {
			err = errors.Join(err, s.Append(ctx, "", stream, []byte(e)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(stream string, after int, text string) {
		t.Helper()
		if got := keptAfter(s, stream, after); got != text {
			t.Errorf("stream %q after %d: %q, want %q", stream, after, got, text)
		}
	}
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	add("", "n0")
	add("a", "", "p1", answer)
	add("b", "p0")
	want("a", -1, " p1 "+answer)
	want("a", 1, answer)
	want("a", 2, "")
	want("never", -1, "gone")
	add("c", "p0") // the fourth: a has ended and goes
	want("a", 0, "gone")
	want("", -1, "n0")
	add("b", strings.Repeat("x", 99)) // too many bytes: the oldest that goes on is emptied
	want("", -1, "gone")
	want("", 0, "")
	want("b", -1, "gone")
	add("", "n1")
	want("", 0, "n1")
	want("c", -1, "p0")
	if err := s.SessionClosed(ctx, ""); err != nil || s.bytes != 0 {
		t.Errorf("%v, %d bytes", err, s.bytes)
	}
	if err := s.Append(ctx, "", "c", nil); !errors.Is(err, errEventsGone) {
		t.Errorf("append to a stream that is gone: %v", err)
	}
}

func TestMessagesThatAreAnswers(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"method":"x"}}`: true,
		`{"jsonrpc":"2.0","id":"a","error":{"code":1}}`:    true,
		`{"id":{"deep":[1,{"result":2}]},"result":1}`:      true,
		`{"jsonrpc":"2.0","method":"result"}`:              false,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:         false,
		``: false, `[]`: false, `{`: false, `{"a":`: false, `{"id":1}`: false,
	} {
		if got := isResponse([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestToolCallsAreAnnotated(t *testing.T) {
	c := &Client{httpID: "h", order: newOrder()}
	id := func(body string) string {
		t.Helper()
		m := c.annotateBody([]byte(body))
		var e struct {
			Params struct {
				Meta map[string]any `json:"_meta"`
			}
		}
		if err := json.Unmarshal(m.body, &e); err != nil || len(m.turns) != 1 || e.Params.Meta[metaTurn] != float64(m.turns[0]) {
			t.Fatalf("%s became %s, turns %v, %v", body, m.body, m.turns, err)
		}
		c.order.leave(m.turns[0])
		return fmt.Sprint(e.Params.Meta[metaCallID], e.Params.Meta["progressToken"])
	}
	const call = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"x","arguments":{"n":%s},"_meta":{"progressToken":7,"runt/call_id":"forged"}}}`
	one := id(fmt.Sprintf(call, "1", "12345678901234567890"))
	if again := id(fmt.Sprintf(call, "1", "12345678901234567890")); again != one || !strings.HasSuffix(one, "7") {
		t.Errorf("the same call sent again is %s, not %s", again, one)
	}
	for _, other := range []string{fmt.Sprintf(call, "1", "2"), fmt.Sprintf(call, `"1"`, "12345678901234567890"), fmt.Sprintf(call, "2", "12345678901234567890")} {
		if id(other) == one {
			t.Errorf("%s is taken for another call", other)
		}
	}
	batch := c.annotateBody([]byte(`[` + fmt.Sprintf(call, "3", "1") + `,{"jsonrpc":"2.0","method":"notifications/x"},` + fmt.Sprintf(call, "4", "1") + `]`))
	if len(batch.turns) != 2 || !json.Valid(batch.body) || strings.Count(string(batch.body), metaTurn) != 2 {
		t.Errorf("batch: %v %s", batch.turns, batch.body)
	}
	for _, n := range batch.turns {
		c.order.leave(n)
	}
	for _, plain := range []string{``, `x`, `[1,2]`, `{}`, `{"method":5}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"tools/call"}`, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}`} {
		if m := c.annotateBody([]byte(plain)); string(m.body) != plain || len(m.turns) != 0 {
			t.Errorf("%q became %q, turns %v", plain, m.body, m.turns)
		}
	}
	if err := c.order.enter(t.Context(), c.order.next()); err != nil {
		t.Errorf("a turn was not given back: %v", err)
	}
}

func FuzzAnnotateBody(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, `[{"id":1,"method":"tools/call"}]`, `{`, "null", `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"n"}}}`} {
		f.Add([]byte(s))
	}
	s := New(Options{})
	f.Fuzz(func(t *testing.T, body []byte) {
		c := s.NewClient(nil)
		defer c.Close()
		c.order = newOrder()
		m := c.annotateBody(slices.Clone(body))
		if json.Valid(body) != json.Valid(m.body) {
			t.Errorf("%q became %q", body, m.body)
		}
		for _, n := range m.turns {
			c.order.leave(n)
		}
		if err := c.order.enter(t.Context(), c.order.next()); err != nil {
			t.Error(err)
		}
	})
}
