//go:build !linux

package proc

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Start returns a text that tells this process from every other that has or
// had its number. A process that has ended is an error.
func Start(pid int) (string, error) {
	b, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 || strings.HasPrefix(f[0], "Z") {
		return "", fmt.Errorf("read start of process %d: no such process", pid)
	}
	return strings.Join(f[1:], " "), nil
}

// Group lists the living processes of a group.
func Group(pgid int) ([]int, error) {
	b, err := exec.Command("ps", "-A", "-o", "pid=,pgid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var out []int
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) == 3 && f[1] == strconv.Itoa(pgid) && !strings.HasPrefix(f[2], "Z") {
			if pid, err := strconv.Atoi(f[0]); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out, nil
}

// WithEnv lists nothing: other processes' environments cannot be read here.
func WithEnv(string, string) ([]int, error) { return nil, nil }

// AwaitExit returns at once: the caller reaps the child, and its group is ended right after.
func AwaitExit(int) {}
