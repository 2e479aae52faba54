//go:build conformance

package mcpserver

import (
	"testing"

	"runt/internal/testenv/nodeenv"
)

// TestX03_ConformanceWithFixtures runs every scenario of the conformance suite
// against the server and transport of the product, to which the tools, resources
// and prompts that scenarios name have been added. Those that need none run
// against the program itself as well, in package e2e.
func TestX03_ConformanceWithFixtures(t *testing.T) {
	s := sharedBed(t).site(func(o *Options, _ *HTTPOptions) { o.extend = addFixtures })
	front := nodeenv.WithToken(t, s.url, testToken)
	for _, scenario := range []string{
		"server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list", "tools-call-simple-text", "tools-call-image",
		"tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-with-logging", "tools-call-error",
		"tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation", "json-schema-2020-12", "elicitation-sep1034-defaults",
		"server-sse-polling", "server-sse-multiple-streams", "elicitation-sep1330-enums", "resources-list", "resources-read-text",
		"resources-read-binary", "resources-templates-read", "resources-subscribe", "resources-unsubscribe", "prompts-list", "prompts-get-simple",
		"prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image", "dns-rebinding-protection",
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			passed := 0
			for _, c := range nodeenv.Conformance(t, front, scenario) {
				switch c.Status {
				case "SUCCESS":
					passed++
				case "FAILURE", "WARNING":
					t.Errorf("%s: %s %s", c.ID, c.Status, c.Message)
				}
			}
			if passed == 0 {
				t.Error("nothing was checked")
			}
		})
	}
}
