// Command thirdparty writes THIRD_PARTY.md: whose code is in the programs, and
// under which licences. Go modules come from what the programs import, crates
// from what is compiled into the Automerge engine, npm packages from the lock
// file of the page. Where cargo is not installed the crates stay as they are in
// the file. Run it from the repository: make third-party.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const target = "THIRD_PARTY.md"

const preface = `# Third-party software

Written by ` + "`make third-party`" + `; a test compares it with what is used. The full text of each licence comes with the
sources: ` + "`go mod download`" + `, ` + "`cargo fetch`" + ` and ` + "`npm ci`" + ` put them on disk.

`

// component is one piece of somebody else's software.
type component struct{ name, version, licence, copyright string }

// section is one part of the file.
type section struct {
	title, about string
	list         []component
}

func main() {
	root, err := os.Getwd()
	if err == nil {
		err = write(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "thirdparty:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	text, err := render(root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, target), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", target, err)
	}
	return nil
}

// render makes the text of the file.
func render(root string) (string, error) {
	modules, err := goModules(root)
	if err != nil {
		return "", err
	}
	crates, err := rustCrates(root)
	if err != nil {
		return "", err
	}
	packages, err := npmPackages(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(preface)
	for _, s := range []section{
		{"Go modules", "Linked into the programs.", modules},
		{"Rust crates", "Compiled into internal/automerge/automerge.wasm, which is embedded.", crates},
		{"npm packages", "Bundled into the page.", packages},
	} {
		if len(s.list) > 0 {
			b.WriteString(s.String())
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

func (s section) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n| name | version | licence | copyright |\n|---|---|---|---|\n", s.title, s.about)
	for _, c := range s.list {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.name, c.version, c.licence, strings.ReplaceAll(c.copyright, "|", "/"))
	}
	return b.String() + "\n"
}
