package env

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// probeScript prints what there is to know of an interpreter, as one line of
// JSON behind a mark: a sitecustomize may print things of its own.
const probeScript = `import sys, os, json, site
from importlib.util import find_spec
have = lambda m: find_spec(m) is not None
print("\nrunt-probe:" + json.dumps({
 "executable": sys.executable, "prefix": sys.prefix, "base_prefix": sys.base_prefix,
 "version": "%d.%d.%d" % sys.version_info[:3],
 "ipykernel": have("ipykernel_launcher"), "pip": have("pip"),
 "conda": os.path.isdir(os.path.join(sys.prefix, "conda-meta")),
 "paths": [p for p in sys.path if p] + ([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])}))
`

const probeMark = "runt-probe:"

// probeFormat is the version of the files below StateDir/probes.
const probeFormat = 1

// errNoPython says that a path is no working Python.
var errNoPython = errors.New("not a working Python interpreter")

// probe is what an interpreter says of itself, and the files whose change makes that stale.
type probe struct {
	Format     int               `json:"format"`
	Executable string            `json:"executable"`
	Prefix     string            `json:"prefix"`
	BasePrefix string            `json:"base_prefix"`
	Version    string            `json:"version"`
	IPykernel  bool              `json:"ipykernel"`
	Pip        bool              `json:"pip"`
	Conda      bool              `json:"conda"`
	Paths      []string          `json:"paths,omitempty"`
	Stamps     map[string]string `json:"stamps"`
}

// isVenv says whether the interpreter belongs to an environment made by venv,
// virtualenv or uv.
func (p probe) isVenv() bool { return p.Prefix != p.BasePrefix }

// fresh says whether every watched file is as it was when the probe was made.
func (p probe) fresh() bool {
	for path, was := range p.Stamps {
		if stamp(path) != was {
			return false
		}
	}
	return p.Format == probeFormat && len(p.Stamps) > 0
}

// stamp identifies the state of a file or folder; "" when it is not there.
func stamp(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	size := st.Size()
	if st.IsDir() {
		size = 0
	}
	return fmt.Sprintf("%d/%d", st.ModTime().UnixNano(), size)
}

// probe asks the interpreter at path about itself, or answers from memory or
// disk while nothing it depends on has changed. An install into any folder of
// its search path, or the making of such a folder, is a change.
func (r *Resolver) probe(ctx context.Context, path string) (probe, error) {
	r.mu.Lock()
	p, ok := r.probes[path]
	r.mu.Unlock()
	if ok && p.fresh() {
		return p, nil
	}
	file := r.probeFile(path)
	if p, err := readProbe(file); err == nil && p.fresh() {
		r.remember(path, p)
		return p, nil
	}
	p, err := r.ask(ctx, path)
	if err != nil {
		return probe{}, err
	}
	r.remember(path, p)
	if err := writeJSON(file, p); err != nil {
		r.log.Debug("interpreter facts not kept", "python", path, "err", err)
	}
	return p, nil
}

func (r *Resolver) remember(path string, p probe) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.probes[path] = p
}

func (r *Resolver) probeFile(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(r.state, "probes", hex.EncodeToString(sum[:12])+".json")
}

// ask runs the interpreter.
func (r *Resolver) ask(ctx context.Context, path string) (probe, error) {
	if !isExecutable(path) {
		return probe{}, fmt.Errorf("probe %s: %w", path, errNoPython)
	}
	stamps := r.watched(path)
	out, err := command{argv: []string{path, "-c", probeScript}, dir: filepath.Dir(path), env: r.pythonEnv(), timeout: probeTimeout}.run(ctx)
	if err != nil {
		return probe{}, fmt.Errorf("probe %s: %w", path, err)
	}
	at := bytes.LastIndex(out, []byte(probeMark))
	if at < 0 {
		return probe{}, fmt.Errorf("probe %s: %w", path, errNoPython)
	}
	p, err := parseProbe(out[at+len(probeMark):])
	if err != nil {
		return probe{}, fmt.Errorf("probe %s: %w", path, err)
	}
	p.Stamps = stamps
	for _, f := range append(p.Paths, p.Executable, filepath.Join(p.Prefix, "pyvenv.cfg")) {
		p.Stamps[f] = stamp(f)
	}
	p.Paths = nil
	return p, nil
}

// watched stamps the files that decide which interpreter a path stands for.
// A program manager's stand-in for python chooses by files of its own.
func (r *Resolver) watched(path string) map[string]string {
	stamps := map[string]string{}
	for _, f := range []string{path, filepath.Join(filepath.Dir(path), "..", "version"), filepath.Join(r.home, ".tool-versions")} {
		stamps[f] = stamp(f)
	}
	return stamps
}

// pythonEnv is the environment for programs that must see an interpreter's own
// packages and not those of whatever the daemon was started from.
func (r *Resolver) pythonEnv() []string {
	return without(r.environ, []string{"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__"})
}

func parseProbe(line []byte) (probe, error) {
	var p probe
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&p); err != nil {
		return probe{}, fmt.Errorf("parse its answer: %w", err)
	}
	if !filepath.IsAbs(p.Executable) || !filepath.IsAbs(p.Prefix) || strings.Count(p.Version, ".") != 2 {
		return probe{}, errNoPython
	}
	p.Format = probeFormat
	return p, nil
}

func readProbe(file string) (probe, error) {
	var p probe
	err := readJSON(file, &p)
	return p, err
}
