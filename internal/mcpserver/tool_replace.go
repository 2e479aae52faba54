package mcpserver

import (
	"context"
	"regexp"

	"runt/internal/automerge"
	"runt/internal/domain"
	"runt/internal/notebook"
)

// replaceMatch replaces one exact piece of a cell's source.
func replaceMatch(ctx context.Context, k *call, b *book) (*reply, error) {
	content := k.args.text("content")
	return b.replace(ctx, func(source string) (span, string, error) {
		s, err := findMatch(source, k.args.text("match"), k.args.text("context_before"), k.args.text("context_after"))
		return s, content, err
	})
}

// replaceRegex replaces the one piece of a cell's source that a pattern matches.
func replaceRegex(ctx context.Context, k *call, b *book) (*reply, error) {
	re, err := regexp.Compile("(?m)" + k.args.text("pattern"))
	if err != nil {
		return nil, invalidf("pattern is no regular expression: %v.", err).WithHint("The syntax is RE2: no look-around, no back-references.")
	}
	return b.replace(ctx, func(source string) (span, string, error) {
		s, groups, err := findPattern(source, re)
		if err != nil {
			return span{}, "", err
		}
		return s, string(re.ExpandString(nil, k.args.text("content"), source, groups)), nil
	})
}

// replace puts a new text in the place of the call's cell that find returns. The
// place is found in the text as it is when the edit is made, and only that piece is
// touched, so that what others type elsewhere in the cell stays.
func (b *book) replace(ctx context.Context, find func(source string) (span, string, error)) (*reply, error) {
	cell, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	if b.k.args.flag("and_run") && cell.Type != "code" {
		return nil, notCode(cell.ID, cell.Type)
	}
	return b.editAndRun(ctx, cell.ID, func(tx *notebook.Tx) (string, error) {
		source, ok := b.doc().Source(cell.ID)
		if !ok {
			return "", missing(tx, cell.ID)
		}
		s, content, err := find(source)
		if err != nil {
			return "", err
		}
		return source, spliceChanged(tx, cell.ID, source, s, content)
	})
}

// spliceChanged replaces a piece of a source, leaving alone what is the same at its two ends.
func spliceChanged(tx *notebook.Tx, id domain.CellID, source string, s span, content string) error {
	old, repl := []rune(source[s.start:s.end]), []rune(content)
	head := 0
	for head < len(old) && head < len(repl) && old[head] == repl[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(repl)-head && old[len(old)-1-tail] == repl[len(repl)-1-tail] {
		tail++
	}
	pos := automerge.CodePointLen(source[:s.start]) + head
	return tx.SpliceSource(id, pos, len(old)-head-tail, string(repl[head:len(repl)-tail]))
}
