package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/present"
	"runt/internal/runtimestate"
	"runt/internal/wire"
)

// executeCell runs one cell.
func executeCell(ctx context.Context, k *call, b *book) (*reply, error) {
	cell, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	if cell.Type != "code" {
		return nil, notCode(cell.ID, cell.Type)
	}
	return b.runCell(ctx, cell.ID, waitOf(k.args))
}

// executeCode runs code that is in no cell.
func executeCode(ctx context.Context, k *call, b *book) (*reply, error) {
	return b.runAndShow(ctx, b.codeAsker(k.args.text("code"), domain.DerivedExecutionID(k.id, "")), waitOf(k.args))
}

// codeAsker asks for the execution of code in no cell. Daemons that are not
// runt's cannot do that.
func (b *book) codeAsker(code string, id domain.ExecutionID) ask {
	return func(ctx context.Context) (*client.Execution, error) {
		h := b.h()
		if !h.Extended() {
			return nil, domain.Errorf(domain.CodeInvalidArgument, "This daemon cannot run code without a cell.").WithHint("Call create_cell with and_run=true.")
		}
		resp, err := h.Request(ctx, wire.Request{Action: wire.ActionExecuteCode, Code: code, ExecutionID: string(id), Idempotent: true})
		if err != nil {
			return nil, err
		}
		if resp.Result != wire.ResultCellQueued {
			return nil, domain.Errorf(domain.CodeKernelUnavailable, "The code was not accepted (%s).", resp.Result).WithHint("Call restart_kernel, then try again.")
		}
		return h.Follow("", id)
	}
}

// runAllCells runs code cells in order.
func runAllCells(ctx context.Context, k *call, b *book) (*reply, error) {
	cells, err := b.codeCells(ctx, k.args.text("from_cell_id"), k.args.text("to_cell_id"))
	if err != nil {
		return nil, err
	}
	if len(cells) == 0 {
		return textf("There are no code cells to run."), nil
	}
	w := waitOf(k.args)
	if !k.args.flag("wait") {
		w.timeout = 0
	}
	return b.runCells(ctx, cells, w)
}

// codeCells returns the code cells between two cells, both included.
func (b *book) codeCells(ctx context.Context, from, to string) ([]domain.CellID, error) {
	for _, id := range []string{from, to} {
		if id == "" {
			continue
		}
		if _, err := b.cellByID(ctx, id); err != nil {
			return nil, err
		}
	}
	cells := b.doc().Cells()
	at := func(id string, otherwise int) int {
		if id == "" {
			return otherwise
		}
		return slices.IndexFunc(cells, func(c notebook.Cell) bool { return string(c.ID) == id })
	}
	first, last := at(from, 0), at(to, len(cells)-1)
	if first > last && len(cells) > 0 {
		return nil, invalidf("Cell %s comes after %s.", from, to).WithHint("Exchange from_cell_id and to_cell_id.")
	}
	var ids []domain.CellID
	for _, c := range cells[max(first, 0) : last+1] {
		if c.Type == "code" {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// runCells runs cells in order and waits for all of them.
func (b *book) runCells(ctx context.Context, cells []domain.CellID, w waitFor) (*reply, error) {
	ids := map[string]string{}
	only := make([]string, len(cells))
	for i, cell := range cells {
		ids[string(cell)] = string(domain.DerivedExecutionID(b.k.id, cell))
		only[i] = string(cell)
	}
	queued, err := b.queueAll(ctx, only, ids)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(w.timeout)
	var lines []string
	var failed *view
	counts := map[string]int{}
	for i, q := range queued {
		b.k.progress(ctx, fmt.Sprintf("cell %d of %d", i+1, len(queued)))
		v, err := b.awaitOne(ctx, q, waitFor{timeout: max(0, time.Until(deadline))})
		if err != nil {
			return nil, err
		}
		if err := b.neverRan(ctx, v); err != nil && i == 0 {
			return nil, err
		}
		counts[v.status]++
		line := present.Header(present.ExecutionView{CellID: q.CellID, ExecutionID: q.ExecutionID, Status: v.status, Count: v.count, Seconds: v.seconds})
		if v.status == runtimestate.Cancelled && v.reason != "" {
			line += " · " + present.OneLine(v.reason, reasonWidth)
		}
		lines = append(lines, line)
		if v.status == runtimestate.Error && failed == nil {
			failed = &v
		}
	}
	rep := &reply{}
	if failed != nil {
		rep = b.k.c.show(ctx, *failed, present.Options{Limit: errorLimit})
	}
	const linesLimit = 12 << 10
	text := summary(counts, len(queued)) + "\n" + present.Bounded(strings.Join(lines, "\n"), linesLimit, "get_all_cells shows each")
	if failed != nil {
		text += "\n\nThe first error:\n" + rep.text
	}
	rep.text = text
	return rep, nil
}

// reasonWidth is how much run_all_cells shows of why a cell did not run, in characters.
const reasonWidth = 100

// errorLimit is how much run_all_cells shows of the first cell that raised.
const errorLimit = 4 << 10

func summary(counts map[string]int, total int) string {
	parts := []string{fmt.Sprintf("%d cells", total)}
	for _, status := range []string{runtimestate.Done, runtimestate.Error, runtimestate.Cancelled, runtimestate.Executing, runtimestate.Queued} {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	if counts[runtimestate.Executing]+counts[runtimestate.Queued] > 0 {
		parts = append(parts, "it goes on; get_results waits for an execution")
	}
	return strings.Join(parts, " · ")
}

// queueAll asks for all cells as one run, so that an error in one cancels those after it.
func (b *book) queueAll(ctx context.Context, only []string, ids map[string]string) ([]wire.CellQueued, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queueLimit)
	defer cancel()
	defer b.ref.Yield()
	resp, err := b.request(ctx, wire.Request{Action: wire.ActionRunAllCells, OnlyIDs: only, CellExecutionIDs: ids, Idempotent: true, Direct: b.h().Extended(), RequiredHeads: b.heads()})
	if err != nil {
		return nil, err
	}
	if resp.Result != wire.ResultAllCellsQueued {
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "The cells were not accepted (%s).", resp.Result).WithHint("Call restart_kernel, then try again.")
	}
	var body wire.AllCellsQueued
	if err := resp.Decode(&body); err != nil {
		return nil, err
	}
	if !b.h().Extended() { // it has run all cells, whatever was asked for
		body.Queued = slices.DeleteFunc(body.Queued, func(q wire.CellQueued) bool { return !slices.Contains(only, q.CellID) })
	}
	return body.Queued, nil
}

// awaitOne waits for one execution of a run.
func (b *book) awaitOne(ctx context.Context, q wire.CellQueued, w waitFor) (view, error) {
	cell, id := domain.CellID(q.CellID), domain.ExecutionID(q.ExecutionID)
	e, err := b.h().Follow(cell, id)
	for try := 0; err != nil && isLost(err) && try < maxRejoins; try++ {
		if err = b.s.Again(ctx); err == nil {
			e, err = b.h().Follow(cell, id)
		}
	}
	if err != nil {
		return view{}, named(err, id)
	}
	return b.await(ctx, e, b.asker(cell, id), w)
}

// sendInput answers the input that a cell waits for.
func sendInput(ctx context.Context, k *call, b *book) (*reply, error) {
	request := b.runtime().InputRequest()
	if request == nil && k.again {
		return textf("The input was answered before this call came a second time."), nil
	}
	if request == nil {
		return nil, invalidf("No cell is waiting for input.").WithHint("A cell that waits for input says so in its result.")
	}
	prompt := b.inputPrompt()
	resp, err := b.h().Request(ctx, wire.Request{Action: wire.ActionSendInput, Text: k.args.text("text")})
	if err != nil {
		return nil, err
	}
	if resp.Result != wire.ResultOK {
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "The input was not taken (%s).", resp.Result)
	}
	wait, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err = b.h().WaitFor(wait, func() bool { // or the next call is told of the same question
		now := b.runtime().InputRequest()
		return now == nil || now["number"] != request["number"] || now["number"] == nil
	})
	if err != nil {
		k.c.srv.o.Logger.Debug("the question still stands", "err", err)
	}
	execution, _ := request["execution_id"].(string)
	return textf("Answered %s.\nCall get_results with execution_id=%q and wait_secs to see what follows.", prompt, execution), nil
}
