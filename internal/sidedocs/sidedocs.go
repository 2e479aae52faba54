package sidedocs

import (
	"fmt"

	"runt/internal/automerge"
)

// Comms makes an empty document for the state of widgets:
//
//	schema_version  uint 1
//	comms           map of comm id to the widget's state
func Comms(s *automerge.Shard, actor string) (*automerge.Doc, error) {
	return seeded(s, actor, "nteract:comms-doc-schema:v1", "Seed nteract comms doc schema", automerge.Map{
		{Key: "schema_version", Value: automerge.Uint(1)},
		{Key: "comms", Value: automerge.Map{}},
	})
}

// Comments makes an empty document for comment threads:
//
//	schema_version   uint 1
//	comments_doc_id  string
//	notebook_ref     map: kind and what it is about
//	threads          map of thread id to thread
func Comments(s *automerge.Shard, actor string) (*automerge.Doc, error) {
	return seeded(s, actor, "nteract:comments-doc-schema:v1", "Seed nteract comments doc schema", automerge.Map{
		{Key: "schema_version", Value: automerge.Uint(1)},
		{Key: "comments_doc_id", Value: ""},
		{Key: "notebook_ref", Value: automerge.Map{}},
		{Key: "threads", Value: automerge.Map{}},
	})
}

func seeded(s *automerge.Shard, actor, seedActor, message string, fields automerge.Map) (*automerge.Doc, error) {
	doc, err := s.New(seedActor)
	if err != nil {
		return nil, fmt.Errorf("make side document: %w", err)
	}
	b := automerge.NewBatch()
	b.Plain()
	for _, f := range fields {
		b.Put(b.Root(), f.Key, f.Value)
	}
	if _, err = doc.Apply(b, automerge.WithMessage(message)); err == nil {
		err = doc.SetActor(actor)
	}
	if err != nil {
		doc.Close()
		return nil, fmt.Errorf("seed side document: %w", err)
	}
	return doc, nil
}
