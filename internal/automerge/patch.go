package automerge

// PatchAction says what a Patch did.
type PatchAction byte

const (
	// PatchPut set the key or index at the end of Path to Value.
	PatchPut PatchAction = iota + 1
	// PatchInsert inserted the Length values of Value, a []any, at the index
	// at the end of Path.
	PatchInsert
	// PatchDelete removed the key, or Length list elements or code points from
	// the index on, at the end of Path.
	PatchDelete
	// PatchSplice inserted Value, a Text of Length code points, into a text at
	// the index at the end of Path.
	PatchSplice
	// PatchReplace says that the list at Path, or the whole document when Path
	// is empty, is Value from now on.
	PatchReplace
)

// String returns the name of the action.
func (a PatchAction) String() string {
	switch a {
	case PatchPut:
		return "put"
	case PatchInsert:
		return "insert"
	case PatchDelete:
		return "delete"
	case PatchSplice:
		return "splice"
	case PatchReplace:
		return "replace"
	}
	return "unknown"
}

// Patch is one change of a document's state. The patches of an Update apply in
// order. Value is what was written there, with everything below it; patches that
// follow may change it. It belongs to the Update: read only.
type Patch struct {
	Path     []any // string keys and int indexes from the root to the changed thing
	Action   PatchAction
	Value    any
	Length   int
	Conflict bool // PatchPut: other values stand at the same place, see Doc.Conflicts
}

// The actions as the shim writes them.
const (
	wirePut byte = iota + 1
	wireInsert
	wireDelete
	wireDeleteRange
	wireSplice
	wireSet
)

func (d *decoder) patches() []Patch {
	n := d.count(2)
	if n == 0 {
		return nil
	}
	ps := make([]Patch, 0, n)
	var object []any
	for range n {
		if d.u8() != 0 {
			object = make([]any, d.count(5))
			for i := range object {
				object[i] = d.prop()
			}
		}
		p := d.patch(object)
		if d.err != nil {
			return nil
		}
		ps = append(ps, p)
	}
	return ps
}

func (d *decoder) prop() any {
	if d.u8() == 0 {
		return d.str()
	}
	return d.u32()
}

func (d *decoder) patch(object []any) Patch {
	at := func(prop any) []any { return append(object[:len(object):len(object)], prop) }
	switch d.u8() {
	case wirePut:
		p := Patch{Action: PatchPut, Path: at(d.prop()), Length: 1}
		p.Conflict = d.u8() != 0
		p.Value = d.value(0)
		return p
	case wireInsert:
		p := Patch{Action: PatchInsert, Path: at(d.u32()), Length: d.count(1)}
		vs := make([]any, p.Length)
		for i := range vs {
			vs[i] = d.value(0)
		}
		p.Value = vs
		return p
	case wireDelete:
		return Patch{Action: PatchDelete, Path: at(d.str()), Length: 1}
	case wireDeleteRange:
		return Patch{Action: PatchDelete, Path: at(d.u32()), Length: d.u32()}
	case wireSplice:
		p := Patch{Action: PatchSplice, Path: at(d.u32())}
		s := d.str()
		p.Value, p.Length = Text(s), CodePointLen(s)
		return p
	case wireSet:
		return Patch{Action: PatchReplace, Path: object, Value: d.value(0)}
	}
	d.take(len(d.b) + 1)
	return Patch{}
}
