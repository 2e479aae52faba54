// Package buildinfo says which version of runt a program is. Programs of one
// build have one version; a daemon and a client compare theirs to notice an upgrade.
package buildinfo

import (
	"runtime/debug"
	"sync"
)

// version is set by the linker: -X runt/internal/buildinfo.version=1.2.3.
var version string

// Version returns the version of this program: what the linker was told, else
// the commit it was built from, else "dev".
var Version = sync.OnceValue(func() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if len(rev) < 12 {
		return "dev"
	}
	return "0.0.0-" + rev[:12] + dirty
})
