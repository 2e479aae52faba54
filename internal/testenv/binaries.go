package testenv

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BinariesEnvVar names a folder with ready programs; tests then build none.
const BinariesEnvVar = "RUNT_TEST_BINARIES"

// oldBinaries is how long programs of earlier test runs are kept.
const oldBinaries = 24 * time.Hour

// Programs holds the paths of the built programs.
type Programs struct {
	Dir   string // the folder of all of them
	Runt  string
	Runtd string // runtimed
	Proxy string // runt-mcp-proxy
}

var binaries = sync.OnceValues(func() (Programs, error) {
	if dir := os.Getenv(BinariesEnvVar); dir != "" {
		return programsIn(dir), nil
	}
	_, file, _, _ := runtime.Caller(0)
	return buildPrograms(filepath.Dir(filepath.Dir(filepath.Dir(file))), "")
})

// Binaries builds the programs of cmd/ and says where they are. They are built
// once for one state of the sources, however many test processes ask, with the
// race detector when the test has it.
func Binaries(t testing.TB) Programs {
	t.Helper()
	p, err := binaries()
	if err != nil {
		t.Fatalf("build the programs: %v", err)
	}
	return p
}

// BinariesOf is Binaries with another version in the programs: what an upgrade
// brings. Ready programs of it are looked for in a folder of the same name with
// a dash and the version appended.
func BinariesOf(t testing.TB, version string) Programs {
	t.Helper()
	if dir := os.Getenv(BinariesEnvVar); dir != "" {
		if _, err := os.Stat(dir + "-" + version); err == nil {
			return programsIn(dir + "-" + version)
		}
	}
	p, err := buildPrograms(Root(t), version)
	if err != nil {
		t.Fatalf("build the programs of version %s: %v", version, err)
	}
	return p
}

func programsIn(dir string) Programs {
	return Programs{Dir: dir, Runt: filepath.Join(dir, "runt"), Runtd: filepath.Join(dir, "runtimed"), Proxy: filepath.Join(dir, "runt-mcp-proxy")}
}

func buildPrograms(root, version string) (Programs, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Programs{}, err
	}
	key, err := sourceKey(root)
	if err != nil {
		return Programs{}, err
	}
	all := filepath.Join(cache, "runt-test", "bin")
	dir := filepath.Join(all, strings.TrimSuffix(key+"-"+version, "-"))
	if err := os.MkdirAll(all, 0o700); err != nil {
		return Programs{}, err
	}
	lock, err := os.OpenFile(filepath.Join(all, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Programs{}, err
	}
	defer lock.Close() //nolint:errcheck // closing gives the lock back
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return Programs{}, fmt.Errorf("lock %s: %w", all, err)
	}
	now := time.Now()
	if os.Chtimes(dir, now, now) == nil {
		return programsIn(dir), nil
	}
	sweepBinaries(all, now)
	tmp, err := os.MkdirTemp(all, "tmp-")
	if err != nil {
		return Programs{}, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // gone after the rename
	args := []string{"build", "-o", tmp + "/"}
	if raceEnabled {
		args = append(args, "-race")
	}
	if version != "" {
		args = append(args, "-ldflags", "-X runt/internal/buildinfo.version="+version)
	}
	cmd := exec.Command("go", append(args, "./cmd/...")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return Programs{}, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return programsIn(dir), os.Rename(tmp, dir)
}

func sweepBinaries(all string, now time.Time) {
	entries, _ := os.ReadDir(all) // what cannot be listed is not swept
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && now.Sub(info.ModTime()) > oldBinaries {
			os.RemoveAll(filepath.Join(all, e.Name())) //nolint:errcheck // tried again by the next build
		}
	}
}

// sourceKey names the state of everything that goes into the programs, by the
// size and time of each file.
func sourceKey(root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), raceEnabled, root)
	for _, top := range []string{"go.mod", "go.sum", "cmd", "internal", "web"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if path == filepath.Join(root, top) {
					return nil
				}
				return err
			}
			if d.IsDir() {
				if slices.Contains([]string{"testdata", "node_modules", "target", "testenv"}, d.Name()) {
					return filepath.SkipDir
				}
				return nil
			}
			info, err := d.Info()
			if err == nil && !strings.HasSuffix(path, "_test.go") {
				fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
