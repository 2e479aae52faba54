package present

import (
	"fmt"
	"slices"
	"strings"
)

// join puts blocks together so that all is at most limit bytes. how tells how
// to get what is left out.
func join(blocks []block, limit int, how string) string {
	blocks, dropped := few(blocks)
	texts := make([]string, len(blocks))
	mixed := slices.ContainsFunc(blocks, func(b block) bool { return b.label != blocks[0].label })
	for i, b := range blocks {
		texts[i] = b.text
		first := i == 0 || b.label != blocks[i-1].label
		if first && b.label != "error" && (mixed || b.label == "stderr") {
			texts[i] = "[" + OneLine(b.label, 40) + "]\n" + b.text
		}
	}
	if dropped > 0 {
		note := "[… " + plural(dropped, "output") + " left out]"
		texts = slices.Insert(texts, len(blocks)-maxBlocks/2, note)
	}
	return Bounded(boundAll(texts, limit-len(texts), how, dropped > 0), max(limit, 0), "")
}

// boundAll cuts texts so that together they have at most room bytes. How to
// get the rest is told once: at the end when wanted, else on the last cut.
func boundAll(texts []string, room int, how string, wanted bool) string {
	sizes := make([]int, len(texts))
	for i, t := range texts {
		sizes[i] = len(t)
	}
	end := ""
	if wanted && how != "" {
		end = "\n[all outputs: " + how + "]"
		room -= len(end)
	}
	share := shares(sizes, room)
	last := -1
	for i := range texts {
		if sizes[i] > share[i] {
			last = i
		}
	}
	for i := range texts {
		note := ""
		if i == last && end == "" {
			note = how
		}
		texts[i] = Bounded(texts[i], share[i], note)
	}
	text := strings.Join(texts, "\n")
	if room >= 0 {
		text += end
	}
	return text
}

// few returns the first and the last blocks when there are too many, and those
// between them that must be kept, and how many are missing.
func few(blocks []block) ([]block, int) {
	if len(blocks) <= maxBlocks {
		return blocks, 0
	}
	first, last := blocks[:maxBlocks/2], blocks[len(blocks)-maxBlocks/2:]
	out := slices.Clone(first)
	for _, b := range blocks[len(first) : len(blocks)-len(last)] {
		if b.keep && len(out) < maxBlocks {
			out = append(out, b)
		}
	}
	out = append(out, last...)
	return out, len(blocks) - len(out)
}

// shares divides room among texts of the given sizes: those that are small get
// all they need, the others get the same each.
func shares(sizes []int, room int) []int {
	out := slices.Clone(sizes)
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	for k, i := range order {
		fair := max(room, 0) / (len(order) - k)
		out[i] = min(sizes[i], fair)
		room -= out[i]
	}
	return out
}

// LastLine returns the last line that outputs show, of at most 200 characters,
// for messages about progress.
func LastLine(outputs []Output) string {
	for i := len(outputs) - 1; i >= 0; i-- {
		o := outputs[i]
		text := ""
		switch o.Type {
		case TypeStream:
			text = streamText(o)
			text = text[max(len(text)-8192, 0):]
		case TypeError:
			text = exception(o.EName, o.EValue)
		default:
			text = Cut(dataText(o.Data, false), 8192)
		}
		lines := strings.Split(ApplyTerminal(text), "\n")
		for j := len(lines) - 1; j >= 0; j-- {
			if s := OneLine(lines[j], 200); s != "" {
				return s
			}
		}
	}
	return ""
}

// Runs returns a line for each of several executions, such as those of a
// run-all, and under one that failed its exception.
func Runs(runs []ExecutionView, limit int) string {
	if limit == 0 {
		limit = DefaultLimit
	}
	counts := map[string]int{}
	var lines []string
	for _, e := range runs {
		counts[e.Status]++
		line := Header(e)
		if e.Reason != "" {
			line += " · " + OneLine(e.Reason, 160)
		}
		for _, o := range e.Outputs {
			if o.Type == TypeError {
				line += "\n    " + OneLine(exception(o.EName, o.EValue), 200)
			}
		}
		lines = append(lines, line)
	}
	var sum []string
	for _, s := range []string{StatusDone, StatusError, StatusRunning, StatusQueued, StatusCancelled} {
		if counts[s] > 0 {
			sum = append(sum, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	title := plural(len(runs), "cell")
	if len(sum) > 0 {
		title += ": " + strings.Join(sum, ", ")
	}
	return Bounded(title+"\n"+strings.Join(lines, "\n"), limit, "get_all_cells has every status")
}
