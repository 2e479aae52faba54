package present

import (
	"fmt"
	"strings"
	"testing"
)

func TestTracebacks(t *testing.T) {
	for _, c := range []struct {
		name, ename, evalue string
		traceback           []string
		want                string
	}{
		{"none", "ExecutionError", "kernel refused", nil, "ExecutionError: kernel refused"},
		{"no message", "KeyboardInterrupt", "", nil, "KeyboardInterrupt"},
		{"no name", "", "it failed", nil, "it failed"},
		{"colours", "ValueError", "bad", []string{"\x1b[31m-----\x1b[39m", "\x1b[31mValueError\x1b[39m: bad"}, "ValueError: bad"},
		{"exception left out by the kernel", "E", "why", []string{"File \"a.py\", line 1"}, "File \"a.py\", line 1\nE: why"},
		{"plain Python", "ZeroDivisionError", "division by zero", []string{`Traceback (most recent call last):
  File "/home/me/main.py", line 3, in <module>
    lib.call()
  File "/usr/lib/python3.11/json/decoder.py", line 9, in call
    return inner()
  File "/usr/lib/python3.11/json/decoder.py", line 12, in inner
    1/0
ZeroDivisionError: division by zero`}, `Traceback (most recent call last):
  File "/home/me/main.py", line 3, in <module>
    lib.call()
[… 1 frame left out in json]
  File "/usr/lib/python3.11/json/decoder.py", line 12, in inner
    1/0
ZeroDivisionError: division by zero`},
		{"R", "ERROR", "object 'x' not found", []string{"Error in eval(expr, envir, enclos): object 'x' not found", "Traceback:"},
			"Error in eval(expr, envir, enclos): object 'x' not found\nTraceback:\nERROR: object 'x' not found"},
	} {
		if got := Traceback(c.ename, c.evalue, c.traceback, false); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestLongTracebacksAreCut(t *testing.T) {
	tb := []string{strings.Repeat("-", 75), "RecursionError                            Traceback (most recent call last)"}
	for range 3000 {
		tb = append(tb, "Cell In[1], line 1, in r(n)\n----> 1 def r(n): return r(n+1)\n")
	}
	tb = append(tb, "RecursionError: maximum recursion depth exceeded")
	got := Traceback("RecursionError", "maximum recursion depth exceeded", tb, false)
	if n := strings.Count(got, "Cell In[1]"); n != framesFirst+framesLast || !strings.Contains(got, "[… 2994 frames left out]") {
		t.Errorf("%d frames remain:\n%s", n, got)
	}
	if !strings.HasPrefix(got, "Traceback (most recent call last):\n") || !strings.HasSuffix(got, "\nRecursionError: maximum recursion depth exceeded") {
		t.Errorf("got\n%s", got)
	}
	if full := Traceback("RecursionError", "", tb, true); strings.Count(full, "Cell In[1]") != 3000 {
		t.Error("the full one is cut")
	}
	long := "ValueError: " + strings.Repeat("z", 20000)
	got = Traceback("ValueError", strings.Repeat("z", 20000), []string{"Traceback (most recent call last):", "Cell In[1], line 1\n----> 1 f()\n", long}, false)
	if len(got) > 2500 || !strings.Contains(got, "kB left out") || !strings.Contains(got, "ValueError: zzz") {
		t.Errorf("%d bytes of a message: %.100s", len(got), got)
	}
}

func TestLibraryFramesAreNamed(t *testing.T) {
	tb := []string{"Traceback (most recent call last):", "Cell In[1], line 1\n----> 1 df.x()\n"}
	for _, lib := range []string{"pandas", "numpy", "torch", "scipy"} {
		for i := range 3 {
			tb = append(tb, fmt.Sprintf("File /v/lib/python3.12/site-packages/%s/core.py:%d, in f()\n      %d a\n----> %d b\n      %d c\n", lib, i, i, i+1, i+2))
		}
	}
	tb = append(tb, "KeyError: 'x'")
	want := `Traceback (most recent call last):
Cell In[1], line 1
----> 1 df.x()

[… 11 frames left out in pandas, numpy, torch]
File /v/lib/python3.12/site-packages/scipy/core.py:2, in f()
----> 3 b
KeyError: 'x'`
	if got := Traceback("KeyError", "'x'", tb, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzTraceback(f *testing.F) {
	f.Add("E", "v", "Cell In[1], line 1\n----> 1 x\nE: v")
	f.Add("", "", "File \n\n--> \nFile /lib/python3/x")
	f.Fuzz(func(t *testing.T, name, value, tb string) {
		for _, full := range []bool{false, true} {
			got := Traceback(name, value, strings.Split(tb, "|"), full)
			if strings.ContainsFunc(got, control) {
				t.Errorf("control character in %q", got)
			}
		}
	})
}
