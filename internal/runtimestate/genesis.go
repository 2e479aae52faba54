package runtimestate

import (
	"fmt"
	"sync"

	"runt/internal/automerge"
	"runt/internal/domain"
)

// SchemaVersion is the version of the schema that this package writes.
const SchemaVersion = 2

const (
	seedActor   = "nteract:runtime-state-schema:v2"
	seedMessage = "Seed nteract runtime state schema"
)

// Doc is one replica of a runtime state document.
type Doc struct {
	am   *automerge.Doc
	edit sync.Mutex // held from the preparation of an edit to its end
}

// New makes a runtime state document whose further changes are by actor. The
// first change is the one that all runtime state documents share.
func New(s *automerge.Shard, actor string) (*Doc, error) {
	am, err := s.New(seedActor)
	if err != nil {
		return nil, fmt.Errorf("make runtime state document: %w", err)
	}
	b := automerge.NewBatch()
	b.Plain()
	for _, f := range genesis() {
		b.Put(b.Root(), f.Key, f.Value)
	}
	if _, err = am.Apply(b, automerge.WithMessage(seedMessage)); err == nil {
		err = am.SetActor(actor)
	}
	if err != nil {
		am.Close()
		return nil, fmt.Errorf("seed runtime state document: %w", err)
	}
	return &Doc{am: am}, nil
}

// Load makes a replica from what automerge.Doc.Save returned, with changes
// appended or not. It refuses what is not a runtime state document.
func Load(s *automerge.Shard, saved []byte, actor string) (*Doc, error) {
	am, err := s.Load(saved, actor)
	if err != nil {
		return nil, fmt.Errorf("load runtime state document: %w", err)
	}
	if _, ok := am.Get("executions"); !ok {
		am.Close()
		return nil, domain.Errorf(domain.CodeFileUnreadable, "the saved document is not a runtime state: it has no executions map").
			WithHint("Start the notebook's kernel again; earlier outputs are in its file.")
	}
	return &Doc{am: am}, nil
}

// Engine returns the Automerge document, for synchronising and saving it.
// Changes are to be made with Edit only.
func (d *Doc) Engine() *automerge.Doc { return d.am }

// genesis lists the keys that the first change makes, in its order.
func genesis() automerge.Map {
	none := []any{}
	return automerge.Map{
		{Key: "schema_version", Value: automerge.Uint(SchemaVersion)},
		{Key: "kernel", Value: automerge.Map{
			{Key: "name", Value: ""}, {Key: "language", Value: ""}, {Key: "env_source", Value: ""},
			{Key: "runtime_agent_id", Value: ""}, {Key: "lifecycle", Value: NotStarted}, {Key: "activity", Value: ""},
			{Key: "error_reason", Value: ""}, {Key: "error_details", Value: ""},
		}},
		{Key: "queue", Value: automerge.Map{
			{Key: "executing_execution_id", Value: nil}, {Key: "queued_execution_ids", Value: none},
		}},
		{Key: "executions", Value: automerge.Map{}},
		{Key: "env", Value: automerge.Map{
			{Key: "in_sync", Value: true}, {Key: "added", Value: none}, {Key: "removed", Value: none},
			{Key: "channels_changed", Value: false}, {Key: "deno_changed", Value: false},
			{Key: "prewarmed_packages", Value: none}, {Key: "progress", Value: nil},
		}},
		{Key: "trust", Value: automerge.Map{
			{Key: "status", Value: "no_dependencies"}, {Key: "needs_approval", Value: false},
			{Key: "approved_uv_dependencies", Value: none}, {Key: "approved_conda_dependencies", Value: none},
			{Key: "approved_conda_channels", Value: none}, {Key: "approved_pixi_dependencies", Value: none},
			{Key: "approved_pixi_pypi_dependencies", Value: none}, {Key: "approved_pixi_channels", Value: none},
		}},
		{Key: "project_context", Value: automerge.Map{
			{Key: "state", Value: "pending"}, {Key: "observed_at", Value: ""}, {Key: "kind", Value: ""},
			{Key: "absolute_path", Value: ""}, {Key: "relative_to_notebook", Value: ""},
			{Key: "unreadable_path", Value: ""}, {Key: "unreadable_reason", Value: ""},
			{Key: "parsed", Value: automerge.Map{
				{Key: "dependencies", Value: none}, {Key: "dev_dependencies", Value: none},
				{Key: "requires_python", Value: nil}, {Key: "prerelease", Value: nil}, {Key: "extras", Value: ""},
			}},
		}},
		{Key: "comms", Value: automerge.Map{}},
		{Key: "display_index", Value: automerge.Map{}},
		{Key: "last_saved", Value: nil},
		{Key: "path", Value: nil},
	}
}
