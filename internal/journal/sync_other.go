//go:build !linux

package journal

import "os"

// syncData waits until the content of f, and its size, are on disk.
func syncData(f *os.File) error { return f.Sync() }
