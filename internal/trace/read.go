package trace

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Note is one mark that was written.
type Note struct {
	At      int64 // nanoseconds since 1970
	Point   string
	Subject string
}

// Read returns the marks of all processes in a folder in the order of their
// time. A line that a process had not finished is left out.
func Read(dir string) ([]Note, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+Suffix))
	if err != nil {
		return nil, fmt.Errorf("list traces: %w", err)
	}
	var notes []Note
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		notes = append(notes, parse(string(b))...)
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(a.At, b.At) })
	return notes, nil
}

func parse(text string) []Note {
	var notes []Note
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		const fields = 3
		if len(f) != fields || !strings.HasSuffix(line, "\n") {
			continue
		}
		if at, err := strconv.ParseInt(f[0], 10, 64); err == nil {
			notes = append(notes, Note{At: at, Point: f[1], Subject: f[2]})
		}
	}
	return notes
}
