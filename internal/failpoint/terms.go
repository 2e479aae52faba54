package failpoint

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type action int

const (
	actOff action = iota
	actError
	actPanic
	actDelay
	actPause
	actExit
	actKill
)

// term is one step: an action, done count times; -1 stands for always.
type term struct {
	count  int
	action action
	text   string
	delay  time.Duration
	code   int
}

// parse reads terms such as "2*off->error(disk full)".
func parse(s string) ([]term, error) {
	var ts []term
	for part := range strings.SplitSeq(s, "->") {
		t, err := parseTerm(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	return ts, nil
}

func parseTerm(s string) (term, error) {
	t := term{count: -1}
	if n, rest, ok := strings.Cut(s, "*"); ok && !strings.Contains(n, "(") {
		count, err := strconv.Atoi(strings.TrimSpace(n))
		if err != nil || count < 0 {
			return t, fmt.Errorf("the count %q is not a number", n)
		}
		t.count, s = count, strings.TrimSpace(rest)
	}
	name, arg, hasArg := strings.Cut(s, "(")
	if hasArg {
		var ok bool
		if arg, ok = strings.CutSuffix(arg, ")"); !ok {
			return t, fmt.Errorf("%q has no closing parenthesis", s)
		}
	}
	var err error
	switch name {
	case "off":
	case "error":
		t.action, t.text = actError, orDefault(arg, "error")
	case "panic":
		t.action, t.text = actPanic, orDefault(arg, "panic")
	case "delay":
		t.action = actDelay
		t.delay, err = time.ParseDuration(arg)
	case "pause":
		t.action = actPause
	case "exit":
		t.action = actExit
		t.code, err = strconv.Atoi(orDefault(arg, "1"))
	case "kill":
		t.action = actKill
	default:
		err = fmt.Errorf("there is no action %q", name)
	}
	return t, err
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
