package runtimestate

import (
	"cmp"
	"slices"
	"strings"

	"runt/internal/docvalue"
	"runt/internal/domain"
)

// Kernel returns the state of the kernel.
func (d *Doc) Kernel() Kernel {
	var k Kernel
	d.am.View(func(root map[string]any) { k = readKernel(root) })
	return k
}

// Queue returns the execution that runs, "" when none does, and those that wait, in their order.
func (d *Doc) Queue() (executing string, queued []string) {
	d.am.View(func(root map[string]any) { executing, queued = readQueue(root) })
	return executing, queued
}

// Execution returns one execution with its outputs, and whether it is in the document.
func (d *Doc) Execution(id string) (Execution, bool) {
	var e Execution
	var found bool
	d.am.View(func(root map[string]any) {
		var m map[string]any
		if m, found = section(root, "executions")[id].(map[string]any); found {
			e = readExecution(id, m)
		}
	})
	return e, found
}

// Status returns the status of an execution, "" when it is not in the document.
func (d *Doc) Status(id string) string {
	status := ""
	d.am.View(func(root map[string]any) {
		m, _ := section(root, "executions")[id].(map[string]any)
		status, _ = docvalue.Text(m["status"])
	})
	return status
}

// Executions returns all executions with their outputs in the order of (seq, id).
func (d *Doc) Executions() []Execution {
	var all []Execution
	d.am.View(func(root map[string]any) {
		for id, v := range section(root, "executions") {
			if m, ok := v.(map[string]any); ok {
				all = append(all, readExecution(id, m))
			}
		}
	})
	slices.SortFunc(all, func(a, b Execution) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	return all
}

// ExecutionIDs returns the ids of all executions in the order of (seq, id).
func (d *Doc) ExecutionIDs() []string {
	type entry struct {
		id  string
		seq uint64
	}
	var all []entry
	d.am.View(func(root map[string]any) {
		for id, v := range section(root, "executions") {
			if m, ok := v.(map[string]any); ok {
				all = append(all, entry{id, readSeq(m)})
			}
		}
	})
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) })
	ids := make([]string, len(all))
	for i, e := range all {
		ids[i] = e.id
	}
	return ids
}

// DisplayTargets returns the outputs that show a display id, in the order of their ids.
func (d *Doc) DisplayTargets(displayID string) []OutputRef {
	var refs []OutputRef
	d.am.View(func(root map[string]any) {
		for key := range section(section(root, "display_index"), displayID) {
			if execution, output, ok := strings.Cut(key, "\x00"); ok {
				refs = append(refs, OutputRef{execution, output})
			}
		}
	})
	slices.SortFunc(refs, func(a, b OutputRef) int {
		return cmp.Or(cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.Output, b.Output))
	})
	return refs
}

// Path returns the path of the notebook's file, "" when it has none.
func (d *Doc) Path() string { return d.text("path") }

// LastSaved returns when the notebook was saved last, as RFC 3339, or "".
func (d *Doc) LastSaved() string { return d.text("last_saved") }

// NotebookID returns the id of the notebook that this is the runtime state of, or "".
func (d *Doc) NotebookID() domain.NotebookID {
	return domain.NotebookID(strings.TrimPrefix(d.text("runtime_state_doc_id"), identityPrefix))
}

// InputRequest returns what a cell waits for, or nil when none does.
func (d *Doc) InputRequest() map[string]any {
	return d.optionalMap(func(root map[string]any) any { return root[inputKey] })
}

// EnvProgress returns how far the preparation of the environment is, or nil when nothing is being prepared.
func (d *Doc) EnvProgress() map[string]any {
	return d.optionalMap(func(root map[string]any) any { return section(root, "env")["progress"] })
}

// Trust returns the status of the trust in the notebook's dependencies and whether somebody must approve them.
func (d *Doc) Trust() (status string, needsApproval bool) {
	d.am.View(func(root map[string]any) {
		trust := section(root, "trust")
		status, _ = docvalue.Text(trust["status"])
		needsApproval, _ = trust["needs_approval"].(bool)
	})
	return status, needsApproval
}

// FileState returns how the document compares with its file.
func (d *Doc) FileState() FileState {
	var f FileState
	d.am.View(func(root map[string]any) {
		m := section(root, fileKey)
		f.ExportedHeads = textList(m["exported_heads"])
		if seq, ok := docvalue.Int(m["save_sequence"]); ok {
			f.SaveSequence = uint64(seq)
		}
		f.Issue, _ = docvalue.Text(m["source_issue_kind"])
		f.Reason, _ = docvalue.Text(m["source_issue_reason"])
	})
	return f
}

func (d *Doc) text(key string) string {
	s := ""
	d.am.View(func(root map[string]any) { s, _ = docvalue.Text(root[key]) })
	return s
}

func (d *Doc) optionalMap(of func(root map[string]any) any) map[string]any {
	var m map[string]any
	d.am.View(func(root map[string]any) {
		if v, ok := of(root).(map[string]any); ok {
			m = docvalue.Map(v)
		}
	})
	return m
}

func readKernel(root map[string]any) Kernel {
	m := section(root, "kernel")
	text := func(key string) string {
		s, _ := docvalue.Text(m[key])
		return s
	}
	return Kernel{
		Lifecycle: text("lifecycle"), Activity: text("activity"),
		ErrorReason: text("error_reason"), ErrorDetails: text("error_details"),
		Name: text("name"), Language: text("language"), EnvSource: text("env_source"),
		RuntimeAgentID: text("runtime_agent_id"),
	}
}

func readQueue(root map[string]any) (string, []string) {
	m := section(root, "queue")
	executing, _ := docvalue.Text(m["executing_execution_id"])
	return executing, textList(m["queued_execution_ids"])
}

func readExecution(id string, m map[string]any) Execution {
	e := Execution{ID: id, Seq: readSeq(m)}
	e.CellID, _ = docvalue.Text(m["cell_id"])
	e.Status, _ = docvalue.Text(m["status"])
	e.Source, _ = docvalue.Text(m["source"])
	e.Submitter, _ = docvalue.Text(m["submitted_by_actor_label"])
	if n, ok := docvalue.Int(m["execution_count"]); ok {
		e.Count = &n
	}
	if success, ok := m["success"].(bool); ok {
		e.Success = &success
	}
	for outputID, v := range section(m, "outputs") {
		o, _ := v.(map[string]any)
		manifest, ok := o["manifest"].(map[string]any)
		seq, hasSeq := docvalue.Int(o["seq"])
		if ok && hasSeq && seq >= 0 {
			e.Outputs = append(e.Outputs, Output{ID: outputID, Seq: uint64(seq), Manifest: docvalue.Map(manifest)})
		}
	}
	slices.SortFunc(e.Outputs, func(a, b Output) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	return e
}

func readSeq(m map[string]any) uint64 {
	seq, _ := docvalue.Int(m["seq"])
	return uint64(max(seq, 0))
}

func textList(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := docvalue.Text(e); ok {
			out = append(out, s)
		}
	}
	return out
}

func section(m map[string]any, key string) map[string]any {
	s, _ := m[key].(map[string]any)
	return s
}
