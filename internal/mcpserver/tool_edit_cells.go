package mcpserver

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"runt/internal/domain"
	"runt/internal/notebook"
)

// maxOperations bounds one call of edit_cells.
const maxOperations = 500

// editCells makes several edits as one change of the document, or none of them.
func editCells(ctx context.Context, k *call, b *book) (*reply, error) {
	ops := k.args.objects("operations")
	switch {
	case len(ops) == 0:
		return nil, invalidf("operations is empty.").WithHint("Give at least one operation: create, set, delete or move.")
	case len(ops) > maxOperations:
		return nil, invalidf("There are %d operations; at most %d fit in one call.", len(ops), maxOperations).WithHint("Split them over several calls.")
	}
	e := &cellEdits{b: b, callID: k.id, made: map[string]domain.CellID{}}
	if made, err := b.made(); err != nil {
		return nil, err
	} else if made || e.sentAgain(ops) {
		return textf("All %d operations had been made already.\n%s", len(ops), b.mapText()), nil
	}
	err := b.edit(ctx, func(tx *notebook.Tx) error {
		e.lines = nil
		for i, op := range ops {
			if err := e.perform(tx, i, op); err != nil {
				return inOperation(err, i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return textf("%s", strings.Join(e.lines, "\n")), nil
}

// inOperation names the operation that an error is about.
func inOperation(err error, i int) error {
	e := domain.Errorf(domain.CodeOf(err), "operations[%d]: %s Nothing was changed.", i, errorHead(err))
	return e.WithHint("%s", errorHint(err))
}

// cellEdits performs the operations of one call.
type cellEdits struct {
	b      *book
	callID string
	made   map[string]domain.CellID // "$n" → the cell that operation n created
	lines  []string
}

// sentAgain says whether this call's edit is there already, which its first new cell shows.
func (e *cellEdits) sentAgain(ops []args) bool {
	for i, op := range ops {
		if op.text("op") == "create" {
			_, exists := e.b.doc().Cell(domain.DerivedCellID(e.callID, i))
			return exists
		}
	}
	return false
}

func (e *cellEdits) perform(tx *notebook.Tx, i int, op args) error {
	if op.text("op") == "create" {
		return e.create(tx, i, op)
	}
	if op.text("cell_id") == "" {
		return invalidf("cell_id is missing.").WithHint("%s needs the id of a cell, or $n for the one that operation n created.", op.text("op"))
	}
	id := e.id(op.text("cell_id"))
	switch op.text("op") {
	case "set":
		return e.set(tx, i, id, op)
	case "delete":
		e.line(i, "deleted %s", id)
		return tx.DeleteCell(id)
	default:
		e.line(i, "moved %s", id)
		return tx.MoveCell(id, e.where(op, notebook.First))
	}
}

func (e *cellEdits) create(tx *notebook.Tx, i int, op args) error {
	if op.has("cell_id") {
		return invalidf("cell_id cannot be chosen for a new cell.").WithHint("Leave it out; later operations call the cell \"$%d\".", i)
	}
	id := domain.DerivedCellID(e.callID, i)
	e.made["$"+strconv.Itoa(i)] = id
	e.line(i, "created %s", id)
	return tx.AddCell(notebook.NewCell{ID: id, Type: orElse(op.text("cell_type"), "code"), Source: op.text("source")}, e.where(op, notebook.Last))
}

func (e *cellEdits) set(tx *notebook.Tx, i int, id domain.CellID, op args) error {
	if !op.has("source") && !op.has("cell_type") {
		return invalidf("There is nothing to set.").WithHint("Give source, cell_type, or both.")
	}
	e.line(i, "set %s", id)
	if kind := op.text("cell_type"); kind != "" {
		if err := tx.SetCellType(id, kind); err != nil {
			return err
		}
	}
	if !op.has("source") {
		return nil
	}
	return tx.SetSource(id, op.text("source"))
}

func (e *cellEdits) id(s string) domain.CellID {
	if id, ok := e.made[s]; ok {
		return id
	}
	return domain.CellID(s)
}

func (e *cellEdits) where(op args, otherwise notebook.Where) notebook.Where {
	if id, ok := e.made[op.text("after_cell_id")]; ok {
		return notebook.After(id)
	}
	return whereOf(op, otherwise)
}

func (e *cellEdits) line(i int, format string, a ...any) {
	e.lines = append(e.lines, fmt.Sprintf("%d: ", i)+fmt.Sprintf(format, a...))
}
