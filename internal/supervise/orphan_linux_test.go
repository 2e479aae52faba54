package supervise

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The parent is killed while its child ignores the end of its stdin and SIGTERM.
func TestP09_NoChildOutlivesAKilledParent(t *testing.T) {
	parent, r := startFake(t, "parent", nil)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := syscall.Kill(parent.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n, err := 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
	}
	if n != 1 {
		t.Fatalf("process %d outlived its parent (%v)", pid, err)
	}
}
