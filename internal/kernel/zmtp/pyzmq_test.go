package zmtp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runt/internal/testenv/pyenv"
)

// startPeer runs a libzmq socket in another process and returns where it listens.
func startPeer(t *testing.T, kind, endpoint string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(pyenv.Python(t), "testdata/peer.py", kind, endpoint)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func dial(t *testing.T, endpoint string, o Options) *Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := Dial(ctx, endpoint, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// endpoints are one of each transport.
func endpoints(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "zmtp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return []string{"tcp://127.0.0.1:*", "ipc://" + filepath.Join(dir, "s")}
}

func TestDealerTalksToARouterOfLibzmq(t *testing.T) {
	for _, where := range endpoints(t) {
		_, endpoint := startPeer(t, "ROUTER", where)
		c := dial(t, endpoint, Options{Type: Dealer, Identity: []byte("me")})
		for _, n := range []int{0, 1, 255, 256, 65535, 65536, 1<<20 + 1, 9 << 20} {
			want := [][]byte{[]byte("first"), bytes.Repeat([]byte{byte(n)}, n), {}, []byte("last")}
			if err := c.Send(want...); err != nil {
				t.Fatalf("%s: send %d bytes: %v", endpoint, n, err)
			}
			got, err := c.Recv()
			if err != nil || len(got) != len(want) {
				t.Fatalf("%s: %d bytes came back as %d frames, %v", endpoint, n, len(got), err)
			}
			for i := range want {
				if !bytes.Equal(got[i], want[i]) {
					t.Errorf("%s: frame %d of %d bytes came back as %d bytes", endpoint, i, len(want[i]), len(got[i]))
				}
			}
		}
	}
}

func TestSubGetsItsTopicOnly(t *testing.T) {
	for _, where := range endpoints(t) {
		_, endpoint := startPeer(t, "XPUB", where)
		c := dial(t, endpoint, Options{Type: Sub})
		if err := c.Subscribe("topic"); err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			got, err := c.Recv()
			if err != nil || len(got) != 3 || string(got[1]) != fmt.Sprint(i) || len(got[2]) != i {
				t.Fatalf("%s: message %d is %.100q, %v", endpoint, i, got, err)
			}
		}
	}
}

func TestReqTalksToARep(t *testing.T) {
	for _, where := range endpoints(t) {
		_, endpoint := startPeer(t, "REP", where)
		c := dial(t, endpoint, Options{Type: Req})
		for range 3 {
			if err := c.Send(nil, []byte("ping")); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Recv(); err != nil || len(got) != 2 || string(got[1]) != "ping" {
				t.Fatalf("%s: got %q, %v", endpoint, got, err)
			}
		}
	}
}

func TestKilledPeerIsNoticed(t *testing.T) {
	cmd, endpoint := startPeer(t, "ROUTER", endpoints(t)[1])
	c := dial(t, endpoint, Options{Type: Dealer})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Await(); !errors.Is(err, io.EOF) {
		t.Errorf("await of a killed peer: %v", err)
	}
	if _, err := c.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("receive from a killed peer: %v", err)
	}
}
