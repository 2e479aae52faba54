package mcpserver

import (
	"context"
	"slices"
	"strings"

	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/present"
)

// deleteCell deletes a cell.
func deleteCell(ctx context.Context, k *call, b *book) (*reply, error) {
	if made, err := b.made(); made || err != nil {
		return textf("Deleted %s.", k.args.text("cell_id")), err
	}
	cell, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.Index(b.doc().Order(), cell.ID)
	err = b.edit(ctx, func(tx *notebook.Tx) error {
		if _, exists := b.doc().Cell(cell.ID); !exists {
			return nil // made by the first try, or by somebody else: it is gone
		}
		return tx.DeleteCell(cell.ID)
	})
	if err != nil {
		return nil, err
	}
	return textf("Deleted %s.\n%s", cell.ID, b.around(at)), nil
}

// moveCell puts a cell elsewhere.
func moveCell(ctx context.Context, k *call, b *book) (*reply, error) {
	cell, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	if after := k.args.text("after_cell_id"); after == string(cell.ID) {
		return nil, invalidf("A cell cannot be put after itself.").WithHint("Name another cell, or null for the first place.")
	} else if after != "" {
		if _, err := b.cellByID(ctx, after); err != nil {
			return nil, err
		}
	}
	err = b.edit(ctx, func(tx *notebook.Tx) error { return tx.MoveCell(cell.ID, whereOf(k.args, notebook.First)) })
	if err != nil {
		return nil, err
	}
	b.h().SetFocus(cell.ID)
	return textf("Moved %s.\n%s", b.placeText(cell.ID), b.around(slices.Index(b.doc().Order(), cell.ID))), nil
}

// around lists the cells near a place.
func (b *book) around(at int) string {
	const near = 2
	cells := b.doc().Cells()
	if len(cells) == 0 {
		return "The notebook has no cells now."
	}
	from, to := max(0, min(at, len(cells)-1)-near), min(len(cells), at+near+1)
	var views []present.CellView
	for i := from; i < to; i++ {
		views = append(views, b.cellView(i, cells[i], false))
	}
	return present.Cells(views, present.CellsOptions{Total: len(cells)})
}

// setCellMetadata changes the tags of a cell and what of it is hidden.
func setCellMetadata(ctx context.Context, k *call, b *book) (*reply, error) {
	cell, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	err = b.edit(ctx, func(tx *notebook.Tx) error {
		now, ok := b.doc().Cell(cell.ID)
		if !ok {
			return missing(tx, cell.ID)
		}
		m = changedMetadata(now.Metadata, k.args)
		return tx.SetCellMetadata(cell.ID, m)
	})
	if err != nil {
		return nil, err
	}
	tags := strings.Join(tagsOf(m), ", ")
	jupyter, _ := m["jupyter"].(map[string]any)
	return textf("%s: tags %s; source hidden %v, outputs hidden %v.", cell.ID, orElse(tags, "none"),
		jupyter["source_hidden"] == true, jupyter["outputs_hidden"] == true), nil
}

func changedMetadata(m map[string]any, a args) map[string]any {
	if m == nil {
		m = map[string]any{}
	}
	tags := slices.DeleteFunc(tagsOf(m), func(t string) bool { return slices.Contains(a.list("remove_tags"), t) })
	for _, t := range a.list("add_tags") {
		if t != "" && !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	if a.has("add_tags") || a.has("remove_tags") {
		list := make([]any, len(tags))
		for i, t := range tags {
			list[i] = t
		}
		m["tags"] = list
		if len(list) == 0 {
			delete(m, "tags")
		}
	}
	for _, key := range []string{"source_hidden", "outputs_hidden"} {
		if !a.has(key) {
			continue
		}
		jupyter, ok := m["jupyter"].(map[string]any)
		if !ok {
			jupyter = map[string]any{}
		}
		jupyter[key] = a.flag(key)
		m["jupyter"] = jupyter
	}
	return m
}

func tagsOf(m map[string]any) []string {
	list, _ := m["tags"].([]any)
	var tags []string
	for _, t := range list {
		if s, ok := t.(string); ok {
			tags = append(tags, s)
		}
	}
	return tags
}

// clearOutputs makes cells show no outputs.
func clearOutputs(ctx context.Context, k *call, b *book) (*reply, error) {
	var ids []domain.CellID
	if k.args.has("cell_ids") {
		for _, id := range k.args.list("cell_ids") {
			c, err := b.cellByID(ctx, id)
			if err != nil {
				return nil, err
			}
			ids = append(ids, c.ID)
		}
	} else {
		ids = b.doc().Order()
	}
	cleared := 0
	err := b.edit(ctx, func(tx *notebook.Tx) error {
		cleared = 0
		for _, id := range ids {
			c, ok := b.doc().Cell(id)
			if !ok || c.ExecutionID == "" && c.ExecutionCount == "null" {
				continue
			}
			cleared++
			if err := tx.SetExecution(id, ""); err != nil {
				return err
			}
			if err := tx.SetExecutionCount(id, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return textf("Cleared the outputs of %d of %d cells.", cleared, len(ids)), nil
}
