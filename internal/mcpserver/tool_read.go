package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/present"
	"runt/internal/wire"
)

// maxPage bounds the cells that one call looks at when their outputs are shown.
const maxPage = 200

// getAllCells shows the notebook in pages.
func getAllCells(ctx context.Context, k *call, b *book) (*reply, error) {
	view, onlyErrors := k.args.text("view"), k.args.flag("errors_only")
	start, count := int(k.args.integer("start")), int(k.args.integer("count"))
	cells := b.doc().Cells()
	limit := len(cells)
	if view == present.ViewOutputs {
		limit = maxPage
	}
	if count > 0 {
		limit = min(limit, count)
	}
	var views []present.CellView
	more := false
	for i := start; i < len(cells); i++ {
		if onlyErrors && !b.raised(cells[i]) {
			continue
		}
		if len(views) == limit {
			more = true
			break
		}
		views = append(views, b.cellView(i, cells[i], view == present.ViewOutputs || onlyErrors && view == present.ViewMap))
	}
	for _, v := range views {
		if view == present.ViewOutputs {
			k.c.srv.fill(ctx, v.Outputs)
		}
	}
	return &reply{text: present.Cells(views, present.CellsOptions{View: view, Total: len(cells), ErrorsOnly: onlyErrors, More: more})}, nil
}

// getCell shows one cell.
func getCell(ctx context.Context, k *call, b *book) (*reply, error) {
	c, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("%s hash=%s", b.placeText(c.ID), sourceHash(c.Source))
	if tags := tagsOf(c.Metadata); len(tags) > 0 {
		head += " tags: " + strings.Join(tags, ", ")
	}
	text := head + "\n" + present.Bounded(strings.TrimRight(c.Source, "\n"), sourceLimit(k.args), "full_output=true shows all")
	if c.Type != "code" || !k.args.flag("outputs") {
		return &reply{text: text}, nil
	}
	rep := b.lastRun(ctx, c, present.Options{Full: k.args.flag("full_output"), NoImages: !k.args.flag("images")})
	rep.text = text + "\n\n" + rep.text
	return rep, nil
}

// sourceLimit is how much of a source get_cell shows.
func sourceLimit(a args) int {
	const usual, full = 20 << 10, 60 << 10
	if a.flag("full_output") {
		return full
	}
	return usual
}

// lastRun shows the last execution of a cell.
func (b *book) lastRun(ctx context.Context, c notebook.Cell, o present.Options) *reply {
	if c.ExecutionID == "" {
		return &reply{text: "It has not been run."}
	}
	if e, ok := b.runtime().Execution(c.ExecutionID); ok {
		v := viewOfState(e)
		v.cell = string(c.ID)
		return b.k.c.show(ctx, v, o)
	}
	var rec wire.ExecutionRecord
	err := b.k.c.awake(ctx, func() (err error) {
		rec, err = client.ExecutionResult(ctx, b.k.c.srv.o.Socket, domain.ExecutionID(c.ExecutionID))
		return err
	})
	if err != nil {
		return &reply{text: "Its last outputs are not known any more."}
	}
	return b.k.c.show(ctx, viewOfRecord(rec), o)
}

// Limits of what search_cells shows.
const (
	maxHits      = 100
	maxHitsACell = 10
	hitWidth     = 160
)

// searchCells finds text in sources and outputs.
func searchCells(ctx context.Context, k *call, b *book) (*reply, error) {
	matches, err := matcher(k.args.text("pattern"), k.args.flag("regex"))
	if err != nil {
		return nil, err
	}
	in := k.args.text("in")
	s := &search{matches: matches}
	cells := b.doc().Cells()
	for i, c := range cells {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.cell(string(c.ID))
		if in != "outputs" {
			s.text("source", c.Source)
		}
		if in == "source" {
			continue
		}
		v := b.cellView(i, c, true)
		k.c.srv.fill(ctx, v.Outputs)
		s.text("output", present.Outputs(v.Outputs, present.Options{Limit: 1 << 20, NoImages: true}).Text)
	}
	if s.hits == 0 {
		return textf("Nothing matches in %d cells.", len(cells)), nil
	}
	head := fmt.Sprintf("%d lines match in %d cells.", s.hits, s.cells)
	if s.left > 0 {
		head += fmt.Sprintf(" %d of them are not shown.", s.left)
	}
	return &reply{text: head + "\n" + strings.Join(s.lines, "\n")}, nil
}

// search collects lines that match.
type search struct {
	matches           func(line string) bool
	lines             []string
	hits, cells, left int

	id     string
	inCell int
}

func (s *search) cell(id string) { s.id, s.inCell = id, 0 }

func (s *search) text(what, text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if !s.matches(strings.TrimRight(line, "\r\n")) {
			continue
		}
		s.hits++
		if s.inCell == 0 {
			s.cells++
		}
		s.inCell++
		if s.inCell > maxHitsACell || len(s.lines) >= maxHits {
			s.left++
			continue
		}
		s.lines = append(s.lines, fmt.Sprintf("%s %s:%d: %s", s.id, what, n, present.OneLine(line, hitWidth)))
	}
}

// nearExecutions lists execution ids like the one asked for, latest first.
func nearExecutions(ids []string, like string, n int) []string {
	near := slices.Clone(ids)
	slices.Reverse(near)
	common := func(s string) int {
		i := 0
		for i < len(s) && i < len(like) && s[i] == like[i] {
			i++
		}
		return i
	}
	slices.SortStableFunc(near, func(a, b string) int { return common(b) - common(a) })
	return near[:min(n, len(near))]
}
