package env

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"runt/internal/domain"
)

// maxListed bounds how many kernelspecs an error names.
const maxListed = 20

// unknown is the error for a kernel that is not installed: it lists those that are.
func (r *Resolver) unknown(ctx context.Context, q Request) error {
	what := fmt.Sprintf("the kernel %q is not installed on this machine", q.KernelName)
	if q.KernelName == "" {
		what = fmt.Sprintf("no kernel for the language %q is installed on this machine", q.Language)
	} else if q.Language != "" && !isPython(q.Language) {
		what = fmt.Sprintf("the kernel %q (%s) is not installed on this machine", q.KernelName, q.Language)
	}
	specs, err := r.Kernelspecs(ctx, q.place())
	if err != nil {
		return fmt.Errorf("list kernelspecs: %w", err)
	}
	list := "There are no kernelspecs here; a Python notebook needs none."
	if len(specs) > 0 {
		var names []string
		for _, s := range specs[:min(len(specs), maxListed)] {
			names = append(names, fmt.Sprintf("%s (%s)", s.Name, s.DisplayName))
		}
		if n := len(specs) - maxListed; n > 0 {
			names = append(names, fmt.Sprintf("%d more", n))
		}
		list = "Installed: " + strings.Join(names, ", ") + "."
	}
	return domain.Errorf(domain.CodeKernelUnavailable, "%s. %s", what, list).
		WithHint("Install it, or choose one of these (python3 always works).")
}

// noIPykernel is the error for a Python that cannot run a kernel yet.
func (r *Resolver) noIPykernel(where, python string, p probe) error {
	return domain.Errorf(domain.CodeEnvironmentFailed, "ipykernel is missing in %s: %s (Python %s).", where, python, p.Version).
		WithHint("Run: %s", r.installCommand(python, p))
}

// installCommand is what a person must type to get ipykernel into a Python. It
// works as it stands: an environment made by uv has no pip.
func (r *Resolver) installCommand(python string, p probe) string {
	_, haveUV := r.lookPath("uv")
	switch {
	case p.Conda:
		return "conda install -p " + shellQuote(p.Prefix) + " ipykernel"
	case p.Pip:
		return shellQuote(python) + " -m pip install ipykernel"
	case haveUV:
		return "uv pip install --python " + shellQuote(python) + " ipykernel"
	}
	return shellQuote(python) + " -m ensurepip && " + shellQuote(python) + " -m pip install ipykernel"
}

// broken is the error for an environment whose Python does not start.
func broken(c choice, err error) error {
	return domain.Errorf(domain.CodeEnvironmentFailed, "the Python of %s, %s, does not start: %w", c.label(), c.python(), err).
		WithHint("Make the environment anew, for example with: python3 -m venv --clear %s && %s -m pip install ipykernel", shellQuote(c.prefix), shellQuote(filepath.Join(c.prefix, "bin", "python")))
}

func timeout(ctx context.Context) error {
	return fmt.Errorf("resolve kernel: %w", context.Cause(ctx))
}

// shellQuote makes a path safe to paste into a shell.
func shellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(c rune) bool {
		return !strings.ContainsRune("/._-+=:@%,", c) && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
