package profile

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"runt/internal/testenv"
	"runt/internal/testenv/leak"
)

func TestServe(t *testing.T) {
	leak.Check(t)
	dir := testenv.ShortDir(t)
	t.Setenv(EnvDir, dir)
	stop, err := Serve("p")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	sockets, err := filepath.Glob(filepath.Join(dir, "p-*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %v, error %v", sockets, err)
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", sockets[0])
	}}
	defer tr.CloseIdleConnections()
	res, err := (&http.Client{Transport: tr}).Get("http://x/debug/pprof/heap")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("status %s", res.Status)
	}
}

func TestNothingIsServedUnasked(t *testing.T) {
	t.Setenv(EnvDir, "")
	stop, err := Serve("p")
	if err != nil {
		t.Fatal(err)
	}
	stop()
}

func TestAMissingFolderIsAnError(t *testing.T) {
	t.Setenv(EnvDir, filepath.Join(t.TempDir(), "none"))
	if _, err := Serve("p"); err == nil {
		t.Error("no error")
	}
}
