package automerge

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

//go:embed automerge.wasm
var module []byte

const (
	// DefaultShardsPerVM is how many shards share a virtual machine.
	DefaultShardsPerVM = 5
	// DefaultMemoryLimitPages bounds the memory of one virtual machine: 1 GiB.
	DefaultMemoryLimitPages = 16384
)

// Options configures an Engine. The zero value works, without a cache on disk.
type Options struct {
	CacheDir         string       // where compiled code is kept between runs; "" = nowhere
	Rand             io.Reader    // source of actor ids; nil = crypto/rand
	Logger           *slog.Logger // nil = discard
	ShardsPerVM      int          // 0 = DefaultShardsPerVM
	MemoryLimitPages uint32       // memory of one VM in 64 KiB pages; 0 = DefaultMemoryLimitPages
}

// Engine is the compiled module and the pool of virtual machines. It is safe
// for concurrent use.
type Engine struct {
	o     Options
	ready chan struct{} // closed when the fields below are set
	rt    wazero.Runtime
	code  wazero.CompiledModule
	cache wazero.CompilationCache
	err   error

	mu     sync.Mutex // guards all below
	vms    map[*vm]struct{}
	closed bool
}

// Open starts an engine and returns at once; the module is compiled, or loaded
// from the cache, in the background. The first use waits for it. Close the
// engine when it is no longer needed.
func Open(o Options) *Engine {
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ShardsPerVM <= 0 {
		o.ShardsPerVM = DefaultShardsPerVM
	}
	if o.MemoryLimitPages == 0 {
		o.MemoryLimitPages = DefaultMemoryLimitPages
	}
	e := &Engine{o: o, ready: make(chan struct{}), vms: map[*vm]struct{}{}}
	go e.compile()
	return e
}

// Ready returns a channel that is closed when the module is compiled, or when
// that failed, which the first NewShard reports.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

func (e *Engine) compile() {
	defer close(e.ready)
	ctx := context.Background()
	cfg := wazero.NewRuntimeConfig().WithMemoryLimitPages(e.o.MemoryLimitPages)
	if e.o.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(e.o.CacheDir)
		if err != nil {
			e.o.Logger.Warn("module cache is not usable", "dir", e.o.CacheDir, "err", err)
		} else {
			e.cache = cache
			cfg = cfg.WithCompilationCache(cache)
		}
	}
	e.rt = wazero.NewRuntimeWithConfig(ctx, cfg)
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, e.rt); err != nil {
		e.err = fmt.Errorf("instantiate wasi: %w", err)
		return
	}
	if e.code, e.err = e.rt.CompileModule(ctx, module); e.err != nil {
		e.err = fmt.Errorf("compile module: %w", e.err)
	}
}

// Close ends all virtual machines and waits for calls in progress.
func (e *Engine) Close() error {
	<-e.ready
	e.mu.Lock()
	closed, vms := e.closed, e.vms
	e.closed, e.vms = true, map[*vm]struct{}{}
	e.mu.Unlock()
	if closed {
		return nil
	}
	for v := range vms {
		v.close()
	}
	ctx := context.Background()
	err := e.rt.Close(ctx)
	if e.cache != nil {
		if cerr := e.cache.Close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}

// NewShard makes a place for the documents of one room, on a virtual machine
// that has room for another shard.
func (e *Engine) NewShard() (*Shard, error) {
	v, err := e.acquire(false)
	if err != nil {
		return nil, err
	}
	return &Shard{e: e, vm: v, docs: map[*Doc]struct{}{}}, nil
}

// acquire finds or makes a virtual machine and counts one shard on it.
func (e *Engine) acquire(dedicated bool) (*vm, error) {
	<-e.ready
	if e.err != nil {
		return nil, e.err
	}
	if v := e.shared(dedicated); v != nil {
		return v, nil
	}
	v, err := e.instantiate()
	if err == nil {
		v.dedicated, v.shards = dedicated, 1
	}
	e.mu.Lock()
	closed := e.closed
	if !closed && err == nil {
		e.vms[v] = struct{}{}
	}
	e.mu.Unlock()
	if closed {
		if err == nil {
			v.close()
		}
		return nil, ErrClosed
	}
	return v, err
}

// shared returns the fullest machine that still has room, so that others empty out.
func (e *Engine) shared(dedicated bool) *vm {
	if dedicated {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var best *vm
	for v := range e.vms {
		if v.dedicated || v.shards >= e.o.ShardsPerVM || (best != nil && best.shards >= v.shards) {
			continue
		}
		best = v
	}
	if best != nil {
		best.shards++
	}
	return best
}

// release takes one shard off v and ends v when it was the last.
func (e *Engine) release(v *vm) {
	e.mu.Lock()
	v.shards--
	last := v.shards <= 0
	if last {
		delete(e.vms, v)
	}
	e.mu.Unlock()
	if last {
		v.close()
	}
}

// retire keeps new shards off a machine that trapped.
func (e *Engine) retire(v *vm) {
	e.mu.Lock()
	delete(e.vms, v)
	e.mu.Unlock()
}

func (e *Engine) instantiate() (*vm, error) {
	ctx := context.Background()
	log := &tailBuffer{}
	cfg := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
		WithRandSource(e.o.Rand).WithStderr(log)
	mod, err := e.rt.InstantiateModule(withMemory(ctx), e.code, cfg)
	if err != nil {
		return nil, fmt.Errorf("instantiate module: %w", err)
	}
	v := &vm{
		mod: mod, mem: mod.Memory(), log: log,
		enter: mod.ExportedFunction("am_call"), input: mod.ExportedFunction("am_input"),
	}
	return v, nil
}

// Stats tells what an engine uses.
type Stats struct {
	VMs    int // virtual machines
	Shards int // shards on them
	Memory int // bytes of WebAssembly memory
}

// Stats returns the engine's use of machines and memory.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	vms := make([]*vm, 0, len(e.vms))
	s := Stats{VMs: len(e.vms)}
	for v := range e.vms {
		s.Shards += v.shards
		vms = append(vms, v)
	}
	e.mu.Unlock()
	for _, v := range vms {
		s.Memory += v.memory()
	}
	return s
}
