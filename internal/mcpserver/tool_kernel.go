package mcpserver

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runt/internal/domain"
	"runt/internal/env"
	"runt/internal/runtimestate"
	"runt/internal/session"
	"runt/internal/wire"
)

// restartLimit is how long restart_kernel waits for the new kernel; preparing an
// environment for the first time may take longer, and is then reported as going on.
const restartLimit = 60 * time.Second

// interruptKernel stops the running cell, and says what became of it and of those queued behind it.
func interruptKernel(ctx context.Context, _ *call, b *book) (*reply, error) {
	b.ref.Yield()
	executing, queued := b.runtime().Queue()
	resp, err := b.request(ctx, wire.Request{Action: wire.ActionInterruptExecution})
	if err != nil {
		return nil, err
	}
	switch resp.Result {
	case wire.ResultNoKernel:
		return textf("There is no kernel running, so there was nothing to interrupt."), nil
	case wire.ResultInterruptSent:
	default:
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "The kernel was not interrupted (%s).", resp.Result).WithHint("Call restart_kernel.")
	}
	var sent wire.InterruptSent
	if err := resp.Decode(&sent); err != nil {
		return nil, err
	}
	id := orElse(sent.ExecutionID, executing)
	text := "Interrupted execution " + id + "."
	switch {
	case id == "":
		text = "Nothing was running, so there was nothing to interrupt."
	case sent.StillBusy:
		text = "Execution " + id + " was interrupted but has not stopped.\nCall restart_kernel if it must; variables are lost then."
	}
	if cancelled := b.cancelledOf(ctx, queued, sent.Cancelled); len(cancelled) > 0 {
		text += fmt.Sprintf(" %d executions behind it were cancelled: %s.", len(cancelled), strings.Join(cancelled, ", "))
	}
	return &reply{text: text}, nil
}

// cancelledOf returns which of the executions that were queued before an
// interrupt were cancelled: those that the daemon named, and those that the document shows.
func (b *book) cancelledOf(ctx context.Context, queued, told []string) []string {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cancelled := slices.Clone(told)
	err := b.h().WaitFor(ctx, func() bool {
		return !slices.ContainsFunc(queued, func(id string) bool { return b.runtime().Status(id) == runtimestate.Queued })
	})
	if err != nil {
		b.k.c.srv.o.Logger.Debug("some executions stay queued", "err", err)
	}
	for _, id := range queued {
		if b.runtime().Status(id) == runtimestate.Cancelled && !slices.Contains(cancelled, id) {
			cancelled = append(cancelled, id)
		}
	}
	return cancelled
}

// restartKernel ends the kernel, whatever state it is in, and starts a new one.
func restartKernel(ctx context.Context, k *call, b *book) (*reply, error) {
	if k.again && k.args.flag("run_all") && b.ranSome(ctx) {
		return b.runAllAfterRestart(ctx)
	}
	resp, err := b.request(ctx, wire.Request{Action: b.restartAction(), RequiredHeads: b.heads()})
	if err != nil {
		return nil, err
	}
	switch resp.Result {
	case wire.ResultKernelRestarted, wire.ResultKernelLaunched, wire.ResultKernelAlreadyRunning:
	default:
		return nil, domain.Errorf(domain.CodeKernelUnavailable, "The kernel was not restarted (%s).", resp.Result).WithHint("Call list_kernels to see what there is.")
	}
	if k.args.flag("run_all") {
		return b.runAllAfterRestart(ctx)
	}
	b.ref.Yield()
	return b.awaitKernel(ctx)
}

func (b *book) runAllAfterRestart(ctx context.Context) (*reply, error) {
	cells, err := b.codeCells(ctx, "", "")
	if err != nil || len(cells) == 0 {
		return textf("The kernel was restarted; there are no code cells to run."), err
	}
	const runAllTimeout = 300 * time.Second
	rep, err := b.runCells(ctx, cells, waitFor{timeout: runAllTimeout})
	if err == nil {
		rep.text = "The kernel was restarted; variables are lost. Then all cells were run.\n" + rep.text
	}
	return rep, err
}

// ranSome says whether the call has run cells already, before it was sent again.
func (b *book) ranSome(ctx context.Context) bool {
	cells, err := b.codeCells(ctx, "", "")
	return err == nil && slices.ContainsFunc(cells, func(cell domain.CellID) bool {
		_, known := b.runtime().Execution(string(domain.DerivedExecutionID(b.k.id, cell)))
		return known
	})
}

// restartAction is the request that restarts a kernel; daemons that are not
// runt's only launch one.
func (b *book) restartAction() string {
	if b.h().Extended() {
		return wire.ActionRestartKernel
	}
	return wire.ActionLaunchKernel
}

// awaitKernel waits until the kernel runs or has failed to.
func (b *book) awaitKernel(ctx context.Context) (*reply, error) {
	wait, cancel := context.WithTimeout(ctx, restartLimit)
	defer cancel()
	for try := 0; try < maxRejoins; try++ {
		err := b.h().WaitFor(wait, func() bool { return !kernelStarting(b.runtime().Kernel().Lifecycle) })
		if err == nil || !isLost(err) {
			break
		}
		if err := b.s.Again(ctx); err != nil {
			return nil, err
		}
	}
	switch k := b.runtime().Kernel(); {
	case k.Lifecycle == runtimestate.Running:
		return textf("The kernel was restarted: %s. Variables are lost; cells and outputs are kept.", b.kernelText()), nil
	case kernelStarting(k.Lifecycle):
		return textf("The kernel is still starting: %s.\nCells can be run now; they wait for it.", b.kernelText()), nil
	default:
		return nil, b.kernelFailed("The kernel did not start").WithHint("Cure that, then call restart_kernel again; list_kernels shows what can be started.")
	}
}

// listKernels lists kernelspecs and Pythons of this machine.
func listKernels(ctx context.Context, k *call) (*reply, error) {
	dir := k.kernelDir()
	k.begun()
	resolver := k.c.srv.kernels()
	specs, err := resolver.Kernelspecs(ctx, dir)
	if err != nil {
		return nil, err
	}
	pythons, err := resolver.Interpreters(ctx, dir)
	if err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("%d kernelspecs:", len(specs))}
	for _, s := range specs {
		lines = append(lines, fmt.Sprintf("%s · %s · %s · %s (%s)", s.Name, s.DisplayName, s.Language, s.Dir, s.Source))
	}
	lines = append(lines, fmt.Sprintf("%d Python environments:", len(pythons)))
	for _, p := range pythons {
		lines = append(lines, pythonLine(p))
	}
	lines = append(lines, "create_notebook takes the name of a kernelspec as kernel; without one, a Python from this list or a private one is used.")
	return &reply{text: strings.Join(lines, "\n")}, nil
}

func pythonLine(p env.Interpreter) string {
	state := "ready"
	if p.Problem != "" {
		state = p.Problem
	}
	return fmt.Sprintf("%s · Python %s · %s (%s) · %s", p.Path, orElse(p.Version, "?"), p.Source, p.Via, state)
}

// kernelDir is the folder beside which environments are looked for.
func (k *call) kernelDir() string {
	if name := k.args.text("notebook"); name != "" {
		if t := session.ParseTarget(name, k.c.srv.canonical); t.Path != "" {
			return filepath.Dir(t.Path)
		}
	}
	for _, h := range k.c.sessions.Held() {
		if h.Path != "" && (h.Default || string(h.ID) == k.args.text("notebook")) {
			return filepath.Dir(h.Path)
		}
	}
	return k.c.srv.o.Dir
}
