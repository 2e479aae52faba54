// Package runtimestate is the document that shows what the runtime of a notebook
// is doing: kernel, queue, executions and their outputs. It is the document that
// nteract's clients call RuntimeStateDoc v2. The daemon writes it; other peers
// read their replica of it.
//
// # Schema
//
// The first change, which all replicas share, makes every key of version 2. The
// ones that matter here are
//
//	kernel         lifecycle, activity, error_reason, error_details, name, language, env_source, runtime_agent_id
//	queue          executing_execution_id: string or null; queued_execution_ids: list of strings
//	executions     map of execution id to execution
//	env, trust     state of the environment; only progress and status are written
//	display_index  display id to {"<execution id>\x00<output id>": true}
//	last_saved, path, runtime_state_doc_id  string or null
//
// and an execution is a map of
//
//	status           queued, running, done, error or cancelled
//	execution_count  int or null
//	success          bool or null
//	outputs          map of output id to {seq: uint, manifest: map}, shown in the order of (seq, id)
//	source, cell_id, submitted_by_actor_label  strings
//	seq              uint
//
// Keys added beside version 2: file_checkpoint (as nteract has it) and
// runt_input, the prompt of a cell that waits for input, or null.
//
// A text or binary content within a manifest is {"inline": text} or
// {"blob": sha256, "size": n}; see Inline and Blob.
//
// # Concurrency
//
// A Doc may be used by any number of goroutines. Edits are applied one after
// the other, each as one change. Reads come from the Go mirror of the document,
// never wait for an edit that is being prepared, and return copies.
package runtimestate
