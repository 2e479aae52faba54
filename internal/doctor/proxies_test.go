package doctor

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"runt/internal/buildinfo"
	"runt/internal/proxy"
	"runt/internal/proxy/core"
	"runt/internal/testenv"
)

func TestAProxyIsReported(t *testing.T) {
	o := options(t)
	if got := proxies(t.Context(), o); len(got) != 1 || got[0].Status != OK || !strings.Contains(got[0].Text, "No MCP client") {
		t.Errorf("without a proxy: %+v", got)
	}
	for name, c := range map[string]struct {
		version string
		status  core.Status
		want    Finding
	}{
		"fine":    {buildinfo.Version(), core.Status{Client: "editor", Notebooks: make([]core.Notebook, 2)}, Finding{Status: OK, Text: "serves editor: notebook server"}},
		"older":   {"0.1", core.Status{}, Finding{Status: Warning, Text: "has not said who it is and is of another version"}},
		"crashes": {buildinfo.Version(), core.Status{Breaker: core.Breaker{State: "open"}, Child: core.Child{Fault: "no such file"}}, Finding{Status: Failure, Text: "keeps crashing: no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := proxy.OpenStatus(filepath.Join(o.Places.State, "proxies"), c.version, "the-log", slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			s.Put(c.status)
			var got []Finding
			testenv.Await(t, t.Context(), "the report", func() bool {
				got = proxies(t.Context(), o)
				return len(got) == 1 && strings.Contains(got[0].Text, "serves")
			})
			if got[0].Status != c.want.Status || !strings.Contains(got[0].Text, c.want.Text) {
				t.Errorf("got %+v", got)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
