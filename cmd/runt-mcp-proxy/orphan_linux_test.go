package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"runt/internal/proxy"
	"runt/internal/proxy/proxytest"
)

// watched is a process that is no child of ours.
type watched struct{ pid, fd int }

func watch(t *testing.T, pid int) watched {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return watched{pid, fd}
}

func (w watched) goneWithin(t *testing.T, limit time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 {
			t.Errorf("process %d is still there after %v (%v)", w.pid, limit, err)
		}
		return
	}
}

// parent returns a process's parent.
func parent(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	ppid, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		t.Fatal(err)
	}
	return ppid
}

// A client with a call that never ends, or a proxy, is killed with SIGKILL, and
// the child of the second kind of test heeds nothing but SIGKILL.
func TestP09_NothingOutlivesAKilledClientOrProxy(t *testing.T) {
	for name, settings := range map[string][]string{"client": nil, "proxy": nil, "client of a deaf child": {"FAKE_DEAF=1"}, "proxy of a deaf child": {"FAKE_DEAF=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := proxytest.NewFakeChild(t, "1.0")
			child.Install("1.0", settings...)
			cmd := exec.Command(os.Args[0])
			cmd.Env = environ(t, "client", proxy.ProgramVar+"="+child.Path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := childPID(t, bufio.NewScanner(out))
			proxyPID := parent(t, pid)
			grandchild, middle := watch(t, pid), watch(t, proxyPID)
			if strings.HasPrefix(name, "client") {
				err = cmd.Process.Kill()
			} else {
				err = unix.Kill(proxyPID, unix.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
			middle.goneWithin(t, 6*time.Second) // five seconds, and one for a busy machine
			grandchild.goneWithin(t, 6*time.Second)
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed, or ended with its proxy
		})
	}
}

// childPID reads answers until the one of "who".
func childPID(t *testing.T, lines *bufio.Scanner) int {
	t.Helper()
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     int
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID == 2 {
			pid, err := strconv.Atoi(strings.Fields(m.Result.Content[0].Text)[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no answer: %v", lines.Err())
	return 0
}
