package automerge

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
)

var errShort = errors.New("answer of the shim is cut short")

func appendU32(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func appendBytes(b, x []byte) []byte { return append(appendU32(b, len(x)), x...) }

func appendString(b []byte, s string) []byte {
	s = validText(s)
	return append(appendU32(b, len(s)), s...)
}

func appendHashes(b []byte, hs []Hash) []byte {
	b = appendU32(b, len(hs))
	for _, h := range hs {
		b = append(b, h[:]...)
	}
	return b
}

func appendPath(b []byte, path []any) ([]byte, error) {
	b = appendU32(b, len(path))
	for _, p := range path {
		switch x := p.(type) {
		case string:
			b = appendString(append(b, 0), x)
		case int:
			b = appendU32(append(b, 1), x)
		default:
			return b, errors.New("a path consists of strings and ints")
		}
	}
	return b, nil
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// decoder reads an answer of the shim in place. It never keeps the bytes it
// reads, because they lie in the memory of the virtual machine. After the first
// error everything it returns is zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.b) {
		d.err = errors.Join(d.err, errShort)
		d.b = nil
		return nil
	}
	x := d.b[:n:n]
	d.b = d.b[n:]
	return x
}

func (d *decoder) u8() byte {
	if x := d.take(1); x != nil {
		return x[0]
	}
	return 0
}

func (d *decoder) u32() int {
	if x := d.take(4); x != nil {
		return int(binary.LittleEndian.Uint32(x))
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if x := d.take(8); x != nil {
		return binary.LittleEndian.Uint64(x)
	}
	return 0
}

// count reads a number of things that take at least size bytes each.
func (d *decoder) count(size int) int {
	n := d.u32()
	if n > len(d.b)/size {
		d.take(len(d.b) + 1)
		return 0
	}
	return n
}

func (d *decoder) str() string { return string(d.take(d.u32())) }

func (d *decoder) bytes() []byte {
	x := d.take(d.u32())
	if len(x) == 0 {
		return nil
	}
	return append([]byte(nil), x...)
}

func (d *decoder) rest() []byte { return append([]byte(nil), d.take(len(d.b))...) }

func (d *decoder) hashes() []Hash {
	n := d.count(len(Hash{}))
	hs := make([]Hash, n)
	for i := range hs {
		copy(hs[i][:], d.take(len(hs[i])))
	}
	return hs
}

func (d *decoder) value(depth int) any {
	if depth > maxDepth+1 {
		d.take(len(d.b) + 1)
		return nil
	}
	switch d.u8() {
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		return int64(d.u64())
	case tagUint:
		return d.u64()
	case tagFloat:
		return math.Float64frombits(d.u64())
	case tagString:
		return d.str()
	case tagText:
		return Text(d.str())
	case tagBytes:
		return append([]byte{}, d.take(d.u32())...)
	case tagCounter:
		return Counter(d.u64())
	case tagTimestamp:
		return Timestamp(d.u64())
	case tagMap:
		return d.mapValue(depth)
	case tagList:
		return d.listValue(depth)
	case tagUnknown:
		return Unknown{Type: d.u8(), Bytes: d.bytes()}
	}
	return nil
}

func (d *decoder) mapValue(depth int) map[string]any {
	n := d.count(5)
	m := make(map[string]any, n)
	for range n {
		k := d.str()
		m[k] = d.value(depth + 1)
	}
	return m
}

func (d *decoder) listValue(depth int) []any {
	n := d.count(1)
	l := make([]any, n)
	for i := range l {
		l[i] = d.value(depth + 1)
	}
	return l
}
