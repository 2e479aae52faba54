package notebook

import (
	"fmt"
	"sync"

	"runt/internal/automerge"
	"runt/internal/domain"
)

// SchemaVersion is the version of the schema that this package writes.
const SchemaVersion = 5

const (
	seedActor   = "nteract:notebook-schema:v5"
	seedMessage = "Seed nteract notebook schema"
)

// Doc is one replica of a notebook document.
type Doc struct {
	am   *automerge.Doc
	edit sync.Mutex // held from the preparation of an edit to its end
}

// New makes an empty notebook document whose further changes are by actor. The
// first change is the one that all notebooks share, so replicas made by
// different programs are replicas of the same document.
func New(s *automerge.Shard, actor string) (*Doc, error) {
	am, err := s.New(seedActor)
	if err != nil {
		return nil, fmt.Errorf("make notebook document: %w", err)
	}
	if err := seed(am, actor); err != nil {
		am.Close()
		return nil, err
	}
	return &Doc{am: am}, nil
}

func seed(am *automerge.Doc, actor string) error {
	b := automerge.NewBatch()
	b.Plain()
	b.Put(b.Root(), "schema_version", automerge.Uint(SchemaVersion))
	b.Put(b.Root(), "cells", automerge.Map{})
	b.Put(b.Root(), "metadata", automerge.Map{})
	if _, err := am.Apply(b, automerge.WithMessage(seedMessage)); err != nil {
		return fmt.Errorf("seed notebook document: %w", err)
	}
	if err := am.SetActor(actor); err != nil {
		return fmt.Errorf("name actor of notebook document: %w", err)
	}
	return nil
}

// Load makes a replica from what automerge.Doc.Save returned, with changes
// appended or not. It refuses what is not a notebook document; one of a newer
// schema is taken as it is.
func Load(s *automerge.Shard, saved []byte, actor string) (*Doc, error) {
	am, err := s.Load(saved, actor)
	if err != nil {
		return nil, fmt.Errorf("load notebook document: %w", err)
	}
	if _, ok := am.Get("cells"); !ok {
		am.Close()
		return nil, domain.Errorf(domain.CodeFileUnreadable, "the saved document is not a notebook: it has no cells map").
			WithHint("Open the notebook from its .ipynb file instead.")
	}
	return &Doc{am: am}, nil
}

// Engine returns the Automerge document, for synchronising and saving it.
// Changes are to be made with Edit only.
func (d *Doc) Engine() *automerge.Doc { return d.am }
