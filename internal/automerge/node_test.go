package automerge

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// interopDir holds the JavaScript side of the interop test.
const interopDir = "../../scripts/interop"

// node is a Node process with documents of @automerge/automerge.
type node struct {
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Reader
}

// request and reply are the lines that are exchanged with peer.mjs.
type request struct {
	Op    string `json:"op"`
	Doc   string `json:"doc,omitempty"`
	Sync  string `json:"sync,omitempty"`
	Actor string `json:"actor,omitempty"`
	Bytes []byte `json:"bytes,omitempty"`
	Seed  uint32 `json:"seed,omitempty"`
	N     int    `json:"n,omitempty"`
}

type reply struct {
	Error   string          `json:"error"`
	Bytes   []byte          `json:"bytes"`
	Heads   []Hash          `json:"heads"`
	JSON    any             `json:"json"`
	Fresh   any             `json:"fresh"`
	Release json.RawMessage `json:"release"`
}

// startNode starts peer.mjs. It returns nil when Node, or the library, is not
// to be had here and required is false.
func startNode(t testing.TB, required bool) *node {
	t.Helper()
	dir, err := installInterop()
	if err != nil {
		if required {
			t.Fatal(err)
		}
		t.Logf("interop is not tried: %v", err)
		return nil
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "peer.mjs"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	n := &node{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		if stderr.Len() > 0 {
			t.Logf("node said: %s", &stderr)
		}
	})
	return n
}

// installInterop copies the JavaScript side into a cache folder named after its
// lock file and installs the library there, once.
func installInterop() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
	}
	lock, err := os.ReadFile(filepath.Join(interopDir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "runt-go", "interop-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json", "peer.mjs"} {
		b, err := os.ReadFile(filepath.Join(interopDir, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@automerge", "automerge", "package.json")); err == nil {
		return dir, nil
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return dir, nil
}

func (n *node) call(r request) reply {
	n.t.Helper()
	line, err := json.Marshal(r)
	must(n.t, err)
	_, err = n.in.Write(append(line, '\n'))
	must(n.t, err)
	answer, err := n.out.ReadBytes('\n')
	must(n.t, err)
	var a reply
	must(n.t, json.Unmarshal(answer, &a))
	if a.Error != "" {
		n.t.Fatalf("%s: %s", r.Op, a.Error)
	}
	return a
}

// plain shows a document value the way peer.mjs does.
func plain(v any) any {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case uint64:
		return float64(x)
	case Text:
		return map[string]any{"text": string(x)}
	case string:
		return map[string]any{"str": x}
	case Counter:
		return map[string]any{"counter": float64(x)}
	case Timestamp:
		return map[string]any{"time": float64(x)}
	case []byte:
		return map[string]any{"bytes": toBase64(x)}
	case []any:
		l := make([]any, len(x))
		for i, e := range x {
			l[i] = plain(e)
		}
		return l
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[k] = plain(e)
		}
		return map[string]any{"map": m}
	}
	return v
}
