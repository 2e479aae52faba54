package journal

import (
	"fmt"
	"os"
)

// Check reads the journal at path and changes nothing. Aside and Gap are not
// set. A journal that is being written may look torn.
func Check(path string) (Recovery, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Recovery{}, fmt.Errorf("read journal: %w", err)
	}
	found, err := readFile(b)
	if err != nil {
		return Recovery{}, fmt.Errorf("read journal %s: %w", path, err)
	}
	r := Recovery{Records: found.records, Torn: found.torn}
	if found.corrupt() {
		r.Corrupt = fmt.Sprintf("The journal is damaged at byte %d of %d; %d records can be read.", found.at, len(b), len(found.records))
	}
	return r, nil
}
