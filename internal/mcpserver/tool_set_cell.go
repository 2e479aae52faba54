package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"runt/internal/domain"
	"runt/internal/notebook"
	"runt/internal/present"
)

// setCell replaces the source of a cell, or its type.
func setCell(ctx context.Context, k *call, b *book) (*reply, error) {
	cell, err := b.cell(ctx)
	if err != nil {
		return nil, err
	}
	if !k.args.has("source") && !k.args.has("cell_type") && !k.args.flag("and_run") {
		return nil, invalidf("There is nothing to set.").WithHint("Give source, cell_type, or both.")
	}
	if k.args.flag("and_run") && orElse(k.args.text("cell_type"), cell.Type) != "code" {
		return nil, notCode(cell.ID, orElse(k.args.text("cell_type"), cell.Type))
	}
	if k.args.has("expected_hash") { // what others have just written counts
		b.catchUp(ctx)
	}
	var before string
	return b.editAndRun(ctx, cell.ID, func(tx *notebook.Tx) (string, error) {
		now, ok := b.doc().Source(cell.ID)
		if !ok {
			return "", missing(tx, cell.ID)
		}
		before = now
		if want := k.args.text("expected_hash"); want != "" && !hashMatches(now, want) {
			return "", stale(cell.ID, now)
		}
		if kind := k.args.text("cell_type"); kind != "" && kind != cell.Type {
			if err := tx.SetCellType(cell.ID, kind); err != nil {
				return "", err
			}
		}
		if !k.args.has("source") {
			return before, nil
		}
		return before, tx.SetSource(cell.ID, k.args.text("source"))
	})
}

// editAndRun edits one cell, then runs it when the call says so. The edit
// returns the source before it, of which the reply shows the difference.
func (b *book) editAndRun(ctx context.Context, id domain.CellID, fn func(tx *notebook.Tx) (string, error)) (*reply, error) {
	var before string
	made, err := b.made()
	if err != nil {
		return nil, err
	}
	edit := func(tx *notebook.Tx) (err error) {
		if made {
			return nil
		}
		before, err = fn(tx)
		return err
	}
	if b.k.args.flag("and_run") {
		if _, err := b.apply(ctx, edit); err != nil {
			return nil, err
		}
		return b.runCell(ctx, id, waitOf(b.k.args))
	}
	if err := b.edit(ctx, edit); err != nil {
		return nil, err
	}
	b.h().SetFocus(id)
	after, err := b.cellByID(ctx, string(id))
	if err != nil {
		return nil, err
	}
	changes := orElse(present.Diff(before, after.Source), "The source is unchanged.")
	if made {
		changes = after.Source
	}
	return textf("%s (%s) hash=%s\n%s", id, after.Type, sourceHash(after.Source), changes), nil
}

// hashLength is how many hex digits of a source's hash are shown. An expected_hash may have more.
const hashLength = 12

// sourceHash names a source for expected_hash.
func sourceHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:])[:hashLength]
}

func hashMatches(source, want string) bool {
	sum := sha256.Sum256([]byte(source))
	whole := hex.EncodeToString(sum[:])
	want = strings.ToLower(strings.TrimSpace(want))
	return len(want) >= hashLength && strings.HasPrefix(whole, want)
}

// stale says that a source is not what the caller expected, and what it is.
func stale(id domain.CellID, now string) error {
	const shown = 1000
	return domain.Errorf(domain.CodeStaleSource, "The source of %s is not the one you expected. Its hash is %s now, and it reads %q.", id, sourceHash(now), present.Cut(now, shown)).
		WithHint("Call get_cell with cell_id=%q to see it, then edit what is there.", string(id))
}

func notCode(id domain.CellID, kind string) error {
	return invalidf("Cell %s is a %s cell and cannot be run.", id, kind).WithHint("Call set_cell with cell_type=\"code\" first, or leave it out of the run.")
}
