package mcpserver

import (
	"context"
	"fmt"

	"runt/internal/domain"
	"runt/internal/notebook"
)

// createCell adds a cell whose id derives from the call, so that a call that is
// sent again finds the cell it has made.
func createCell(ctx context.Context, k *call, b *book) (*reply, error) {
	id := domain.DerivedCellID(k.id, 0)
	cell := notebook.NewCell{ID: id, Type: k.args.text("cell_type"), Source: k.args.text("source")}
	run := k.args.flag("and_run")
	if run && cell.Type != "code" {
		return nil, invalidf("A %s cell cannot be run.", cell.Type).WithHint("Leave out and_run, or use cell_type=\"code\".")
	}
	where := whereOf(k.args, notebook.Last)
	add := func(tx *notebook.Tx) error {
		if _, exists := b.doc().Cell(id); exists {
			return nil
		}
		return tx.AddCell(cell, where)
	}
	if run {
		if _, err := b.apply(ctx, add); err != nil {
			return nil, err
		}
		return b.runCell(ctx, id, waitOf(k.args))
	}
	if err := b.edit(ctx, add); err != nil {
		return nil, err
	}
	b.h().SetFocus(id)
	return textf("Created %s.", b.placeText(id)), nil
}

// whereOf reads after_cell_id: null is first, absent is otherwise.
func whereOf(a args, otherwise notebook.Where) notebook.Where {
	switch {
	case a.isNull("after_cell_id"):
		return notebook.First
	case a.text("after_cell_id") != "":
		return notebook.After(domain.CellID(a.text("after_cell_id")))
	}
	return otherwise
}

// placeText describes a cell by id, type and place: "cell-1 (code), cell 3 of 7, after cell-0".
func (b *book) placeText(id domain.CellID) string {
	c, _ := b.doc().Cell(id)
	index, before, ok := b.doc().Place(id)
	if !ok {
		return string(id)
	}
	text := fmt.Sprintf("%s (%s), cell %d of %d", id, c.Type, index+1, b.doc().Len())
	if index > 0 {
		text += fmt.Sprintf(", after %s", before)
	}
	return text
}
