package automerge

import "encoding/binary"

// Obj names a map, list or text inside one Batch.
type Obj uint32

// Batch collects operations that become one change. Each object that a batch
// reads or makes has an Obj by which later operations of the same batch name
// it. A Batch may be applied to several documents, but not while it is changed.
type Batch struct {
	ops   []byte
	n     int // operations so far
	objs  int // objects named so far
	plain bool
	err   *OpError // the first operation that cannot be encoded
}

const (
	opPut byte = iota + 1
	opInsert
	opSetIndex
	opDelete
	opDeleteIndex
	opGet
	opGetIndex
	opSplice
	opUpdateText
	opClear
	opIncrement
)

// NewBatch returns an empty batch.
func NewBatch() *Batch { return &Batch{} }

// Plain makes nested values be written one operation at a time in the order
// given. The change's hash then depends on nothing but the arguments; it costs
// about twice the time. Documents that must start from a published change need it.
func (b *Batch) Plain() *Batch {
	b.plain = true
	return b
}

// Len returns the number of operations.
func (b *Batch) Len() int { return b.n }

// Root returns the document's root map.
func (b *Batch) Root() Obj { return 0 }

func (b *Batch) op(code byte, o Obj) {
	b.n++
	b.ops = append(b.ops, code)
	b.ops = binary.LittleEndian.AppendUint32(b.ops, uint32(o))
}

func (b *Batch) named() Obj {
	b.objs++
	return Obj(b.objs)
}

func (b *Batch) value(v any) {
	var err error
	if b.ops, err = appendValue(b.ops, v, 0); err != nil && b.err == nil {
		b.err = &OpError{Index: b.n - 1, Reason: err.Error()}
	}
}

func (b *Batch) index(i int) {
	if i < 0 && b.err == nil {
		b.err = &OpError{Index: b.n - 1, Reason: "an index is negative"}
	}
	b.ops = appendU32(b.ops, i)
}

// Get returns the object at key of the map o. The batch fails if there is none.
func (b *Batch) Get(o Obj, key string) Obj {
	b.op(opGet, o)
	b.ops = appendString(b.ops, key)
	return b.named()
}

// GetIndex returns the object at index i of the list o. The batch fails if there is none.
func (b *Batch) GetIndex(o Obj, i int) Obj {
	b.op(opGetIndex, o)
	b.index(i)
	return b.named()
}

// At returns the object reached from the root by keys.
func (b *Batch) At(keys ...string) Obj {
	o := b.Root()
	for _, k := range keys {
		o = b.Get(o, k)
	}
	return o
}

// Put sets key of the map o. When v is a map, list or Text, the new object is
// returned; for a scalar the result names nothing.
func (b *Batch) Put(o Obj, key string, v any) Obj {
	b.op(opPut, o)
	b.ops = appendString(b.ops, key)
	b.value(v)
	return b.named()
}

// Insert puts v into the list o so that it stands at index i. The result is as with Put.
func (b *Batch) Insert(o Obj, i int, v any) Obj {
	b.op(opInsert, o)
	b.index(i)
	b.value(v)
	return b.named()
}

// SetIndex replaces what stands at index i of the list o. The result is as with Put.
func (b *Batch) SetIndex(o Obj, i int, v any) Obj {
	b.op(opSetIndex, o)
	b.index(i)
	b.value(v)
	return b.named()
}

// Delete removes key from the map o; a missing key is no error.
func (b *Batch) Delete(o Obj, key string) {
	b.op(opDelete, o)
	b.ops = appendString(b.ops, key)
}

// DeleteIndex removes what stands at index i of the list o.
func (b *Batch) DeleteIndex(o Obj, i int) {
	b.op(opDeleteIndex, o)
	b.index(i)
}

// Splice replaces del code points of the text o, from code point pos on, by s.
func (b *Batch) Splice(o Obj, pos, del int, s string) {
	b.op(opSplice, o)
	b.index(pos)
	b.index(del)
	b.ops = appendString(b.ops, s)
}

// UpdateText makes the text o read s by the smallest changes that a diff finds.
func (b *Batch) UpdateText(o Obj, s string) {
	b.op(opUpdateText, o)
	b.ops = appendString(b.ops, s)
}

// ClearList removes everything from the list o.
func (b *Batch) ClearList(o Obj) { b.op(opClear, o) }

// Increment adds by to the Counter at key of the map o.
func (b *Batch) Increment(o Obj, key string, by int64) {
	b.op(opIncrement, o)
	b.ops = appendString(b.ops, key)
	b.ops = binary.LittleEndian.AppendUint64(b.ops, uint64(by))
}
