package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"runt/internal/buildinfo"
	"runt/internal/proxy"
)

// proxies tells how the proxies fare that MCP clients have started.
func proxies(_ context.Context, o Options) []Finding {
	reports, err := proxy.Reports(filepath.Join(o.Places.State, "proxies"))
	if err != nil {
		return []Finding{{"proxies", Failure, fmt.Sprintf("The proxies cannot be listed: %v", err), "Check the permissions of " + o.Places.State + "."}}
	}
	if len(reports) == 0 {
		return []Finding{{"proxies", OK, "No MCP client has started a proxy.", ""}}
	}
	var out []Finding
	for _, r := range reports {
		out = append(out, proxyFinding(r))
	}
	return out
}

func proxyFinding(r proxy.Report) Finding {
	client := strings.TrimSpace(r.Client + " " + r.ClientVersion)
	if client == "" {
		client = "a client that has not said who it is"
	}
	what := fmt.Sprintf("Proxy %d (%s) serves %s", r.PID, r.Version, client)
	switch {
	case r.Breaker.State == "open":
		return Finding{"proxies", Failure, fmt.Sprintf("%s, but its notebook server keeps crashing: %s", what, r.Child.Fault),
			"Look into " + r.LogPath + "; it is tried again after a while, and at once when the program " + r.Child.Program + " is replaced."}
	case r.Version != buildinfo.Version():
		return Finding{"proxies", Warning, fmt.Sprintf("%s and is of another version than this program (%s).", what, buildinfo.Version()),
			"Nothing has to be done: all but the proxy itself is replaced while it runs. Restart the client to get the new one."}
	}
	return Finding{"proxies", OK, fmt.Sprintf("%s: notebook server %s, %d notebooks held, %d crashes, %d upgrades; log %s",
		what, r.Child.State, len(r.Notebooks), r.Counts.Crashes, r.Counts.Upgrades, r.LogPath), ""}
}
