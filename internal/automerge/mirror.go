package automerge

import (
	"fmt"
	"maps"
	"slices"
)

// applyPatches brings root up to date and returns the patches as callers see
// them: a text that was sent whole is told as what changed in it. An error means
// that root and patches do not fit each other and root must be read anew.
func applyPatches(root map[string]any, ps []Patch) ([]Patch, error) {
	out := make([]Patch, 0, len(ps)+1)
	for i := range ps {
		p := &ps[i]
		told, err := tell(root, p)
		if err == nil {
			err = applyTop(root, p)
		}
		if err != nil {
			return ps, fmt.Errorf("%v at %v: %w", p.Action, p.Path, err)
		}
		out = append(out, told...)
	}
	return out, nil
}

// tell returns p, or what it means for the text that it replaces.
func tell(root map[string]any, p *Patch) ([]Patch, error) {
	now, isText := p.Value.(Text)
	if !isText || p.Action != PatchReplace {
		return []Patch{*p}, nil
	}
	v, _ := Lookup(root, p.Path...)
	was, ok := v.(Text)
	if !ok {
		return nil, errMisfit
	}
	return textPatches(p.Path, string(was), string(now)), nil
}

func applyTop(root map[string]any, p *Patch) error {
	if len(p.Path) > 0 {
		_, err := applyPatch(root, p.Path, p)
		return err
	}
	whole, ok := p.Value.(map[string]any)
	if !ok || p.Action != PatchReplace {
		return errMisfit
	}
	clear(root)
	maps.Copy(root, Clone(whole).(map[string]any))
	return nil
}

// applyPatch changes the value v, which lies path away from the changed thing,
// and returns what stands there afterwards: lists and texts are replaced, maps
// are changed in place.
func applyPatch(v any, path []any, p *Patch) (any, error) {
	if len(path) == 0 {
		return replaced(v, p)
	}
	switch x := v.(type) {
	case map[string]any:
		return patchMap(x, path, p)
	case []any:
		return patchList(x, path, p)
	case Text:
		return patchText(x, path, p)
	}
	return nil, errMisfit
}

var errMisfit = fmt.Errorf("patch does not fit the document")

func patchMap(m map[string]any, path []any, p *Patch) (any, error) {
	key, ok := path[0].(string)
	if !ok {
		return nil, errMisfit
	}
	old, there := m[key]
	if len(path) > 1 || p.Action == PatchReplace {
		if !there {
			return nil, errMisfit
		}
		changed, err := applyPatch(old, path[1:], p)
		if err != nil {
			return nil, err
		}
		m[key] = changed
		return m, nil
	}
	switch p.Action {
	case PatchPut:
		m[key] = Clone(p.Value) // the patch belongs to whoever receives the Update
	case PatchDelete:
		delete(m, key)
	default:
		return nil, errMisfit
	}
	return m, nil
}

func patchList(l []any, path []any, p *Patch) (any, error) {
	i, ok := path[0].(int)
	if !ok || i > len(l) {
		return nil, errMisfit
	}
	if len(path) > 1 || p.Action == PatchReplace {
		if i == len(l) {
			return nil, errMisfit
		}
		changed, err := applyPatch(l[i], path[1:], p)
		if err != nil {
			return nil, err
		}
		l[i] = changed
		return l, nil
	}
	if p.Action == PatchInsert {
		return slices.Insert(l, i, Clone(p.Value).([]any)...), nil
	}
	if p.Action == PatchDelete {
		if p.Length > len(l)-i {
			return nil, errMisfit
		}
		return slices.Delete(l, i, i+p.Length), nil
	}
	if p.Action != PatchPut || i == len(l) {
		return nil, errMisfit
	}
	l[i] = Clone(p.Value)
	return l, nil
}

func patchText(t Text, path []any, p *Patch) (any, error) {
	i, ok := path[0].(int)
	if !ok || len(path) > 1 {
		return nil, errMisfit
	}
	var s string
	switch p.Action {
	case PatchSplice:
		s, ok = spliceText(string(t), i, 0, string(p.Value.(Text)))
	case PatchDelete:
		s, ok = spliceText(string(t), i, p.Length, "")
	default:
		return nil, errMisfit
	}
	if !ok {
		return nil, errMisfit
	}
	return Text(s), nil
}

// replaced returns the new value of a list or text that is sent whole.
func replaced(v any, p *Patch) (any, error) {
	_, isList := v.([]any)
	_, isText := v.(Text)
	_, newList := p.Value.([]any)
	_, newText := p.Value.(Text)
	if p.Action != PatchReplace || isList != newList || isText != newText || isList == isText {
		return nil, errMisfit
	}
	return Clone(p.Value), nil
}
