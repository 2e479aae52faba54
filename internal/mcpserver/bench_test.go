package mcpserver

import (
	"testing"
)

// BenchmarkTools measures whole tool calls over stdio, a real daemon and a real kernel.
func BenchmarkTools(b *testing.B) {
	bed := newBed(b)
	a := bed.agent("bench", nil)
	a.call("create_notebook", nil)
	a.call("create_cell", map[string]any{"source": "print('warm')", "and_run": true, "timeout_secs": 60})
	cell := firstID(b, a.call("create_cell", map[string]any{"source": "1+1"}))
	for _, bc := range []struct {
		name string
		args func(i int) map[string]any
	}{
		{"execute_cell", func(int) map[string]any { return map[string]any{"cell_id": cell} }},
		{"create_cell", func(int) map[string]any { return map[string]any{"source": "x=1"} }},
		{"set_cell", func(i int) map[string]any {
			return map[string]any{"cell_id": cell, "source": string(rune('0'+i%10)) + "+1"}
		}},
		{"get_cell", func(int) map[string]any { return map[string]any{"cell_id": cell} }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				a.call(bc.name, bc.args(i))
			}
		})
	}
}
