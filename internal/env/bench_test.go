package env

import (
	"path/filepath"
	"testing"
)

// BenchmarkResolveWarm is what a kernel start pays once everything is known.
func BenchmarkResolveWarm(b *testing.B) {
	for name, via := range map[string]string{"venv": viaProject, "private": "uv:prewarmed"} {
		b.Run(name, func(b *testing.B) {
			m := newMachine(b)
			m.uv()
			m.index()
			if via == viaProject {
				m.ipykernel(m.venv(filepath.Join(m.root, ".venv")))
			}
			r := m.resolver()
			r.log = New(Options{}).log
			for b.Loop() {
				l, err := r.Resolve(b.Context(), Request{WorkingDir: m.root, KernelName: "python3"}, nil)
				if err != nil || l.EnvSource != via {
					b.Fatalf("%+v, %v", l, err)
				}
			}
		})
	}
}
