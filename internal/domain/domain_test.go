package domain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestDerivedIDsAreStableAndDistinct(t *testing.T) {
	first, again := DerivedCellID("call", 0), DerivedCellID("call", 0)
	if first != again {
		t.Errorf("the same call gave two cell ids, %s and %s", first, again)
	}
	seen := map[string]bool{}
	for _, s := range []string{
		string(DerivedCellID("call", 0)), string(DerivedCellID("call", 1)), string(DerivedCellID("call0", 0)),
		string(DerivedExecutionID("call", "a")), DerivedUUID("a", "bc"), DerivedUUID("ab", "c"),
	} {
		if seen[s] {
			t.Errorf("%q was derived twice", s)
		}
		seen[s] = true
	}
}

func TestIsUUID(t *testing.T) {
	for s, want := range map[string]bool{
		RandomIDs{rand.Reader}.UUID():           true,
		DerivedUUID("x"):                        true,
		"":                                      false,
		"30f03946-0b45-4509-a9d7-fb1f85ca70a":   false,
		"30f03946-0b45-4509-a9d7-fb1f85ca70ag":  false,
		"30f03946_0b45-4509-a9d7-fb1f85ca70ad":  false,
		"/tmp/30f03946-0b45-4509-a9d7-fb1f85ca": false,
	} {
		if got := IsUUID(s); got != want {
			t.Errorf("IsUUID(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestErrorSaysWhatToDo(t *testing.T) {
	err := fmt.Errorf("open: %w", Errorf(CodeFileUnreadable, "cannot read a.ipynb: %w", fs.ErrPermission).WithHint("Run chmod u+r %s.", "a.ipynb"))
	if got, want := CodeOf(err), CodeFileUnreadable; got != want {
		t.Errorf("code %q, want %q", got, want)
	}
	if !errors.Is(err, fs.ErrPermission) || !errors.Is(err, &Error{Code: CodeFileUnreadable}) || errors.Is(err, &Error{Code: CodeTimeout}) {
		t.Error("the cause or the code is not found in the chain")
	}
	if got, want := err.Error(), "open: cannot read a.ipynb: permission denied. Run chmod u+r a.ipynb. [file_unreadable]"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if CodeOf(nil) != "" || CodeOf(errors.New("x")) != CodeInternal {
		t.Error("codes of foreign errors")
	}
}
