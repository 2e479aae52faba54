package roomactor

import (
	"context"

	"runt/internal/automerge"
	"runt/internal/blob"
)

// BlobRefs calls add with the hash of every blob that the room refers to.
func (r *Room) BlobRefs(ctx context.Context, add func(hash string)) error {
	return r.call(ctx, func() {
		r.documentRefs(add)
		for _, x := range r.core.Executions() {
			for _, o := range x.Outputs {
				valueRefs(o.Manifest, add)
			}
		}
	})
}

func (r *Room) documentRefs(add func(hash string)) {
	for _, d := range r.docs {
		d.engine.View(func(root map[string]any) { valueRefs(root, add) })
	}
}

// valueRefs finds references anywhere in a value: any text that is a hash may be one.
func valueRefs(v any, add func(hash string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			valueRefs(x, add)
		}
	case []any:
		for _, x := range v {
			valueRefs(x, add)
		}
	case automerge.Text:
		valueRefs(string(v), add)
	case string:
		if blob.ValidHash(v) {
			add(v)
		}
	}
}

// ExecutionRefs calls add with the hash of every blob that outputs of a record refer to.
func ExecutionRefs(outputs []any, add func(hash string)) {
	for _, o := range outputs {
		valueRefs(o, add)
	}
}
