package mcpserver

import (
	"strconv"

	"runt/internal/notebook"
	"runt/internal/present"
	"runt/internal/runtimestate"
)

// cellView is a cell as it is shown. The outputs are only there on request,
// because they have to be copied out of the document.
func (b *book) cellView(i int, c notebook.Cell, outputs bool) present.CellView {
	v := present.CellView{Index: i, ID: string(c.ID), Type: c.Type, Source: c.Source, ExecutionID: c.ExecutionID, Tags: tagsOf(c.Metadata)}
	if n, err := strconv.ParseInt(c.ExecutionCount, 10, 64); err == nil {
		v.Count = &n
	}
	if c.ExecutionID == "" {
		return v
	}
	if !outputs {
		v.Status = orElse(b.runtime().Status(c.ExecutionID), "ran before")
		return v
	}
	v.Status = "ran before"
	if e, ok := b.runtime().Execution(c.ExecutionID); ok {
		v.Status, v.Outputs = e.Status, viewOfState(e).outputs
		if e.Count != nil {
			v.Count = e.Count
		}
	}
	return v
}

// mapText is the map of the whole notebook, as much of it as fits.
func (b *book) mapText() string {
	cells := b.doc().Cells()
	views := make([]present.CellView, len(cells))
	for i, c := range cells {
		views[i] = b.cellView(i, c, false)
	}
	return present.Map(views)
}

// raised says whether the last run of a cell ended with an error.
func (b *book) raised(c notebook.Cell) bool {
	return c.ExecutionID != "" && b.runtime().Status(c.ExecutionID) == runtimestate.Error
}
