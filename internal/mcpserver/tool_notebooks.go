package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runt/internal/client"
	"runt/internal/domain"
	"runt/internal/runtimestate"
	"runt/internal/session"
	"runt/internal/wire"
)

// openLimit is how long connecting and creating may take.
const openLimit = 120 * time.Second

// listNotebooks lists what the daemon has open, and what the client holds.
func listNotebooks(ctx context.Context, k *call) (*reply, error) {
	k.begun()
	rooms, err := k.c.rooms(ctx)
	if err != nil {
		return nil, err
	}
	held := k.c.sessions.Held()
	var only session.Target
	if name := k.args.text("notebook"); name != "" {
		only = session.ParseTarget(name, k.c.srv.canonical)
	}
	wanted := func(id, path string) bool {
		return only == session.Target{} || only.ID != "" && string(only.ID) == id || only.Path != "" && only.Path == path
	}
	var lines []string
	for _, r := range rooms {
		i := slices.IndexFunc(held, func(h session.Info) bool { return string(h.ID) == r.NotebookID })
		var mine *session.Info
		if i >= 0 {
			mine = &held[i]
		}
		if wanted(r.NotebookID, r.NotebookPath) {
			lines = append(lines, roomLine(r, mine))
		}
	}
	for _, h := range held {
		open := slices.ContainsFunc(rooms, func(r wire.RoomInfo) bool {
			return r.NotebookID == string(h.ID) || h.Path != "" && r.NotebookPath == h.Path
		})
		if !open && wanted(string(h.ID), h.Path) {
			lines = append(lines, fmt.Sprintf("%s · held by you, being rejoined%s", h, defaultMark(h.Default)))
		}
	}
	if len(lines) == 0 {
		return textf("No notebook is open.\nOpen a file with connect_notebook, or make one with create_notebook."), nil
	}
	return textf("%d open:\n%s", len(lines), strings.Join(lines, "\n")), nil
}

// rooms asks the daemon what is open, and starts it if need be.
func (c *Client) rooms(ctx context.Context) (rooms []wire.RoomInfo, err error) {
	err = c.awake(ctx, func() error {
		rooms, err = client.ListRooms(ctx, c.srv.o.Socket)
		return err
	})
	return rooms, err
}

// awakePause is the first pause between two questions to a daemon that seemed to be there.
const awakePause = 50 * time.Millisecond

// awake asks the daemon something. When it is not there it is started and asked
// again, a few times: one that is about to end may still take connections.
func (c *Client) awake(ctx context.Context, ask func() error) error {
	for try := 0; ; try++ {
		err := ask()
		if !isLost(err) || try == maxRejoins {
			return err
		}
		if err := c.dialer.Wake(ctx); err != nil {
			return err
		}
		if try == 0 {
			continue
		}
		pause := time.NewTimer(awakePause << try)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

func roomLine(r wire.RoomInfo, mine *session.Info) string {
	parts := []string{r.NotebookID}
	switch {
	case r.NotebookPath != "":
		parts = append(parts, r.NotebookPath)
	case r.Ephemeral:
		parts = append(parts, "ephemeral")
	default:
		parts = append(parts, "untitled")
	}
	kernel := "no kernel"
	if r.HasKernel {
		kernel = strings.TrimSpace("kernel " + r.KernelType + " " + r.KernelStatus)
	}
	parts = append(parts, fmt.Sprintf("%d cells", r.Cells), kernel)
	peers := fmt.Sprintf("%d connected", r.ActivePeers)
	if len(r.Peers) > 0 {
		peers += ": " + strings.Join(r.Peers, ", ")
	}
	parts = append(parts, peers)
	if mine != nil {
		parts = append(parts, "held by you"+defaultMark(mine.Default))
	}
	return strings.Join(parts, " · ")
}

func defaultMark(is bool) string {
	if is {
		return ", your default"
	}
	return ""
}

// connectNotebook opens or joins a notebook and makes it the default.
func connectNotebook(ctx context.Context, k *call) (*reply, error) {
	t, err := k.target()
	if err != nil {
		return nil, err
	}
	pending := k.c.sessions.BeginConnect(t)
	k.begun()
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	j, err := pending.Await(ctx)
	if err != nil {
		return nil, k.explainMissing(err, t)
	}
	defer j.Release()
	return k.connected(j, "Connected"), nil
}

// target reads which notebook connect_notebook is about.
func (k *call) target() (session.Target, error) {
	given := 0
	var t session.Target
	if s := k.args.text("path"); s != "" {
		given++
		t = session.Target{Path: k.c.srv.canonical(s)}
	}
	if s := k.args.text("notebook_id"); s != "" {
		given++
		t = session.Target{ID: domain.NotebookID(strings.ToLower(s))}
		if !domain.IsUUID(s) {
			return t, invalidf("notebook_id %q is no notebook id.", s).WithHint("Ids look like 30f03946-0b45-4509-a9d7-fb1f85ca70ad; for a file give path.")
		}
	}
	if s := k.args.text("notebook"); s != "" {
		given++
		t = session.ParseTarget(s, k.c.srv.canonical)
	}
	if given != 1 {
		return t, invalidf("Exactly one of path, notebook_id and notebook must be given, not %d.", given).
			WithHint("Call list_notebooks to see what is open.")
	}
	return t, nil
}

// explainMissing says how to make a file that is not there.
func (k *call) explainMissing(err error, t session.Target) error {
	var e *domain.Error
	if t.Path == "" || !errors.As(err, &e) || e.Code != domain.CodeNotebookUnavailable {
		return err
	}
	return e.WithHint("Call create_notebook with path=%q to make it.", t.Path)
}

// createNotebook makes a notebook and makes it the default. Its id derives from
// the call, so that a call that is sent again finds what it has made.
func createNotebook(ctx context.Context, k *call) (*reply, error) {
	spec := session.CreateSpec{
		ID: domain.NotebookID(domain.DerivedUUID("notebook", k.id)), Kernel: k.args.text("kernel"),
		Dependencies: k.args.list("dependencies"), Ephemeral: k.args.flag("ephemeral"),
		WorkingDir: k.c.srv.absolute(k.args.text("working_dir")),
	}
	path := orElse(k.args.text("path"), k.args.text("notebook"))
	switch {
	case path != "" && spec.Ephemeral:
		return nil, invalidf("An ephemeral notebook has no file.").WithHint("Leave out path, or ephemeral.")
	case k.args.has("working_dir") && !isDir(spec.WorkingDir):
		return nil, invalidf("There is no folder %s.", spec.WorkingDir).WithHint("Make it first, or leave out working_dir.")
	case path != "" && isDir(k.c.srv.absolute(path)):
		return nil, invalidf("%s is a folder.", k.c.srv.absolute(path)).WithHint("Name a file in it.")
	case path != "":
		spec.Path = k.c.srv.notebookPath(path)
		if err := k.c.mayCreate(ctx, spec); err != nil {
			return nil, err
		}
		if !k.args.has("working_dir") { // the kernel starts before the file is there
			spec.WorkingDir = filepath.Dir(spec.Path)
			if err := os.MkdirAll(spec.WorkingDir, 0o755); err != nil {
				return nil, domain.Errorf(domain.CodeSaveFailed, "The folder %s cannot be made: %w", spec.WorkingDir, err).WithHint("Choose another path.")
			}
		}
	}
	pending := k.c.sessions.BeginCreate(spec)
	k.begun()
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	j, err := pending.Await(ctx)
	if err != nil {
		return nil, err
	}
	defer j.Release()
	return k.connected(j, "Created"), nil
}

// connected is the summary of a notebook that was just connected or created.
func (k *call) connected(j session.Joined, did string) *reply {
	b := &book{k: k, s: j.Session}
	t := j.Target()
	lines := []string{fmt.Sprintf("%s notebook %s", did, t.ID)}
	if j.Already {
		lines[0] += " (you held it already)"
	}
	if !j.Default {
		lines[0] += ", which is not your default: a later connect or create has overtaken it"
	}
	path := t.Path
	if path == "" {
		path = "none; untitled until save_notebook with a path"
		if b.h().Info().Ephemeral {
			path = "none; ephemeral"
		}
	}
	kernel := b.runtime().Kernel()
	lines = append(lines, "path: "+path, "kernel: "+b.kernelText())
	if kernel.EnvSource != "" {
		lines = append(lines, "environment: "+kernel.EnvSource)
	}
	if j.SwitchedFrom != nil {
		lines = append(lines, "switched_from: "+j.SwitchedFrom.String())
	}
	for _, gone := range j.LetGo {
		lines = append(lines, "let go, because you hold too many: "+gone.String())
	}
	lines = append(lines, b.warnings()...)
	lines = append(lines, b.mapText())
	return (&reply{text: strings.Join(lines, "\n")}).about(eventConnected, t, j.Default)
}

// warnings tells what is odd about a notebook's file.
func (b *book) warnings() []string {
	f := b.runtime().FileState()
	if f.Issue == "" {
		return nil
	}
	return []string{"warning: " + f.Issue + ": " + orElse(f.Reason, "the file and the notebook differ")}
}

// disconnectNotebook lets go of a notebook.
func disconnectNotebook(_ context.Context, k *call) (*reply, error) {
	info, err := k.c.sessions.Disconnect(k.args.text("notebook"))
	k.begun()
	if err != nil {
		return nil, err
	}
	text := "Disconnected from notebook " + info.String() + "."
	if held := k.c.sessions.Held(); len(held) > 0 && info.Default {
		text += fmt.Sprintf(" You still hold %d others; none is the default now.", len(held))
	}
	return (&reply{text: text}).about(eventDisconnected, info.Target, info.Default), nil
}

// reconnect joins all notebooks again. Where there is a proxy, it answers this itself.
func reconnect(_ context.Context, k *call) (*reply, error) {
	k.begun()
	k.c.sessions.Rejoin()
	return textf("Reconnecting %d notebooks; calls wait until that is done.", len(k.c.sessions.Held())), nil
}

// kernelStarting says whether a kernel is on its way.
func kernelStarting(lifecycle string) bool {
	switch lifecycle {
	case runtimestate.Resolving, runtimestate.PreparingEnv, runtimestate.Launching, runtimestate.Connecting, runtimestate.AwaitingEnvBuild:
		return true
	}
	return false
}
