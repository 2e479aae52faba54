//go:build !linux

package automerge

func keepPagesSmall([]byte) {}
