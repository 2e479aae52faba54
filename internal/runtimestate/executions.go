package runtimestate

import (
	"fmt"
	"strings"

	"runt/internal/automerge"
	"runt/internal/docvalue"
)

// PutExecution writes a whole execution in one operation, replacing one of that
// id. Display ids named in the outputs' manifests are indexed.
func (tx *Tx) PutExecution(e Execution) error {
	outputs := map[string]any{}
	known := map[string]bool{}
	for _, o := range e.Outputs {
		v, err := outputValue(o)
		if err != nil {
			return err
		}
		outputs[o.ID] = v
		known[o.ID] = true
	}
	tx.unindex(e.ID, "")
	fields := map[string]any{
		"status": e.Status, "execution_count": pointer(e.Count), "success": pointer(e.Success),
		"outputs": outputs, "source": e.Source, "seq": automerge.Uint(e.Seq),
	}
	if e.CellID != "" {
		fields["cell_id"] = e.CellID
	}
	if e.Submitter != "" {
		fields["submitted_by_actor_label"] = e.Submitter
	}
	obj := tx.put(tx.batch.At("executions"), e.ID, fields)
	tx.executions[e.ID] = &draft{obj: obj, outputs: known}
	for _, o := range e.Outputs {
		tx.index(displayID(o.Manifest), e.ID, o.ID)
	}
	return nil
}

// SetStatus writes the status of an execution.
func (tx *Tx) SetStatus(execution, status string) error {
	d, err := tx.draft(execution)
	if err == nil {
		tx.put(d.obj, "status", status)
	}
	return err
}

// SetCount writes the count that the kernel gave an execution.
func (tx *Tx) SetCount(execution string, count int64) error {
	d, err := tx.draft(execution)
	if err == nil {
		tx.put(d.obj, "execution_count", count)
	}
	return err
}

// Finish writes the terminal status of an execution and, unless it was
// cancelled, whether it succeeded.
func (tx *Tx) Finish(execution, status string, success bool) error {
	d, err := tx.draft(execution)
	if err != nil {
		return err
	}
	if status != Cancelled {
		tx.put(d.obj, "success", success)
	}
	tx.put(d.obj, "status", status)
	return nil
}

// PutOutput writes an output of an execution, replacing one of that id, and
// remembers that it shows displayID when that is not empty.
func (tx *Tx) PutOutput(execution string, o Output, displayID string) error {
	d, err := tx.draft(execution)
	if err != nil {
		return err
	}
	v, err := outputValue(o)
	if err != nil {
		return err
	}
	tx.put(tx.batch.Get(d.obj, "outputs"), o.ID, v)
	d.outputs[o.ID] = true
	tx.index(displayID, execution, o.ID)
	return nil
}

// SetStreamText replaces the text of a stream output, given as a reference.
func (tx *Tx) SetStreamText(execution, output string, ref map[string]any) error {
	d, err := tx.outputDraft(execution, output)
	if err != nil {
		return err
	}
	v, err := docvalue.FromJSON(ref)
	if err != nil {
		return fmt.Errorf("store text of output %s: %w", output, err)
	}
	manifest := tx.batch.Get(tx.batch.Get(tx.batch.Get(d.obj, "outputs"), output), "manifest")
	tx.put(manifest, "text", v)
	return nil
}

// DeleteOutput removes one output of an execution.
func (tx *Tx) DeleteOutput(execution, output string) error {
	d, err := tx.outputDraft(execution, output)
	if err != nil {
		return err
	}
	tx.batch.Delete(tx.batch.Get(d.obj, "outputs"), output)
	delete(d.outputs, output)
	tx.unindex(execution, output)
	tx.changed = true
	return nil
}

// ClearOutputs removes all outputs of an execution.
func (tx *Tx) ClearOutputs(execution string) error {
	d, err := tx.draft(execution)
	if err != nil || len(d.outputs) == 0 {
		return err
	}
	tx.put(d.obj, "outputs", map[string]any{})
	clear(d.outputs)
	tx.unindex(execution, "")
	return nil
}

// DeleteExecution removes an execution, if it is there.
func (tx *Tx) DeleteExecution(execution string) error {
	d, err := tx.draft(execution)
	if err != nil {
		return nil
	}
	tx.batch.Delete(tx.batch.At("executions"), execution)
	d.deleted = true
	tx.unindex(execution, "")
	tx.changed = true
	return nil
}

func (tx *Tx) draft(execution string) (*draft, error) {
	d := tx.executions[execution]
	if d == nil {
		d = &draft{outputs: map[string]bool{}, deleted: true}
		tx.doc.am.View(func(root map[string]any) {
			if m, ok := section(root, "executions")[execution].(map[string]any); ok {
				d.deleted = false
				for id := range section(m, "outputs") {
					d.outputs[id] = true
				}
			}
		})
		if !d.deleted {
			d.obj = tx.batch.At("executions", execution)
		}
		tx.executions[execution] = d
	}
	if d.deleted {
		return nil, fmt.Errorf("edit runtime state: no execution %q", execution)
	}
	return d, nil
}

func (tx *Tx) outputDraft(execution, output string) (*draft, error) {
	d, err := tx.draft(execution)
	if err == nil && !d.outputs[output] {
		return nil, fmt.Errorf("edit runtime state: execution %q has no output %q", execution, output)
	}
	return d, err
}

// index records that an output shows a display id.
func (tx *Tx) index(displayID, execution, output string) {
	key := execution + "\x00" + output
	if displayID == "" || tx.loadDisplays()[displayID][key] {
		return
	}
	at := tx.batch.At("display_index")
	if tx.displays[displayID] == nil {
		tx.put(at, displayID, map[string]any{key: true})
		tx.displays[displayID] = map[string]bool{}
	} else {
		tx.put(tx.batch.Get(at, displayID), key, true)
	}
	tx.displays[displayID][key] = true
}

// unindex forgets what an output shows, or with an empty output what all outputs of an execution show.
func (tx *Tx) unindex(execution, output string) {
	for displayID, keys := range tx.loadDisplays() {
		for key := range keys {
			e, o, _ := strings.Cut(key, "\x00")
			if e != execution || output != "" && o != output {
				continue
			}
			delete(keys, key)
			tx.changed = true
			if len(keys) > 0 {
				tx.batch.Delete(tx.batch.At("display_index", displayID), key)
			}
		}
		if len(keys) == 0 {
			tx.batch.Delete(tx.batch.At("display_index"), displayID)
			delete(tx.displays, displayID)
			tx.changed = true
		}
	}
}

func (tx *Tx) loadDisplays() map[string]map[string]bool {
	if tx.displays == nil {
		tx.displays = map[string]map[string]bool{}
		tx.doc.am.View(func(root map[string]any) {
			for displayID, v := range section(root, "display_index") {
				m, _ := v.(map[string]any)
				keys := make(map[string]bool, len(m))
				for key := range m {
					keys[key] = true
				}
				tx.displays[displayID] = keys
			}
		})
	}
	return tx.displays
}

func outputValue(o Output) (map[string]any, error) {
	manifest, err := docvalue.FromJSON(o.Manifest)
	if err != nil {
		return nil, fmt.Errorf("store output %s: %w", o.ID, err)
	}
	if m, ok := manifest.(map[string]any); !ok || m == nil {
		manifest = map[string]any{}
	}
	return map[string]any{"seq": automerge.Uint(o.Seq), "manifest": manifest}, nil
}

// displayID returns the display id in a manifest, or "".
func displayID(manifest map[string]any) string {
	transient, _ := manifest["transient"].(map[string]any)
	id, _ := transient["display_id"].(string)
	return id
}

func pointer[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
