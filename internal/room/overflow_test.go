package room

import (
	"fmt"
	"strings"
	"testing"
)

func TestK10_TheEndOfALongStreamIsKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		want  string
	}{
		{"nothing", nil, ""},
		{"short", []string{"ab", "c\n"}, "abc\n"},
		{"cut at a line", []string{strings.Repeat("0123456\n", 6), "end"}, "\n[output limit of 64 bytes reached: 32 bytes printed here are not kept]\n0123456\n0123456\nend"},
		{"between characters", []string{strings.Repeat("é", 21)}, "\n[output limit of 64 bytes reached: 26 bytes printed here are not kept]\néééééééé"},
		{"redrawn", []string{"a\r", "b"}, "b"},
	} {
		o := &overflow{limit: 64, keep: 16}
		for _, p := range c.parts {
			o.write(p)
		}
		if got := o.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	var none *overflow
	if got := none.String(); got != "" {
		t.Errorf("nil: %q", got)
	}
	if got := cutText("aé", 2); got != "a" {
		t.Errorf("cutText: %q", got)
	}
	if got := fmt.Sprint(mebibytes(8<<20), mebibytes(5)); got != "8 MiB5 bytes" {
		t.Errorf("mebibytes: %s", got)
	}
}
