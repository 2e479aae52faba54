package runtimestate

import (
	"fmt"

	"runt/internal/automerge"
	"runt/internal/docvalue"
	"runt/internal/domain"
)

const (
	identityPrefix = "runtime:"
	inputKey       = "runt_input"
	fileKey        = "file_checkpoint"
)

// Tx collects the operations of one edit. Nothing is changed before the edit
// is applied. It must not be used after the function it was given to has returned.
type Tx struct {
	doc     *Doc
	batch   *automerge.Batch
	changed bool

	kernel     *Kernel         // with this edit's changes; nil until needed
	written    map[string]bool // keys outside executions, kernel and queue that this edit has written
	queue      *queue
	executions map[string]*draft
	displays   map[string]map[string]bool // display id to keys of its map; nil until needed
}

// draft is what an edit knows about an execution that it touches.
type draft struct {
	obj     automerge.Obj
	outputs map[string]bool
	deleted bool
}

type queue struct {
	executing string
	queued    []string
}

// Edit lets fn describe changes and applies them as one change of the document.
// When fn returns an error, or an operation does not fit the document, nothing
// is changed. An edit without operations makes no change; its Update has the
// same heads before and after.
func (d *Doc) Edit(fn func(*Tx) error, opts ...automerge.ApplyOption) (automerge.Update, error) {
	d.edit.Lock()
	defer d.edit.Unlock()
	tx := &Tx{doc: d, batch: automerge.NewBatch(), written: map[string]bool{}, executions: map[string]*draft{}}
	if err := fn(tx); err != nil {
		return automerge.Update{}, err
	}
	if !tx.changed {
		heads := d.am.Heads()
		return automerge.Update{Before: heads, Heads: heads}, nil
	}
	update, err := d.am.Apply(tx.batch, opts...)
	if err != nil {
		return automerge.Update{}, fmt.Errorf("edit runtime state: %w", err)
	}
	return update, nil
}

// SetIdentity writes the id that the document of a notebook is known by.
func (tx *Tx) SetIdentity(id domain.NotebookID) error {
	return tx.putRoot("runtime_state_doc_id", identityPrefix+string(id))
}

// SetKernel writes the fields of the kernel's state that differ.
func (tx *Tx) SetKernel(k Kernel) error {
	now := tx.currentKernel()
	obj := tx.batch.At("kernel")
	put := func(key string, old *string, value string) {
		if *old != value {
			tx.put(obj, key, value)
			*old = value
		}
	}
	put("name", &now.Name, k.Name)
	put("language", &now.Language, k.Language)
	put("env_source", &now.EnvSource, k.EnvSource)
	put("runtime_agent_id", &now.RuntimeAgentID, k.RuntimeAgentID)
	put("error_reason", &now.ErrorReason, k.ErrorReason)
	put("error_details", &now.ErrorDetails, k.ErrorDetails)
	put("lifecycle", &now.Lifecycle, k.Lifecycle)
	put("activity", &now.Activity, k.Activity)
	return nil
}

// SetActivity writes whether the kernel is Idle or Busy.
func (tx *Tx) SetActivity(activity string) error {
	k := *tx.currentKernel()
	k.Activity = activity
	return tx.SetKernel(k)
}

func (tx *Tx) currentKernel() *Kernel {
	if tx.kernel == nil {
		k := tx.doc.Kernel()
		tx.kernel = &k
	}
	return tx.kernel
}

// SetQueue writes which execution runs, "" for none, and which ones wait.
// What stays in the list in its order is not written again.
func (tx *Tx) SetQueue(executing string, queued []string) error {
	if tx.queue == nil {
		tx.queue = &queue{}
		tx.queue.executing, tx.queue.queued = tx.doc.Queue()
	}
	obj := tx.batch.At("queue")
	if tx.queue.executing != executing {
		tx.put(obj, "executing_execution_id", orNull(executing))
	}
	old := tx.queue.queued
	prefix := commonPrefix(old, queued)
	suffix := commonSuffix(old[prefix:], queued[prefix:])
	if prefix+suffix < max(len(old), len(queued)) {
		list := tx.batch.Get(obj, "queued_execution_ids")
		for i := len(old) - suffix - 1; i >= prefix; i-- {
			tx.batch.DeleteIndex(list, i)
		}
		for i, id := range queued[prefix : len(queued)-suffix] {
			tx.batch.Insert(list, prefix+i, id)
		}
		tx.changed = true
	}
	*tx.queue = queue{executing, append([]string(nil), queued...)}
	return nil
}

// SetPath writes the path of the notebook's file, "" for none.
func (tx *Tx) SetPath(path string) error { return tx.putRoot("path", orNull(path)) }

// SetLastSaved writes when the notebook was saved last, as RFC 3339.
func (tx *Tx) SetLastSaved(at string) error { return tx.putRoot("last_saved", orNull(at)) }

// SetTrust writes the status of the trust in the notebook's dependencies and
// whether somebody must approve them.
func (tx *Tx) SetTrust(status string, needsApproval bool) error {
	obj := tx.batch.At("trust")
	if err := tx.putUnlessSame(obj, "status", status, "trust"); err != nil {
		return err
	}
	return tx.putUnlessSame(obj, "needs_approval", needsApproval, "trust")
}

// SetEnvProgress writes a line about the environment being prepared; "" ends it.
func (tx *Tx) SetEnvProgress(text string) error {
	var progress any
	if text != "" {
		progress = map[string]any{"phase": "preparing", "message": text}
	}
	return tx.putUnlessSame(tx.batch.At("env"), "progress", progress, "env")
}

// SetInputRequest writes what a cell waits for; nil says that none does.
func (tx *Tx) SetInputRequest(request map[string]any) error {
	if request == nil {
		if _, ok := tx.doc.am.Get(inputKey); !ok && !tx.written[inputKey] {
			return nil
		}
		return tx.putRoot(inputKey, nil)
	}
	v, err := docvalue.FromJSON(request)
	if err != nil {
		return fmt.Errorf("store input request: %w", err)
	}
	return tx.putRoot(inputKey, v)
}

// SetFileState writes how the document compares with its file.
func (tx *Tx) SetFileState(f FileState) error {
	heads := make([]any, len(f.ExportedHeads))
	for i, h := range f.ExportedHeads {
		heads[i] = h
	}
	want := map[string]any{
		"exported_heads": heads, "save_sequence": automerge.Uint(f.SaveSequence),
		"source_issue_kind": f.Issue, "source_issue_reason": f.Reason,
	}
	var old map[string]any
	tx.doc.am.View(func(root map[string]any) {
		if m, ok := root[fileKey].(map[string]any); ok {
			old = map[string]any{fileKey: docvalue.Map(m)}
		}
	})
	if docvalue.MergeKey(tx.batch, tx.batch.Root(), fileKey, old, want) > 0 {
		tx.changed = true
	}
	return nil
}

func (tx *Tx) putRoot(key string, value any) error {
	return tx.putUnlessSame(tx.batch.Root(), key, value)
}

// putUnlessSame writes a key of the map o, which is at path in the document,
// unless it has that value already.
func (tx *Tx) putUnlessSame(o automerge.Obj, key string, value any, path ...any) error {
	old, ok := tx.doc.am.Get(append(path, key)...)
	if ok && docvalue.Equal(old, value) && !tx.written[key] {
		return nil
	}
	tx.written[key] = true
	tx.put(o, key, value)
	return nil
}

func (tx *Tx) put(o automerge.Obj, key string, value any) automerge.Obj {
	tx.changed = true
	return tx.batch.Put(o, key, value)
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
