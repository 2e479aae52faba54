package present

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Views of a notebook, as get_all_cells names them.
const (
	ViewMap     = "map"     // one line a cell
	ViewSource  = "source"  // sources
	ViewOutputs = "outputs" // sources and outputs
)

// Limits of a notebook's text.
const (
	MapLimit      = 8 << 10  // bytes of a map
	CellsLimit    = 20 << 10 // bytes of the other views
	mapWidth      = 60       // characters of a cell in the map
	cellSource    = 4 << 10  // bytes of one source in a view of many
	cellOutputs   = 2 << 10  // bytes of the outputs of one cell in a view of many
	pagingReserve = 160      // bytes kept for the line about the next page
)

// CellView is a cell as it is to be shown.
type CellView struct {
	Index       int // in the notebook
	ID          string
	Type        string // code, markdown, raw
	Source      string
	Status      string // of its last execution; "" when it never ran
	Count       *int64
	ExecutionID string
	Outputs     []Output
	Tags        []string
}

// CellsOptions say what of a notebook to show. The zero value is the map from
// the first cell on.
type CellsOptions struct {
	View       string // one of the View constants; "" means ViewMap
	Total      int    // cells in the notebook, when cells are only a part; 0: len(cells)
	ErrorsOnly bool   // only for the line about the next page: cells are chosen by the caller
	More       bool   // there are cells after these that the caller left out
	Limit      int    // bytes; 0: MapLimit or CellsLimit
}

// Map returns one line for every cell, as many as fit.
func Map(cells []CellView) string { return Cells(cells, CellsOptions{}) }

// Cells returns cells as text, as many as fit and at least one, and how to get
// those after them.
func Cells(cells []CellView, o CellsOptions) string {
	if o.View == "" {
		o.View = ViewMap
	}
	if o.Limit == 0 {
		o.Limit = CellsLimit
		if o.View == ViewMap {
			o.Limit = MapLimit
		}
	}
	o.Total = max(o.Total, len(cells))
	var b strings.Builder
	b.WriteString(cellsTitle(cells, o))
	for i, c := range cells {
		text := cellText(c, o.View)
		if room := o.Limit - pagingReserve - b.Len() - 1; len(text) > room {
			if i > 0 {
				b.WriteString("\n" + nextPage(c.Index, o))
				return b.String()
			}
			text = Bounded(text, room, "get_cell cell_id="+c.ID)
		}
		b.WriteString("\n" + text)
	}
	if n := len(cells); o.More && n > 0 {
		b.WriteString("\n" + nextPage(cells[n-1].Index+1, o))
	}
	return b.String()
}

func cellsTitle(cells []CellView, o CellsOptions) string {
	title := plural(o.Total, "cell")
	switch {
	case o.ErrorsOnly && len(cells) == 0:
		title += "; none of them raised in its last run"
	case o.ErrorsOnly:
		title += "; these raised in their last run"
	case len(cells) == 0 && o.Total > 0:
		title += fmt.Sprintf("; none from there on: start is at most %d", o.Total-1)
	}
	return title
}

func nextPage(start int, o CellsOptions) string {
	s := fmt.Sprintf("[… the next cells: get_all_cells view=%s start=%d", o.View, start)
	if o.ErrorsOnly {
		s += " errors_only=true"
	}
	return s + fmt.Sprintf("; %d cells in all]", o.Total)
}

// cellLine returns the head of a cell: index, id, type, status.
func cellLine(c CellView) string {
	parts := []string{strconv.Itoa(c.Index), OneLine(c.ID, 80), OneLine(c.Type, 20)}
	if c.Type == "code" {
		status := c.Status
		if status == "" {
			status = "not run"
		}
		if c.Count != nil {
			status = "[" + strconv.FormatInt(*c.Count, 10) + "] " + status
		}
		parts = append(parts, OneLine(status, 60))
	}
	if len(c.Tags) > 0 {
		parts = append(parts, "tags: "+OneLine(strings.Join(c.Tags, ", "), 60))
	}
	return strings.Join(parts, " · ")
}

func cellText(c CellView, view string) string {
	if view == ViewMap {
		return cellLine(c) + " · " + sourcePreview(c.Source) + raised(c.Outputs)
	}
	text := "━ " + cellLine(c)
	source := strings.TrimRight(StripANSI(c.Source), "\n")
	if source != "" {
		text += "\n" + Bounded(source, cellSource, "get_cell cell_id="+c.ID)
	}
	if view != ViewOutputs || len(c.Outputs) == 0 {
		return text
	}
	r := Outputs(c.Outputs, Options{Limit: cellOutputs, NoImages: true, Rest: "get_cell cell_id=" + c.ID + " full_output=true"})
	if r.Text != "" {
		text += "\n→ " + strings.ReplaceAll(r.Text, "\n", "\n  ")
	}
	return text
}

// raised returns a line with the exception that a cell ended with, if its outputs are known.
func raised(outputs []Output) string {
	for _, o := range slices.Backward(outputs) {
		if o.Type == TypeError {
			return "\n    " + OneLine(exception(o.EName, o.EValue), 200)
		}
	}
	return ""
}

// sourcePreview returns the first line of a source that says something, and how
// many more lines there are.
func sourcePreview(source string) string {
	lines := strings.Split(strings.TrimSpace(Cut(source, 1<<16)), "\n")
	first := ""
	for _, l := range lines {
		if first = OneLine(l, mapWidth); first != "" {
			break
		}
	}
	if first == "" {
		return "(empty)"
	}
	if n := strings.Count(strings.TrimSpace(source), "\n"); n > 0 {
		more := fmt.Sprintf(" (+%d lines)", n)
		if n == 1 {
			more = " (+1 line)"
		}
		first = CutRunes(first, mapWidth-len(more)) + more
	}
	return first
}
