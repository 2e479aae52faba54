package rpcline

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
)

var jsonSeeds = []string{
	``, ` `, `{}`, `[]`, `null`, `tru`, `true`, `-`, `-0`, `01`, `1.`, `1.5e+3`, `1e`, `.5`, `"a`, `"\u00e9"`, `"\u00g9"`, `"\x"`, `"\`,
	"\"\x00\"", "\"\xff\"", `{"a":1,}`, `{"a" 1}`, `{a:1}`, `[1,2`, `[1 2]`, `{"a":{"b":[1,{"c":null}]}}`, "{}\x00", `{} {}`, "\ufeff{}",
	`123456789012345678901234567890`, `{"jsonrpc":"2.0","id":2,`, "{\"a\":\"\t\"}", "\v{}", `falsey`, `{"\u0069d":1}`,
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
}

func checkAgainstJSON(t *testing.T, b []byte) {
	t.Helper()
	s := scanner{b: b}
	_, err := s.value()
	if err == nil && !s.end() {
		err = errEnd
	}
	if got, want := err == nil, json.Valid(b); got != want {
		t.Errorf("%.80q: accepted %v (%v), encoding/json says %v", b, got, err, want)
	}
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, s := range jsonSeeds {
		checkAgainstJSON(t, []byte(s))
	}
}

// FuzzLine: the scanner accepts what encoding/json accepts; Parse, Batch, Get and
// the id functions never panic; what Parse finds is what a decoder finds.
func FuzzLine(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
		f.Add([]byte(`{"jsonrpc":"2.0","id":` + s + `,"method":"m","params":` + s + `}`))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"_meta":{"runt/notebook":{"event":"saved"}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkAgainstJSON(t, b)
		Batch(b)
		m, err := Parse(b)
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("an error of another type: %v", err)
		}
		if err != nil {
			return
		}
		Get(m.Params, "_meta", "progressToken")
		var want struct {
			ID, Params, Result json.RawMessage
		}
		if json.Unmarshal(b, &want) != nil {
			t.Fatalf("accepted %q", b)
		}
		if m.ID == nil {
			return
		}
		if IDKey(m.ID) != IDKey(append([]byte(nil), m.ID...)) {
			t.Errorf("id %q", m.ID)
		}
		out := Splice(m.Line, m.ID, []byte(`"x"`))
		if m2, err := Parse(out); err != nil || string(m2.ID) != `"x"` {
			t.Errorf("spliced %q into %q: %v", b, out, err)
		}
	})
}

// FuzzIDKey: numbers that meet under one key have one value.
func FuzzIDKey(f *testing.F) {
	for _, s := range []string{"1", "1.0", "-0", "0", "0.00", "1e2", "100", "9007199254740993", "9007199254740993.0", "1.5", "1e999999999", "-1.0"} {
		for _, o := range []string{"1", "9007199254740992", "100"} {
			f.Add(s, o)
		}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 40 || len(b) > 40 || strings.ContainsAny(a+b, "eE") || !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
			return
		}
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		if okX && okY && IDKey([]byte(a)) == IDKey([]byte(b)) && x.Cmp(y) != 0 {
			t.Errorf("%s and %s share a key", a, b)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := bytes.Repeat([]byte(`print(\"hello, world\")\n`), 1<<20/24)
	line := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + string(text) + `"}]}}`)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := Parse(line); err != nil {
			b.Fatal(err)
		}
	}
}
