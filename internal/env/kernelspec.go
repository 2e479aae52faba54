package env

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Where a kernelspec or interpreter was found.
const (
	SourceUser    = "user"    // the user's own Jupyter folders
	SourceSystem  = "system"  // system-wide folders, or the python3 on PATH
	SourceVenv    = "venv"    // an environment: .venv, VIRTUAL_ENV or CONDA_PREFIX
	SourcePrivate = "private" // made by runt
)

// maxSpecBytes bounds a kernel.json; real ones are below 2 kB.
const maxSpecBytes = 1 << 20

// Kernelspec is a kernel that is installed on this machine.
type Kernelspec struct {
	Name          string            // folder name in lower case, which is how it is asked for
	DisplayName   string            // human name
	Language      string            // language of the cells, as the kernelspec spells it
	Dir           string            // the folder that holds kernel.json
	Source        string            // one of the Source constants
	Prefix        string            // the Python environment it belongs to, "" when none
	Argv          []string          // as written in the file
	Env           map[string]string // as written in the file
	InterruptMode string            // "signal" or "message"
	Metadata      map[string]any    // as written in the file, may be nil
}

var legalName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// LegalName says whether a kernelspec can have this name. Notebooks in the
// wild carry names that none can have, such as a display name.
func LegalName(name string) bool {
	return legalName.MatchString(name) && strings.Trim(name, ".") != ""
}

// ParseKernelspec reads the text of a kernel.json. Name, Dir, Source and Prefix
// are left for the caller to fill.
func ParseKernelspec(data []byte) (Kernelspec, error) {
	var raw struct {
		Argv          []string       `json:"argv"`
		DisplayName   string         `json:"display_name"`
		Language      string         `json:"language"`
		Env           map[string]any `json:"env"`
		InterruptMode string         `json:"interrupt_mode"`
		Metadata      map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return Kernelspec{}, fmt.Errorf("parse kernel.json: %w", err)
	}
	if len(raw.Argv) == 0 || raw.Argv[0] == "" {
		return Kernelspec{}, errors.New("parse kernel.json: argv is empty")
	}
	s := Kernelspec{DisplayName: raw.DisplayName, Language: raw.Language, Argv: raw.Argv, Metadata: raw.Metadata, InterruptMode: "signal"}
	if raw.InterruptMode == "message" {
		s.InterruptMode = "message"
	}
	for k, v := range raw.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(fmt.Sprint(v), "\x00") {
			return Kernelspec{}, fmt.Errorf("parse kernel.json: env has the unusable name or value %q", k)
		}
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[k] = fmt.Sprint(v)
	}
	return s, nil
}

// specDir is a folder whose subfolders are kernelspecs.
type specDir struct{ path, source, prefix string }

// specDirs lists the folders to search, best first. dir is where the notebook
// is, "" when it has no place.
func (r *Resolver) specDirs(ctx context.Context, dir string) []specDir {
	var dirs []specDir
	add := func(root, source, prefix string) {
		d := specDir{filepath.Join(root, "kernels"), source, prefix}
		if root != "" && !slices.ContainsFunc(dirs, func(o specDir) bool { return o.path == d.path }) {
			dirs = append(dirs, d)
		}
	}
	share := func(prefix, source string) { add(filepath.Join(prefix, "share", "jupyter"), source, prefix) }
	for _, p := range filepath.SplitList(r.vars["JUPYTER_PATH"]) {
		add(p, SourceUser, "")
	}
	for _, c := range r.chosen(dir) {
		share(c.prefix, SourceVenv)
	}
	add(r.userDataDir(), SourceUser, "")
	if p, err := r.pathPython(ctx); err == nil {
		share(p.Prefix, SourceSystem)
	}
	for _, p := range r.systemDirs {
		add(p, SourceSystem, "")
	}
	if runtime.GOOS == "darwin" {
		add("/opt/homebrew/share/jupyter", SourceSystem, "")
	}
	add(filepath.Join(r.home, ".ipython"), SourceUser, "")
	return dirs
}

// Kernelspecs lists what is installed, sorted by name; of several with one name
// the one that would be used. dirs are the folders of notebooks whose .venv
// counts too. Files that cannot be read are left out.
func (r *Resolver) Kernelspecs(ctx context.Context, dirs ...string) ([]Kernelspec, error) {
	if len(dirs) == 0 {
		dirs = []string{""}
	}
	var specs []Kernelspec
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, d := range r.specDirs(ctx, dir) {
			for _, name := range specNames(d.path) {
				if seen[strings.ToLower(name)] {
					continue
				}
				s, err := readSpec(d, name)
				if err != nil {
					r.log.Debug("kernelspec left out", "dir", filepath.Join(d.path, name), "err", err)
					continue
				}
				seen[s.Name] = true
				specs = append(specs, s)
			}
		}
	}
	slices.SortFunc(specs, func(a, b Kernelspec) int { return strings.Compare(a.Name, b.Name) })
	return specs, ctx.Err()
}

// findSpec returns the kernelspec of that name. found is false when there is
// none; err is set when there is one that cannot be read.
func (r *Resolver) findSpec(ctx context.Context, dir, name string) (s Kernelspec, found bool, err error) {
	var firstErr error
	for _, d := range r.specDirs(ctx, dir) {
		for _, n := range specNames(d.path) {
			if !strings.EqualFold(n, name) {
				continue
			}
			s, err := readSpec(d, n)
			if err == nil {
				return s, true, nil
			}
			if firstErr == nil {
				firstErr = err
			}
		}
	}
	return Kernelspec{}, false, firstErr
}

// specNames lists the subfolders of a kernels folder that hold a kernel.json.
func specNames(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if LegalName(e.Name()) && exists(filepath.Join(dir, e.Name(), "kernel.json")) {
			names = append(names, e.Name())
		}
	}
	return names
}

func readSpec(d specDir, name string) (Kernelspec, error) {
	file := filepath.Join(d.path, name, "kernel.json")
	st, err := os.Stat(file)
	if err != nil {
		return Kernelspec{}, fmt.Errorf("read kernelspec: %w", err)
	}
	if st.Size() > maxSpecBytes {
		return Kernelspec{}, fmt.Errorf("read kernelspec: %s has %d bytes", file, st.Size())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Kernelspec{}, fmt.Errorf("read kernelspec: %w", err)
	}
	s, err := ParseKernelspec(data)
	if err != nil {
		return Kernelspec{}, fmt.Errorf("read kernelspec %s: %w", file, err)
	}
	s.Name, s.Dir, s.Source, s.Prefix = strings.ToLower(name), filepath.Dir(file), d.source, d.prefix
	if s.DisplayName == "" {
		s.DisplayName = s.Name
	}
	return s, nil
}
