package automerge

import "testing"

// The published first changes: the same operations must give the same hash.
func TestGenesisHeadsAreThePublishedOnes(t *testing.T) {
	e := List{}
	tests := []struct {
		actor, message, heads string
		root                  Map
	}{
		{
			"nteract:notebook-schema:v5", "Seed nteract notebook schema",
			"5cb837a3e10c24a4107f4bf04260c35621ad8f003ec7fbcbe63407028a22f33b",
			Map{{"schema_version", Uint(5)}, {"cells", Map{}}, {"metadata", Map{}}},
		},
		{
			"nteract:runtime-state-schema:v2", "Seed nteract runtime state schema",
			"4aa226b3047f50f85b5b74ab8f395220bacea6cec9d8a1ed9a5649f15edc2649",
			Map{
				{"schema_version", Uint(2)},
				{"kernel", Map{
					{"name", ""}, {"language", ""}, {"env_source", ""}, {"runtime_agent_id", ""},
					{"lifecycle", "NotStarted"}, {"activity", ""}, {"error_reason", ""}, {"error_details", ""},
				}},
				{"queue", Map{{"executing_execution_id", nil}, {"queued_execution_ids", e}}},
				{"executions", Map{}},
				{"env", Map{
					{"in_sync", true}, {"added", e}, {"removed", e}, {"channels_changed", false},
					{"deno_changed", false}, {"prewarmed_packages", e}, {"progress", nil},
				}},
				{"trust", Map{
					{"status", "no_dependencies"}, {"needs_approval", false},
					{"approved_uv_dependencies", e}, {"approved_conda_dependencies", e}, {"approved_conda_channels", e},
					{"approved_pixi_dependencies", e}, {"approved_pixi_pypi_dependencies", e}, {"approved_pixi_channels", e},
				}},
				{"project_context", Map{
					{"state", "pending"}, {"observed_at", ""}, {"kind", ""}, {"absolute_path", ""},
					{"relative_to_notebook", ""}, {"unreadable_path", ""}, {"unreadable_reason", ""},
					{"parsed", Map{
						{"dependencies", e}, {"dev_dependencies", e}, {"requires_python", nil}, {"prerelease", nil}, {"extras", ""},
					}},
				}},
				{"comms", Map{}}, {"display_index", Map{}}, {"last_saved", nil}, {"path", nil},
			},
		},
		{
			"nteract:comms-doc-schema:v1", "Seed nteract comms doc schema",
			"59e6107683328412635b4c868124e9c4014704de086aef822a58c07d85153a57",
			Map{{"schema_version", Uint(1)}, {"comms", Map{}}},
		},
		{
			"nteract:comments-doc-schema:v1", "Seed nteract comments doc schema",
			"4bd008133860dda10c7f06c8bfac8c1ac87b0dc30fee44fcbe3087bf4ffe2bd1",
			Map{{"schema_version", Uint(1)}, {"comments_doc_id", ""}, {"notebook_ref", Map{}}, {"threads", Map{}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.message, func(t *testing.T) {
			d := newTestDoc(t, tt.actor)
			b := NewBatch().Plain()
			for _, kv := range tt.root {
				b.Put(b.Root(), kv.Key, kv.Value)
			}
			up, err := d.Apply(b, WithMessage(tt.message))
			must(t, err)
			if len(up.Heads) != 1 || up.Heads[0].String() != tt.heads {
				t.Errorf("heads %v, want %s", up.Heads, tt.heads)
			}
		})
	}
}
