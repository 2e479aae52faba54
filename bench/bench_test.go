package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runt/internal/testenv"
	"runt/internal/testenv/leak"
	"runt/internal/testenv/pyenv"
	"runt/internal/trace"
)

func ms(all ...int) (s series) {
	for _, n := range all {
		s = append(s, time.Duration(n)*time.Millisecond)
	}
	return s
}

func TestQuantiles(t *testing.T) {
	s := ms(5, 1, 4, 2, 3)
	for _, tc := range []struct {
		name      string
		got, want time.Duration
	}{
		{"median", s.p50(), 3 * time.Millisecond},
		{"p95", s.p95(), 5 * time.Millisecond},
		{"minimum", s.min(), time.Millisecond},
		{"of nothing", series(nil).p50(), 0},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, tc.got, tc.want)
		}
	}
	if s[0] != 5*time.Millisecond {
		t.Error("the measurements were sorted in place")
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	// The second round was slow for both, which says nothing about either.
	if got := ms(2, 200, 2).over(ms(1, 100, 1)); got != 2 {
		t.Errorf("got %v, want 2", got)
	}
	if got := ms(2).over(nil); got != 0 {
		t.Errorf("over nothing: got %v, want 0", got)
	}
}

func TestSubjectsTakeTurns(t *testing.T) {
	var order []string
	note := func(name string) func(int) (time.Duration, error) {
		return func(round int) (time.Duration, error) {
			order = append(order, name)
			return time.Duration(round), nil
		}
	}
	all, err := inTurns([]subject{{"a", note("a")}, {"b", note("b")}}, 2, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "b", "a", "a", "b"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]series{{1, 2}, {1, 2}}, all); diff != "" {
		t.Errorf("the warm-up is not left out (-want +got):\n%s", diff)
	}
	broken := errors.New("broken")
	_, err = inTurns([]subject{{"a", func(int) (time.Duration, error) { return 0, broken }}}, 1, 0, 0)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "a") {
		t.Errorf("got error %v, want one that names the subject", err)
	}
}

func TestStagesOfATrace(t *testing.T) {
	at := func(ms int64, point, subject string) trace.Note {
		return trace.Note{At: ms * int64(time.Millisecond), Point: point, Subject: subject}
	}
	notes := []trace.Note{
		at(0, pointBegin, "x"), at(1, "client.request", ""), at(3, "room.request", ""), at(9, pointEnd, "x"), // a warm-up
		at(10, pointBegin, "other"), at(11, "client.request", ""), at(12, pointEnd, "other"),
		at(20, pointBegin, "x"), at(22, "client.request", ""), at(26, "room.request", ""), at(27, pointEnd, "x"), at(29, "room.closed", ""),
	}
	got := findStages("title", notes, "x", []leg{
		{"edit", pointBegin, "client.request", false}, {"send", "client.request", "room.request", false},
		{"never", "client.request", "no.such", false}, {"close", pointEnd, "room.closed", true},
	}, ms(7), ms(5))
	want := stages{Title: "title", N: 1, Total: 7, Raw: 5, List: []stage{
		{"edit", false, 2, 2, 2}, {"send", false, 4, 4, 4}, {"close", true, 2, 2, 2}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	var out bytes.Buffer
	if err := got.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sum of those waited for", "6.00 ms", "nobody waits for it", "ratio 1.40"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not show %q:\n%s", want, out.String())
		}
	}
}

func TestReportSaysWhichTargetsAreMet(t *testing.T) {
	r := &report{}
	r.durations("one", "base", ms(4, 4), nil, "", nil)
	r.durations("one", "fast", ms(5, 5), ms(4, 4), "base", timesAtMost(1.5))
	r.durations("one", "slow", ms(8, 8), ms(4, 4), "base", timesAtMost(1.5))
	r.amount("two", "size", unitBytes, 1, 100, atMost(50))
	r.note("and %s", "a note")
	var out bytes.Buffer
	if err := r.printTable(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one\n", "two\n", "1.25 × base", "2.00 × base", "≤ 1.5 ×", "≤ 50 bytes", "met", "missed", "and a note"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not show %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := r.printJSON(&out); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*r, back); diff != "" {
		t.Errorf("JSON does not come back as it was (-want +got):\n%s", diff)
	}
}

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown section", []string{"-python", "/bin/sh", "-only", "execute,nothing"}, `no section "nothing"`},
		{"no such interpreter", []string{"-python", "/no/such/python"}, "find Python"},
		{"no rounds", []string{"-python", "/bin/sh", "-n", "0"}, "at least one round"},
		{"an argument", []string{"-python", "/bin/sh", "all"}, "no argument"},
	} {
		if err := run(t.Context(), tc.args); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

func TestRawKernel(t *testing.T) {
	leak.Check(t)
	k, err := startRawKernel(t.Context(), pyenv.Python(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	streams, err := k.execute("print('x')")
	if err = errors.Join(err, k.close()); err != nil {
		t.Fatal(err)
	}
	if streams != 1 {
		t.Errorf("%d stream messages, want 1", streams)
	}
}

// TestSections measures some sections on the real programs, once.
func TestSections(t *testing.T) {
	leak.Check(t)
	o := options{bin: testenv.Binaries(t).Dir, python: pyenv.Python(t), rounds: 1}
	r := &report{}
	for _, s := range []func() error{
		func() error { return benchStages(t.Context(), o, r) },
		func() error { return benchEdits(t.Context(), o, r) },
		func() error { return benchMemory(t.Context(), o, r) },
	} {
		if err := s(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range r.Stages {
		if len(s.List) < len(editLegs) {
			t.Errorf("%s: only %d stages were found", s.Title, len(s.List))
		}
	}
}
