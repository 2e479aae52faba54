//go:build race

package kernelcases

// With the race detector everything takes several times as long: waits are
// longer, and loads are smaller by the divisor.
const (
	slack   = 6
	divisor = 4
)
