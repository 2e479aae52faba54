package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// stat is what is read of /proc/PID/stat.
type stat struct {
	state string
	pgid  int
	start string // clock ticks since boot
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads the fields after the command name, which may hold spaces and parentheses itself.
func parseStat(b []byte) (stat, error) {
	end := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[end+1:]))
	if end < 0 || len(f) < 20 {
		return stat{}, fmt.Errorf("process status has %d fields", len(f))
	}
	pgid, err := strconv.Atoi(f[2])
	if err != nil {
		return stat{}, fmt.Errorf("process group %q: %w", f[2], err)
	}
	return stat{state: f[0], pgid: pgid, start: f[19]}, nil
}

func (s stat) ended() bool { return s.state == "Z" || s.state == "X" }

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
})

// Start returns a text that tells this process from every other that has or
// had its number. A process that has ended is an error.
func Start(pid int) (string, error) {
	s, err := readStat(pid)
	if err != nil {
		return "", fmt.Errorf("read start of process %d: %w", pid, err)
	}
	if s.ended() {
		return "", fmt.Errorf("read start of process %d: %w", pid, os.ErrProcessDone)
	}
	return s.start + "@" + bootID(), nil
}

// Group lists the living processes of a group.
func Group(pgid int) ([]int, error) {
	return list(func(pid int) bool {
		s, err := readStat(pid)
		return err == nil && s.pgid == pgid && !s.ended()
	})
}

// WithEnv lists the living processes that were started with NAME=value in their
// environment, as far as this user may look.
func WithEnv(name, value string) ([]int, error) {
	want := []byte("\x00" + name + "=" + value + "\x00")
	return list(func(pid int) bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err == nil && bytes.Contains(append([]byte{0}, b...), want)
	})
}

func list(keep func(pid int) bool) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && keep(pid) {
			out = append(out, pid)
		}
	}
	return out, nil
}

// AwaitExit waits until the child ends and leaves it to be reaped, so that its
// number and its group's cannot be given to others meanwhile.
func AwaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
