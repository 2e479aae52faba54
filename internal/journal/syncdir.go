package journal

import (
	"errors"
	"os"
)

// syncDir waits until the names in a folder are on disk.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
