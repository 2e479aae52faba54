package present

import (
	"fmt"
	"strings"
)

// Limits of a diff.
const (
	DiffLimit   = 4 << 10 // bytes
	diffContext = 2       // unchanged lines shown around a change
	diffCells   = 4 << 20 // size of the table of the comparison; above it, all lines count as changed
)

// Diff returns what changed from one source to another: lines that went begin
// with "-", those that came with "+", those around them with a blank. It is ""
// when nothing changed.
func Diff(before, after string) string {
	if before == after {
		return ""
	}
	edits := diffLines(sourceLines(before), sourceLines(after))
	show := make([]bool, len(edits))
	for i, e := range edits {
		if e.op != ' ' {
			for j := max(i-diffContext, 0); j <= min(i+diffContext, len(edits)-1); j++ {
				show[j] = true
			}
		}
	}
	var b strings.Builder
	hidden := 0
	for i, e := range edits {
		if !show[i] {
			hidden++
			continue
		}
		writeHidden(&b, hidden)
		hidden = 0
		fmt.Fprintf(&b, "%c %s\n", e.op, e.line)
	}
	writeHidden(&b, hidden)
	text := strings.TrimRight(b.String(), "\n")
	if text == "" || !strings.ContainsAny(text, "+-") {
		return "(only line ends changed)"
	}
	return Bounded(text, DiffLimit, "get_cell has the whole source")
}

func writeHidden(b *strings.Builder, n int) {
	switch {
	case n == 1:
		b.WriteString("  [1 line as before]\n")
	case n > 1:
		fmt.Fprintf(b, "  [%d lines as before]\n", n)
	}
}

func sourceLines(s string) []string {
	s = strings.TrimSuffix(StripANSI(s), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

type edit struct {
	op   rune // ' ', '-', '+'
	line string
}

// diffLines compares lines by their longest common subsequence, after taking
// off what is the same at both ends.
func diffLines(a, b []string) []edit {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	edits := mark(nil, ' ', a[:start])
	oldPart, newPart := a[start:len(a)-end], b[start:len(b)-end]
	if len(oldPart)*len(newPart) > diffCells {
		edits = mark(mark(edits, '-', oldPart), '+', newPart)
	} else {
		edits = append(edits, middle(oldPart, newPart)...)
	}
	return mark(edits, ' ', a[len(a)-end:])
}

func mark(edits []edit, op rune, lines []string) []edit {
	for _, l := range lines {
		edits = append(edits, edit{op, l})
	}
	return edits
}

func middle(a, b []string) []edit {
	// common[i][j] is the length of the longest common subsequence of a[i:], b[j:].
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var edits []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}
