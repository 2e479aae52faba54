package daemon

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"time"

	"runt/internal/domain"
	"runt/internal/env"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

func (d *Daemon) accept() {
	defer d.wg.Done()
	for {
		nc, err := d.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				d.log.Error("socket closed", "error", err)
				d.cancel(err)
			}
			return
		}
		d.mu.Lock()
		d.conns[nc] = true
		d.mu.Unlock()
		d.wg.Add(1)
		go func() {
			defer d.wg.Done()
			d.serve(nc)
			d.mu.Lock()
			delete(d.conns, nc)
			d.mu.Unlock()
		}()
	}
}

// serve speaks to one connection until it ends.
func (d *Daemon) serve(nc net.Conn) {
	if err := checkPeer(nc); err != nil {
		d.log.Warn("connection refused", "error", err)
		_ = nc.Close() // it got nothing
		return
	}
	conn := wire.NewConn(nc, wire.ConnOptions{Logger: d.log})
	defer func() {
		if err := conn.Close(); err != nil {
			d.log.Debug("connection closed", "error", err)
		}
	}()
	_ = nc.SetReadDeadline(time.Now().Add(handshakeTimeout)) // a socket that takes none fails at the read
	h, err := readHandshake(conn)
	if err != nil {
		d.log.Debug("no handshake", "error", err)
		return
	}
	_ = nc.SetReadDeadline(time.Time{})
	switch h.Channel {
	case wire.ChannelPool:
		d.servePool(conn)
	case wire.ChannelSettings:
		// Settings are not kept here; clients take the closed channel as "none".
	case wire.ChannelOpen, wire.ChannelCreate, wire.ChannelNotebookSync:
		d.serveNotebook(conn, h)
	default:
		d.refuse(conn, h, domain.Errorf(domain.CodeInvalidArgument, "This daemon does not serve the channel %q.", h.Channel))
	}
}

func readHandshake(conn *wire.Conn) (wire.Handshake, error) {
	if err := conn.Reader().ReadPreamble(); err != nil {
		return wire.Handshake{}, err
	}
	b, err := conn.Reader().ReadUntyped(wire.MaxHandshake)
	if err != nil {
		return wire.Handshake{}, err
	}
	return wire.DecodeHandshake(b)
}

// roomTries is how often a notebook is looked up when its room closes just then.
const roomTries = 20

func (d *Daemon) serveNotebook(conn *wire.Conn, h wire.Handshake) {
	kind := wire.KindConnectionInfo
	if h.Channel == wire.ChannelNotebookSync {
		kind = wire.KindCapabilities
	}
	for range roomTries {
		ctx, cancel := context.WithTimeout(d.ctx, loadTimeout)
		r, err := d.room(ctx, h)
		if err == nil {
			err = r.Serve(ctx, conn, roomactor.Joined{Kind: kind, Handshake: h})
		}
		if err != nil && r != nil && domain.CodeOf(err) == domain.CodeNotebookUnavailable {
			select {
			case <-r.Gone():
				cancel()
				continue
			case <-ctx.Done():
			}
		}
		cancel()
		if err != nil {
			d.refuse(conn, h, err)
		}
		return
	}
	d.refuse(conn, h, errStopping)
}

// room returns the room a handshake asks for.
func (d *Daemon) room(ctx context.Context, h wire.Handshake) (*roomactor.Room, error) {
	switch h.Channel {
	case wire.ChannelNotebookSync:
		return d.rooms.join(ctx, domain.NotebookID(h.NotebookID))
	case wire.ChannelOpen:
		return d.open(ctx, h)
	}
	return d.create(ctx, h)
}

func (d *Daemon) open(ctx context.Context, h wire.Handshake) (*roomactor.Room, error) {
	if h.Path == "" || !filepath.IsAbs(h.Path) || strings.ContainsRune(h.Path, 0) {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "The path %q is not absolute.", h.Path).WithHint("Send the whole path of the file.")
	}
	path, err := roomactor.Canonical(h.Path)
	if err != nil {
		return nil, err
	}
	ours := h.Extensions >= 1
	if !ours && !strings.HasSuffix(path, ".ipynb") {
		path += ".ipynb"
	}
	return d.rooms.openPath(ctx, path, roomactor.NewSpec{KernelName: h.KernelName, WorkingDir: filepath.Dir(path)}, !ours)
}

func (d *Daemon) create(ctx context.Context, h wire.Handshake) (*roomactor.Room, error) {
	spec := roomactor.NewSpec{WorkingDir: h.WorkingDir, Ephemeral: h.Ephemeral, KernelName: h.KernelName, Dependencies: h.Dependencies}
	if h.Runtime != "" && h.Runtime != "python" {
		spec.Language = h.Runtime
	}
	if h.Path != "" {
		if !filepath.IsAbs(h.Path) {
			return nil, domain.Errorf(domain.CodeInvalidArgument, "The path %q is not absolute.", h.Path).WithHint("Send the whole path of the file.")
		}
		return d.createFile(ctx, h, spec)
	}
	if err := d.checkKernel(ctx, h, &spec); err != nil {
		return nil, err
	}
	id := domain.NotebookID(h.NotebookID)
	if id == "" {
		id = domain.NotebookID(d.deps.IDs.UUID())
	}
	if !domain.IsUUID(string(id)) {
		return nil, domain.Errorf(domain.CodeInvalidArgument, "The notebook id %q is no UUID.", id).WithHint("Leave it out to get a new one.")
	}
	return d.rooms.obtain(ctx, id, "", func(ctx context.Context) (*roomactor.Room, error) {
		if roomactor.HasJournal(d.deps.RoomsDir, id) {
			return roomactor.Restore(ctx, d.deps, id, d.hostsOf(id))
		}
		spec.ID = id
		return roomactor.Create(ctx, d.deps, spec)
	})
}

// checkKernel refuses a notebook for a kernelspec that is not installed, before
// anything is made, and notes its language. The usual Python kernel is made by
// need and never refused.
func (d *Daemon) checkKernel(ctx context.Context, h wire.Handshake, spec *roomactor.NewSpec) error {
	if h.KernelName == "" || strings.HasPrefix(h.KernelName, "python") {
		return nil
	}
	found, err := d.deps.Env.Resolve(ctx, env.Request{KernelName: h.KernelName, WorkingDir: h.WorkingDir}, nil)
	if err == nil {
		spec.Language, spec.DisplayName = found.Language, found.DisplayName
	}
	return err
}

// createFile makes a notebook at a path where no file is yet.
func (d *Daemon) createFile(ctx context.Context, h wire.Handshake, spec roomactor.NewSpec) (*roomactor.Room, error) {
	path := h.Path
	if !strings.HasSuffix(strings.ToLower(path), ".ipynb") {
		path += ".ipynb"
	}
	path, err := roomactor.Canonical(path)
	if err != nil {
		return nil, err
	}
	if err := roomactor.MustNotExist(path); err != nil {
		return nil, err
	}
	if err := d.checkKernel(ctx, h, &spec); err != nil {
		return nil, err
	}
	if spec.WorkingDir == "" {
		spec.WorkingDir = filepath.Dir(path)
	}
	return d.rooms.openPath(ctx, path, spec, true)
}

// refuse tells a peer why it gets no notebook, then closes.
func (d *Daemon) refuse(conn *wire.Conn, h wire.Handshake, err error) {
	code := domain.CodeOf(err)
	info := wire.ConnectionInfo{Protocol: wire.ProtocolName, ProtocolVersion: wire.ProtocolVersion, DaemonVersion: d.deps.Version,
		Runt: &d.info, NotebookID: h.NotebookID, Error: err.Error(), ErrorCode: string(code)}
	var de *domain.Error
	if errors.As(err, &de) {
		info.Error, info.ErrorHint = de.Message, de.Hint
	}
	d.log.Info("peer refused", "channel", h.Channel, "notebook", h.NotebookID, "path", h.Path, "error", err)
	var sent error
	if h.TypedBootstrap {
		b, err := info.MarshalTyped(wire.KindConnectionInfo)
		if err == nil {
			sent = conn.Send(wire.FrameControl, b)
		}
	} else {
		b, err := info.MarshalUntyped(wire.KindConnectionInfo)
		if err == nil {
			sent = conn.SendUntyped(b)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	if err := errors.Join(sent, conn.CloseAfterFlush(ctx)); err != nil {
		d.log.Debug("refusal not delivered", "error", err)
	}
}
