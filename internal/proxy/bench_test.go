package proxy

import (
	"strings"
	"testing"

	"runt/internal/proxy/proxytest"
)

// BenchmarkRoundTrip is one call to a child that does nothing, with the proxy in
// between and without it.
func BenchmarkRoundTrip(b *testing.B) {
	calls := func(b *testing.B, a *proxytest.Agent, args any, bytes int) {
		a.Initialize()
		a.Call("measure", args)
		b.SetBytes(int64(bytes))
		for b.Loop() {
			a.Call("measure", args)
		}
	}
	for name, size := range map[string]int{"small": 10, "1MB": 1 << 20} {
		args := map[string]string{"text": strings.Repeat("x", size)}
		b.Run("direct/"+name, func(b *testing.B) {
			calls(b, proxytest.Start(b, proxytest.Options{Argv: []string{proxytest.NewFakeChild(b, "1").Path}}), args, size)
		})
		b.Run("proxy/"+name, func(b *testing.B) { calls(b, setup(b).agent, args, size) })
	}
}
