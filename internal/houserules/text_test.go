package houserules

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"runt/internal/domain"
)

// forbidden matches what ties the repository to the machine it was made on.
// The patterns are put together so that this file does not match itself.
var forbidden = map[string]*regexp.Regexp{
	"a home folder":     regexp.MustCompile(`/(root|home/[a-z0-9_-]+|Users/[A-Za-z0-9_-]+)/` + `[.\w]`),
	"a checkout folder": regexp.MustCompile(`(^|[\s"'=(` + "`" + `])/wo` + `rk/`),
	"a registry's host": regexp.MustCompile(`(registry\.` + `npmjs|py` + `pi\.org|files\.python` + `hosted|proxy\.` + `golang|static\.` + `crates\.io|index\.` + `crates\.io)`),
}

// readers' examples and pictures of other machines may hold what looks like it.
var harmless = []string{"testdata/", "LICENSE"}

// nobody matches the home folder of somebody made up.
var nobody = regexp.MustCompile(`^/(home|Users)/(me|you|user|alice|bob)/`)

// maxScanned bounds the text files that are read whole.
const maxScanned = 16 << 20

func TestNothingNamesThisMachine(t *testing.T) {
	r := load(t)
	for _, f := range r.files {
		if slices.ContainsFunc(harmless, func(h string) bool { return strings.Contains(f, h) }) {
			continue
		}
		text := r.readText(t, f)
		for what, re := range forbidden {
			for _, m := range re.FindAllIndex(text, 3) {
				if filepath.Base(f) == "Cargo.lock" && what == "a registry's host" || nobody.Match(text[m[0]:]) {
					continue
				}
				t.Errorf("%s:%d names %s: %q", f, bytes.Count(text[:m[0]], []byte("\n"))+1, what, excerpt(text, m[0]))
			}
		}
		if i := bytes.Index(text, []byte(r.root+"/")); i >= 0 && len(r.root) > 4 {
			t.Errorf("%s names the folder of this checkout: %q", f, excerpt(text, i))
		}
	}
}

// TestLockFilesHoldNoAddresses: an address in a lock file sends everybody to the
// registry of whoever made it.
func TestLockFilesHoldNoAddresses(t *testing.T) {
	r := load(t)
	for _, f := range r.files {
		name := filepath.Base(f)
		if !strings.HasSuffix(name, "lock.json") && !strings.HasSuffix(name, ".lock") && name != "requirements.txt" {
			continue
		}
		text := r.readText(t, f)
		if i := bytes.Index(text, []byte(`"resolved"`)); i >= 0 {
			t.Errorf("%s holds a resolved address: %q", f, excerpt(text, i))
		}
		for _, l := range bytes.Split(text, []byte("\n")) {
			if bytes.Contains(l, []byte("://")) && !bytes.Contains(l, []byte("registry+https://github.com/rust-lang/crates.io-index")) && !bytes.Contains(l, []byte(`"url": "https://`)) {
				t.Errorf("%s holds an address: %q", f, l)
			}
		}
	}
}

func (r repository) readText(t *testing.T, file string) []byte {
	t.Helper()
	st, err := os.Stat(filepath.Join(r.root, file))
	if err != nil {
		if os.IsNotExist(err) {
			return nil // somebody else's build is at work
		}
		t.Fatal(err)
	}
	if st.Size() > maxScanned {
		t.Errorf("%s has %d bytes; the repository is for sources", file, st.Size())
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.root, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func excerpt(text []byte, at int) []byte {
	return text[max(0, at-20):min(len(text), at+60)]
}

// TestErrorsAreExplained: every code that a user may see has its section in docs/errors.md, in order.
func TestErrorsAreExplained(t *testing.T) {
	r := load(t)
	text := string(r.readText(t, "docs/errors.md"))
	sections := regexp.MustCompile("(?m)^## `([a-z_]+)`$").FindAllStringSubmatch(text, -1)
	var got []string
	for _, s := range sections {
		got = append(got, s[1])
	}
	var want []string
	for _, c := range domain.Codes() {
		want = append(want, string(c))
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/errors.md explains %v\nwant                    %v", got, want)
	}
	for _, s := range strings.Split(text, "\n## ")[1:] {
		if !strings.Contains(s, "**Do:**") {
			t.Errorf("docs/errors.md does not say what to do at %.40q", s)
		}
	}
}

// TestEveryCodeIsListed: domain.Codes knows every constant of its type.
func TestEveryCodeIsListed(t *testing.T) {
	r := load(t)
	text := string(r.readText(t, "internal/domain/errors.go"))
	for _, m := range regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(domain.Codes(), domain.Code(m[1])) {
			t.Errorf("domain.Codes does not list %s", m[1])
		}
	}
}
