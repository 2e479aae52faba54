package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// goModules lists the modules whose packages the programs are built from.
func goModules(root string) ([]component, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/...", "./internal/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("list go modules: %w", err)
	}
	var list []component
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 || slices.ContainsFunc(list, func(c component) bool { return c.name == f[0] }) {
			continue
		}
		text, err := licenceText(f[2])
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", f[0], err)
		}
		list = append(list, component{f[0], f[1], licenceKind(text), copyright(text)})
	}
	return sorted(list), nil
}

// rustCrates lists the crates that the engine is linked from, without those
// that only take part in building it.
func rustCrates(root string) ([]component, error) {
	dir := filepath.Join(root, "automerge-shim")
	if _, err := exec.LookPath("cargo"); err != nil {
		return fromFile(root, "Rust crates")
	}
	// The tree knows which features are on, the metadata where the sources are.
	tree, err := cargo(dir, "tree", "--locked", "--target", "wasm32-wasip1", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
	if err != nil {
		fmt.Fprintf(os.Stderr, "thirdparty: the crates stay as they are: %v\n", err)
		return fromFile(root, "Rust crates")
	}
	out, err := cargo(dir, "metadata", "--locked", "--format-version", "1", "--filter-platform", "wasm32-wasip1")
	if err != nil {
		return nil, err
	}
	var meta struct {
		Packages []struct {
			Name, Version, License string
			Manifest               string `json:"manifest_path"`
			Source                 *string
		}
	}
	if err := json.Unmarshal(out, &meta); err != nil {
		return nil, fmt.Errorf("read cargo metadata: %w", err)
	}
	linked := map[string]bool{}
	for line := range strings.Lines(string(tree)) {
		if f := strings.Fields(line); len(f) >= 2 {
			linked[f[0]+" "+f[1]] = true
		}
	}
	var list []component
	for _, p := range meta.Packages {
		if linked[p.Name+" v"+p.Version] && p.Source != nil {
			text, _ := licenceText(filepath.Dir(p.Manifest)) // some crates ship none
			list = append(list, component{p.Name, p.Version, p.License, copyright(text)})
		}
	}
	return sorted(list), nil
}

func cargo(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("cargo", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cargo %s: %w", args[0], err)
	}
	return out, nil
}

// npmPackages lists what the page's lock file calls a dependency of its product.
func npmPackages(root string) ([]component, error) {
	data, err := os.ReadFile(filepath.Join(root, "web", "package-lock.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read npm lock file: %w", err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev, Optional    bool
		}
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("read npm lock file: %w", err)
	}
	var list []component
	for path, p := range lock.Packages {
		i := strings.LastIndex(path, "node_modules/")
		if i < 0 || p.Dev || p.Optional {
			continue
		}
		list = append(list, component{path[i+len("node_modules/"):], p.Version, p.License, ""})
	}
	return sorted(list), nil
}

// fromFile reads a section of the file as it is.
func fromFile(root, title string) ([]component, error) {
	data, err := os.ReadFile(filepath.Join(root, target))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", target, err)
	}
	_, text, _ := strings.Cut(string(data), "## "+title+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var list []component
	for line := range strings.Lines(text) {
		f := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(f) != 4 || strings.HasPrefix(f[0], "---") || strings.TrimSpace(f[0]) == "name" {
			continue
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		list = append(list, component{f[0], f[1], f[2], f[3]})
	}
	return list, nil
}

func sorted(list []component) []component {
	slices.SortFunc(list, func(a, b component) int {
		return strings.Compare(a.name+"@"+a.version, b.name+"@"+b.version)
	})
	return slices.Compact(list)
}
