package nodeenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// limit bounds a program that is run.
const limit = 2 * time.Minute

// install returns a function that installs a part once in a process and says where it is.
func install(part string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		_, file, _, _ := runtime.Caller(0)
		cmd := exec.Command(filepath.Join(filepath.Dir(file), "..", "..", "..", "scripts", "conformance", "install"), part)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("scripts/conformance/install: %w\n%s", err, stderr.String())
		}
		return strings.TrimSpace(string(out)), nil
	})
}

var node, python = install("node"), install("python")

// Dir is the folder with node_modules. The first use on a machine installs it.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := node()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Python is a Python that has the MCP library, and no kernel.
func Python(t testing.TB) string {
	t.Helper()
	bin, err := python()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, "python")
}

// Command runs a program of a package, or a script, with the Node of the cache.
func Command(ctx context.Context, t testing.TB, script string, args ...string) *exec.Cmd {
	t.Helper()
	dir := Dir(t)
	if !filepath.IsAbs(script) {
		script = filepath.Join(dir, "node_modules", script)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules", "node", "bin", "node"), append([]string{script}, args...)...)
	cmd.WaitDelay = time.Second
	return cmd
}

// Run runs it and returns what it printed, on both outputs.
func Run(t testing.TB, script string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := Command(ctx, t, script, args...).CombinedOutput()
	return string(out), err
}

// WithToken returns the address of a server that passes requests on to another
// as they are, Host and Origin too, and adds the token that some clients cannot be told.
func WithToken(t testing.TB, to, token string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	})
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL + target.Path
}

// Check is one thing that the conformance suite looked at.
type Check struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, WARNING, INFO, FAILURE
	Message string `json:"errorMessage"`
}

// Conformance runs one scenario of the conformance suite against a server, and
// returns what it checked.
func Conformance(t testing.TB, server, scenario string) []Check {
	t.Helper()
	dir := t.TempDir()
	out, err := Run(t, "@modelcontextprotocol/conformance/dist/index.js", "server", "--url", server, "--scenario", scenario, "-o", dir)
	files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if len(files) != 1 {
		t.Fatalf("%s: %v, %d results\n%s", scenario, err, len(files), out)
	}
	data, err := os.ReadFile(files[0])
	var checks []Check
	if err == nil {
		err = json.Unmarshal(data, &checks)
	}
	if err != nil {
		t.Fatalf("results of %s: %v", scenario, err)
	}
	return checks
}
