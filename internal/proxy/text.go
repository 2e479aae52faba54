package proxy

import (
	"fmt"
	"strings"
	"time"
)

// Text returns the report for a person, several lines.
func (r Report) Text(now time.Time) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("proxy %d, version %s, up %v", r.PID, r.Version, age(now, r.StartedAt))
	if r.Client != "" {
		line("  client    %s %s (MCP %s)", r.Client, r.ClientVersion, r.Protocol)
	}
	child := r.Child.State
	if r.Child.PID != 0 {
		child = fmt.Sprintf("%s, pid %d, version %s", child, r.Child.PID, r.Child.Version)
	}
	if !r.Child.Since.IsZero() && r.Child.State == "ready" {
		child += fmt.Sprintf(", for %v", age(now, r.Child.Since))
	}
	line("  child     %s", child)
	if r.Child.Program != "" {
		stale := ""
		if r.Child.Stale {
			stale = ", another version is on disk and is taken up when idle"
		}
		line("  program   %s (sha256 %.12s%s)", r.Child.Program, r.Child.SHA256, stale)
	}
	line("  restarts  %d: %d crashes, %d upgrades", max(0, r.Counts.Starts-1), r.Counts.Crashes, r.Counts.Upgrades)
	if r.Child.Fault != "" {
		line("  last      %s", r.Child.Fault)
	}
	breaker := r.Breaker.State
	if !r.Breaker.Until.IsZero() {
		breaker += fmt.Sprintf(", for another %v", r.Breaker.Until.Sub(now).Round(time.Second))
	}
	line("  breaker   %s, %d recent crashes", breaker, r.Breaker.Crashes)
	line("  calls     %d: %d answered, %d refused, %d sent again, %d in flight", r.Counts.Calls, r.Counts.Answered, r.Counts.Refused, r.Counts.Resent, r.InFlight)
	for _, n := range r.Notebooks {
		name, mark := n.Path, ""
		if name == "" {
			name = n.ID + " (untitled)"
		}
		if n.Default {
			mark = " (default)"
		}
		line("  notebook  %s%s", name, mark)
	}
	line("  log       %s", r.LogPath)
	return b.String()
}

func age(now, then time.Time) time.Duration { return now.Sub(then).Round(time.Second) }
