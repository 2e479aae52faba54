package env

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"runt/internal/domain"
)

// Limits on what a notebook may ask for.
const (
	maxDependencies    = 500
	maxDependencyBytes = 1000
)

// envFormat is part of every environment's name: raising it makes all of them anew.
const envFormat = 1

var (
	// requirement is the beginning of a dependency: a package name with
	// extras, then anything that could be a version, a marker or a URL.
	requirement = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(\s*\[[A-Za-z0-9._,\s-]*\])?\s*($|[<>=!~;@(].*)`)
	separators  = regexp.MustCompile(`[-_.]+`)
)

// NormalizeDependencies returns the set in its one canonical form: names as
// package indexes compare them, spaces evened out, sorted, without repeats.
// What could be taken for an option or a file is refused.
func NormalizeDependencies(deps []string) ([]string, error) {
	if len(deps) > maxDependencies {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "%d dependencies are too many; the limit is %d.", len(deps), maxDependencies)
	}
	out := make([]string, 0, len(deps))
	for _, d := range deps {
		n, ok := normalize(d)
		if !ok {
			return nil, domain.Errorf(domain.CodeInvalidArgument, "%q is not a Python dependency.", cut(d, 100)).
				WithHint(`Write it like "pandas", "pandas>=2.1" or "package @ https://host/file.whl".`)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func normalize(dep string) (string, bool) {
	if len(dep) > maxDependencyBytes || strings.ContainsAny(dep, "\x00\r\n") {
		return "", false
	}
	m := requirement.FindStringSubmatch(strings.TrimSpace(dep))
	if m == nil {
		return "", false
	}
	name := strings.ToLower(separators.ReplaceAllString(m[1], "-"))
	extras := strings.ToLower(strings.ReplaceAll(m[2], " ", ""))
	rest := strings.Join(strings.Fields(m[3]), " ")
	if rest != "" && strings.ContainsRune("<>=!~", rune(rest[0])) && !strings.Contains(rest, ";") {
		rest = strings.ReplaceAll(rest, " ", "")
	}
	if rest != "" && strings.ContainsRune("@;(", rune(rest[0])) {
		rest = " " + rest
	}
	return name + extras + rest, true
}

// envName is the name of the environment for a normalised set of dependencies.
func envName(deps []string) string {
	if len(deps) == 0 {
		return "default"
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", envFormat)
	for _, d := range deps {
		fmt.Fprintf(h, "%d:%s", len(d), d)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
