package room

import (
	"fmt"
	"maps"
	"slices"

	"runt/internal/runtimestate"
)

// paper is a runtime state document without an engine. It refuses what the real
// one refuses; a test compares the two.
type paper struct {
	kernel    runtimestate.Kernel
	executing string
	queued    []string
	execs     map[string]paperExec
	input     map[string]any
	progress  string
}

type paperExec struct {
	runtimestate.Execution // without its outputs
	outputs                map[string]runtimestate.Output
}

func newPaper() *paper {
	return &paper{kernel: runtimestate.Kernel{Lifecycle: NotStarted}, execs: map[string]paperExec{}}
}

// ordered returns copies of the outputs.
func (x paperExec) ordered() []runtimestate.Output {
	all := slices.SortedFunc(maps.Values(x.outputs), func(a, b runtimestate.Output) int { return int(a.Seq) - int(b.Seq) })
	for i := range all {
		all[i].Manifest = maps.Clone(all[i].Manifest)
	}
	return all
}

// clone copies the paper. Manifests are copied as deep as the core changes them.
func (p *paper) clone() *paper {
	q := *p
	q.queued = slices.Clone(p.queued)
	q.execs = map[string]paperExec{}
	for id, x := range p.execs {
		y := x
		y.outputs = map[string]runtimestate.Output{}
		for k, o := range x.outputs {
			o.Manifest = maps.Clone(o.Manifest)
			y.outputs[k] = o
		}
		q.execs[id] = y
	}
	return &q
}

func (p *paper) apply(e EditRuntime) error {
	for _, op := range e.Ops {
		if err := p.step(op); err != nil {
			return fmt.Errorf("%T %+v: %w", op, op, err)
		}
	}
	return nil
}

func (p *paper) step(op RuntimeOp) error {
	switch op := op.(type) {
	case OpKernel:
		p.kernel = op.Kernel
	case OpActivity:
		p.kernel.Activity = op.Activity
	case OpExecution:
		x := paperExec{op.Execution, map[string]runtimestate.Output{}}
		x.Execution.Outputs = nil
		for _, o := range op.Execution.Outputs {
			o.Manifest = maps.Clone(o.Manifest)
			x.outputs[o.ID] = o
		}
		p.execs[op.Execution.ID] = x
	case OpQueue:
		p.executing, p.queued = op.Executing, slices.Clone(op.Queued)
	case OpInput:
		p.input = op.Request
	case OpProgress:
		p.progress = op.Text
	default:
		return p.executionStep(op)
	}
	return nil
}

func (p *paper) executionStep(op RuntimeOp) error {
	id := ""
	switch op := op.(type) {
	case OpStatus:
		id = op.Execution
	case OpCount:
		id = op.Execution
	case OpFinish:
		id = op.Execution
	case OpOutput:
		id = op.Execution
	case OpStreamText:
		id = op.Execution
	case OpClearOutputs:
		id = op.Execution
	case OpDeleteExecution:
		delete(p.execs, op.Execution)
		return nil
	}
	x, ok := p.execs[id]
	if !ok {
		return fmt.Errorf("there is no execution %q", id)
	}
	switch op := op.(type) {
	case OpStatus:
		x.Status = op.Status
	case OpCount:
		x.Count = &op.Count
	case OpFinish:
		x.Status, x.Success = op.Status, &op.Success
	case OpOutput:
		o := op.Output
		o.Manifest = maps.Clone(o.Manifest)
		x.outputs[o.ID] = o
	case OpStreamText:
		o, ok := x.outputs[op.Output]
		if !ok {
			return fmt.Errorf("there is no output %q", op.Output)
		}
		o.Manifest["text"] = op.Ref
	case OpClearOutputs:
		clear(x.outputs)
	}
	p.execs[id] = x
	return nil
}

// executions returns what the document has, in the order of seq.
func (p *paper) executions() []runtimestate.Execution {
	var all []runtimestate.Execution
	for _, x := range p.execs {
		e := x.Execution
		e.Outputs = x.ordered()
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b runtimestate.Execution) int { return int(a.Seq) - int(b.Seq) })
	return all
}
