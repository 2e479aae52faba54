package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLogFileRotatesAndKeepsWritesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "a.log")
	l, err := OpenLogFile(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				fmt.Fprintf(l, "%d-%02d %s\n", g, i, strings.Repeat("x", 20))
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".1"} {
		b, err := os.ReadFile(name)
		if err != nil || len(b) > 1000 || len(b) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(b), err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
			if len(line) != 25 {
				t.Errorf("a torn line: %q", line)
			}
		}
	}
	if _, err := l.Write([]byte("x")); err == nil {
		t.Error("a write after Close succeeded")
	}
}

func TestLogFileGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	for range 2 {
		l, err := OpenLogFile(path, 10)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(l, "123456\n")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path + ".1"); err != nil || string(b) != "123456\n" {
		t.Errorf("%q %v", b, err)
	}
}

func TestPruneLogs(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{"mcp-1.log": 0, "mcp-2.log": 9 * 24 * time.Hour, "other.log": 9 * 24 * time.Hour} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if n := PruneLogs(dir, "mcp-", now.Add(-7*24*time.Hour)); n != 1 {
		t.Errorf("removed %d", n)
	}
	if n := PruneLogs(dir+"/none", "mcp-", now); n != 0 {
		t.Errorf("removed %d from nowhere", n)
	}
}

func install(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestFingerprintsFollowTheContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runt")
	var sums Fingerprints
	if _, err := sums.Sum(path); err == nil {
		t.Error("a sum of nothing")
	}
	install(t, path, "one")
	one, err := sums.Sum(path)
	if err != nil {
		t.Fatal(err)
	}
	install(t, path, "two")
	two, err := sums.Sum(path)
	if err != nil || two == one {
		t.Errorf("%s %v", two, err)
	}
	install(t, path, "one")
	if again, err := sums.Sum(path); err != nil || again != one {
		t.Errorf("%s %v", again, err)
	}
	seen, sum, err := sums.Sight(path)
	if err != nil || sum != one {
		t.Errorf("sighted %s, %v", sum, err)
	}
	install(t, path, "three")
	if _, err := sums.SumOf(seen); !errors.Is(err, ErrChanged) {
		t.Errorf("the sum of a file that is gone: %v", err)
	}
	if _, sum, err := sums.Sight(path); sum != "" || err != nil {
		t.Errorf("a new file's sum is known: %s, %v", sum, err)
	}
	if _, err := sums.Sum(filepath.Dir(path)); err == nil {
		t.Error("a sum of a folder")
	}
}

func await(t *testing.T, sums <-chan string, want string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		select {
		case got := <-sums:
			if got == want {
				return
			}
		case <-limit:
			t.Fatalf("sum %s never told", want)
		}
	}
}

func TestP11_WatchTellsAReplacedProgram(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "v1", "runt"), filepath.Join(dir, "bin", "runt")
	for _, p := range []string{real, link, filepath.Join(dir, "v2", "runt")} {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install(t, real, "one")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	var sums Fingerprints
	sumOf := func(p string) string {
		s, err := sums.Sum(p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	told := make(chan string, 100)
	w, err := WatchProgram(link, &sums, slog.New(slog.DiscardHandler), func(s string) { told <- s })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	await(t, told, sumOf(link)) // the first look
	install(t, real, "two")
	await(t, told, sumOf(real))

	v2 := filepath.Join(dir, "v2", "runt")
	install(t, v2, "three")
	if err := os.Symlink(v2, link+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		t.Fatal(err)
	}
	await(t, told, sumOf(v2))
	install(t, v2, "four") // in a folder that became interesting later
	await(t, told, sumOf(v2))
}

func TestWatchOfAMissingFolder(t *testing.T) {
	var sums Fingerprints
	if _, err := WatchProgram(t.TempDir()+"/no/runt", &sums, slog.New(slog.DiscardHandler), nil); err == nil {
		t.Error("no error")
	}
}
