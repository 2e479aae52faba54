package automerge

import "fmt"

// A few bytes can stand for millions of operations, because the columns of a
// change are run-length encoded. The crate unfolds them all, for seconds or until
// memory ends, while everybody on the same machine waits. So operations are
// counted first; the action column has one entry for each. A character of a text is
// an operation: the limits leave room for a cell of four million of them.
const (
	maxOpsInChange   = 4 << 20
	maxOpsInDocument = 16 << 20

	// actionColumn is the specification of the action column; actionDeflated is
	// the same with its data compressed, which only documents do.
	actionColumn   = 4<<4 | 2
	actionDeflated = actionColumn | 1<<3
)

// checkChange reads on after the sequence number of a change and refuses one
// with too many operations.
func (r *leb) checkChange() error {
	r.uint()  // start op
	r.int()   // time
	r.bytes() // message
	for range r.count() {
		r.bytes() // another actor
	}
	return r.checkColumns(r.columns(), maxOpsInChange)
}

// checkDocument refuses a document chunk with too many operations.
func checkDocument(body []byte) error {
	r := leb{b: body}
	for range r.count() {
		r.bytes() // actor
	}
	r.hashes() // heads
	changes, ops := r.columns(), r.columns()
	for _, c := range changes {
		r.take(c.size)
	}
	return r.checkColumns(ops, maxOpsInDocument)
}

type column struct {
	spec, size uint64
}

func (r *leb) columns() []column {
	n := r.count()
	cols := make([]column, 0, min(n, 64))
	for range n {
		cols = append(cols, column{spec: r.uint(), size: r.uint()})
	}
	return cols
}

// checkColumns counts the operations in the data of cols.
func (r *leb) checkColumns(cols []column, limit uint64) error {
	for _, c := range cols {
		data := r.take(c.size)
		if c.spec == actionDeflated {
			var err error
			if data, err = inflate(data); err != nil {
				return err
			}
		}
		if c.spec|1<<3 == actionDeflated && runs(data, limit) > limit {
			return fmt.Errorf("%w: more than %d operations", ErrCorrupt, limit)
		}
	}
	if r.bad {
		return fmt.Errorf("%w: columns are cut short", ErrCorrupt)
	}
	return nil
}

// runs returns how many numbers a run-length encoded column holds, or something
// above limit when it is more.
func runs(data []byte, limit uint64) uint64 {
	r := leb{b: data}
	total := uint64(0)
	for len(r.b) > 0 && total <= limit {
		switch n := r.int(); {
		case n > 0: // one number n times
			r.uint()
			total += min(uint64(n), limit+1)
		case n == 0: // so many times nothing
			total += min(r.uint(), limit+1)
		default: // -n numbers as they are
			for ; n < 0 && !r.bad; n++ {
				r.uint()
				total++
			}
		}
	}
	return total
}

// int reads a signed LEB128 number.
func (r *leb) int() int64 {
	var n int64
	for shift := 0; shift < 64 && len(r.b) > 0; shift += 7 {
		c := r.b[0]
		r.b = r.b[1:]
		n |= int64(c&0x7f) << shift
		if c < 0x80 {
			if c&0x40 != 0 && shift+7 < 64 {
				n |= -1 << (shift + 7)
			}
			return n
		}
	}
	r.fail()
	return 0
}
