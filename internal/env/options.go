package env

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Limits on what the resolver waits for. Making an environment downloads
// packages, so its limit is a generous one; everything else is local.
const (
	probeTimeout   = 8 * time.Second
	venvTimeout    = 60 * time.Second
	installTimeout = 10 * time.Minute
	lockRetry      = 50 * time.Millisecond
)

// Options says where a Resolver looks. Empty fields stand for what the process's
// own environment says.
type Options struct {
	StateDir   string   // private environments and cached facts live below it; required
	Home       string   // the user's home folder
	PathEnv    string   // search path for programs, as in PATH
	Environ    []string // environment as from os.Environ
	SystemDirs []string // system-wide Jupyter data folders; nil stands for /usr/local/share/jupyter and /usr/share/jupyter
	Logger     *slog.Logger
}

// Resolver finds out how to start kernels. See the package comment for the
// order in which it looks.
type Resolver struct {
	state      string
	home       string
	path       []string
	environ    []string
	vars       map[string]string
	systemDirs []string
	log        *slog.Logger

	mu sync.Mutex // guards probes
	// probes holds what is known of interpreters, by the path they were asked by.
	probes map[string]probe
}

// New makes a Resolver. It touches nothing on disk.
func New(o Options) *Resolver {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	r := &Resolver{state: o.StateDir, home: o.Home, environ: o.Environ, systemDirs: o.SystemDirs, log: o.Logger, probes: map[string]probe{}, vars: map[string]string{}}
	for _, kv := range o.Environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			r.vars[k] = v
		}
	}
	if r.home == "" {
		r.home = r.vars["HOME"]
	}
	if o.PathEnv == "" {
		o.PathEnv = r.vars["PATH"]
	}
	r.path = filepath.SplitList(o.PathEnv)
	if r.systemDirs == nil {
		r.systemDirs = []string{"/usr/local/share/jupyter", "/usr/share/jupyter"}
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	return r
}

// userDataDir is the user's own Jupyter data folder.
func (r *Resolver) userDataDir() string {
	switch {
	case r.vars["JUPYTER_DATA_DIR"] != "":
		return r.vars["JUPYTER_DATA_DIR"]
	case runtime.GOOS == "darwin":
		return filepath.Join(r.home, "Library", "Jupyter")
	case r.vars["XDG_DATA_HOME"] != "":
		return filepath.Join(r.vars["XDG_DATA_HOME"], "jupyter")
	}
	return filepath.Join(r.home, ".local", "share", "jupyter")
}

// lookPath finds a program on the search path, like exec.LookPath but with the
// Resolver's own path and only absolute entries of it.
func (r *Resolver) lookPath(name string) (string, bool) {
	for _, dir := range r.path {
		if p := filepath.Join(dir, name); filepath.IsAbs(dir) && isExecutable(p) {
			return p, true
		}
	}
	return "", false
}

func (r *Resolver) searchPath() string {
	return strings.Join(r.path, string(os.PathListSeparator))
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
