package automerge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/api"
)

// The calls of the shim, see automerge-shim/src/calls.rs.
const (
	callNew uint32 = iota + 1
	callLoad
	callFree
	callSetActor
	callApply
	callApplyChanges
	callSave
	callChangesSince
	callValueAt
	callConflicts
	callPeerNew
	callPeerFree
	callGenerate
	callReceive
	callExpand

	callCrash uint32 = 99
)

// The first byte of an answer.
const (
	statusOK byte = iota
	statusRefused
	statusBadOp
	statusBroken
)

// minInput is the size of the buffer for arguments; larger ones are made for a
// call and given back after it.
const (
	minInput = 64 << 10
	maxInput = 1 << 20
)

// vm is one instance of the module: one lock, one memory, one blast radius.
type vm struct {
	mod   api.Module
	mem   api.Memory
	enter api.Function // am_call
	input api.Function // am_input
	log   *tailBuffer

	dedicated bool // made for one shard
	shards    int  // guarded by Engine.mu

	mu    sync.Mutex // guards all below and the instance itself
	inPtr uint32
	inCap int
	stack [4]uint64
	dead  error // why the instance cannot be used any more
}

// call performs op. read gets the answer while the lock is held, and must not
// keep its bytes.
func (v *vm) call(op, id, arg uint32, read func(*decoder), parts ...[]byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead != nil {
		return v.dead
	}
	n, err := v.write(parts)
	if err != nil {
		return err
	}
	v.stack = [4]uint64{uint64(op), uint64(id), uint64(arg), uint64(n)}
	if err := v.enter.CallWithStack(context.Background(), v.stack[:]); err != nil {
		return v.trapped(err)
	}
	out, ok := v.mem.Read(uint32(v.stack[0]>>32), uint32(v.stack[0]))
	if !ok || len(out) == 0 {
		return v.trapped(errors.New("answer lies outside the memory"))
	}
	return answer(out, read)
}

// write copies the arguments into the input buffer.
func (v *vm) write(parts [][]byte) (int, error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if n > v.inCap || (v.inCap > maxInput && n <= maxInput) {
		if err := v.reserve(max(n, minInput)); err != nil {
			return 0, err
		}
	}
	at := v.inPtr
	for _, p := range parts {
		if !v.mem.Write(at, p) {
			return 0, v.trapped(errors.New("input lies outside the memory"))
		}
		at += uint32(len(p))
	}
	return n, nil
}

func (v *vm) reserve(n int) error {
	v.stack[0] = uint64(n)
	if err := v.input.CallWithStack(context.Background(), v.stack[:1]); err != nil {
		return v.trapped(err)
	}
	v.inPtr, v.inCap = uint32(v.stack[0]), n
	return nil
}

// trapped marks the instance as unusable and gives its memory back.
func (v *vm) trapped(cause error) error {
	reason, _, _ := strings.Cut(cause.Error(), "\n")
	if said := v.log.String(); said != "" {
		reason = said
	}
	v.dead = fmt.Errorf("%w: %s", ErrTrap, reason)
	_ = v.mod.Close(context.Background())
	return v.dead
}

// close ends the instance; calls that come later fail with ErrClosed.
func (v *vm) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead == nil {
		v.dead = ErrClosed
		_ = v.mod.Close(context.Background())
	}
}

func (v *vm) alive() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dead == nil
}

// memory returns the size of the instance's memory in bytes.
func (v *vm) memory() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead != nil {
		return 0
	}
	return int(v.mem.Size())
}

func answer(out []byte, read func(*decoder)) error {
	switch out[0] {
	case statusOK:
		if read == nil {
			return nil
		}
		d := decoder{b: out[1:]}
		read(&d)
		if d.err != nil {
			return fmt.Errorf("%w: %w", errBroken, d.err)
		}
		return nil
	case statusBadOp:
		if len(out) >= 5 {
			return &OpError{Index: int(binary.LittleEndian.Uint32(out[1:])), Reason: string(out[5:])}
		}
	case statusBroken:
		return fmt.Errorf("%w: %s", errBroken, out[1:])
	}
	return fmt.Errorf("%w: %s", ErrRefused, out[1:])
}

// tailBuffer keeps the first part of what an instance says on its standard
// error: the message of a panic.
type tailBuffer struct {
	mu sync.Mutex // guards b
	b  []byte
}

const maxPanicText = 1 << 10

// Write implements io.Writer and never fails.
func (t *tailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[:min(len(p), maxPanicText-len(t.b))]...)
	return len(p), nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.b)), " ")
}
