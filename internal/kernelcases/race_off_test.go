//go:build !race

package kernelcases

// Tests of other packages run at the same time: waits may take twice as long.
const (
	slack   = 2
	divisor = 1
)
