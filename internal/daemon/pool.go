package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"sort"
	"time"

	"runt/internal/domain"
	"runt/internal/room"
	"runt/internal/roomactor"
	"runt/internal/wire"
)

// servePool answers the requests of a pool connection until it ends.
func (d *Daemon) servePool(conn *wire.Conn) {
	for {
		b, err := conn.Reader().ReadUntyped(wire.MaxHandshake)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				d.log.Debug("pool connection ended", "error", err)
			}
			return
		}
		req, err := wire.DecodePoolRequest(b)
		if err != nil {
			d.reply(conn, wire.PoolError, wire.PoolFailure{Message: err.Error(), Code: string(domain.CodeInvalidArgument)})
			continue
		}
		d.poolRequest(conn, req)
		if req.Type == wire.PoolShutdown {
			return
		}
	}
}

func (d *Daemon) reply(conn *wire.Conn, typ string, body any) {
	b, err := wire.EncodePool(typ, body)
	if err == nil {
		err = conn.SendUntyped(b)
	}
	if err != nil {
		d.log.Debug("pool answer not sent", "type", typ, "error", err)
	}
}

func (d *Daemon) poolRequest(conn *wire.Conn, req wire.PoolRequest) {
	switch req.Type {
	case wire.PoolPing:
		d.reply(conn, wire.PoolPong, wire.Pong{ProtocolVersion: wire.ProtocolVersion, DaemonVersion: d.deps.Version, Runt: &d.info})
	case wire.PoolGetDaemonInfo:
		d.reply(conn, wire.PoolDaemonInfo, d.daemonInfo())
	case wire.PoolListRooms:
		d.reply(conn, wire.PoolRoomsList, wire.RoomsList{Rooms: d.roomInfos()})
	case wire.PoolShutdownNotebook:
		d.reply(conn, wire.PoolNotebookShutdown, wire.NotebookShutdown{Found: d.shutdownNotebook(domain.NotebookID(req.NotebookID))})
	case wire.PoolGetExecutionResult:
		d.executionResult(conn, domain.ExecutionID(req.ExecutionID))
	case wire.PoolListKept, wire.PoolDeleteKept:
		if typ, body, err := d.keptRequest(req); err != nil {
			d.reply(conn, wire.PoolError, failure(err))
		} else {
			d.reply(conn, typ, body)
		}
	case wire.PoolStatus:
		d.reply(conn, wire.PoolStats, emptyStats())
	case wire.PoolFlush:
		d.reply(conn, wire.PoolFlushed, nil)
	case wire.PoolActiveEnvPaths:
		d.reply(conn, wire.PoolEnvPaths, wire.ActiveEnvPaths{})
	case wire.PoolTake:
		d.reply(conn, wire.PoolEmpty, nil)
	case wire.PoolReturn:
		d.reply(conn, wire.PoolReturned, nil)
	case wire.PoolShutdown:
		d.reply(conn, wire.PoolShuttingDown, nil)
		ctx, cancel := context.WithTimeout(d.ctx, handshakeTimeout)
		defer cancel()
		if err := conn.CloseAfterFlush(ctx); err != nil {
			d.log.Debug("pool answer not sent", "type", wire.PoolShuttingDown, "error", err)
		}
		d.cancel(ErrStopped)
	default:
		d.reply(conn, wire.PoolError, wire.PoolFailure{Message: "unknown request: " + req.Type, Code: string(domain.CodeInvalidArgument)})
	}
}

func (d *Daemon) daemonInfo() wire.DaemonInfo {
	return wire.DaemonInfo{ProtocolVersion: wire.ProtocolVersion, DaemonAPIVersion: wire.DaemonAPIVersion, DaemonVersion: d.deps.Version,
		PID: os.Getpid(), StartedAt: d.started.UTC(), ExecutionStoreDir: d.opt.StateDir, Runt: &d.info,
		HTTPPort: d.http.port, HTTPToken: d.http.token, StateDir: d.opt.StateDir}
}

func (d *Daemon) roomInfos() []wire.RoomInfo {
	var out []wire.RoomInfo
	for _, i := range d.rooms.list() {
		out = append(out, roomInfo(i))
	}
	sort.Slice(out, func(a, b int) bool { return out[a].NotebookID < out[b].NotebookID })
	return out
}

func roomInfo(i roomactor.Info) wire.RoomInfo {
	s := i.Status
	w := wire.RoomInfo{NotebookID: string(i.ID), ActivePeers: s.Peers, HadPeers: s.HadPeers, Ephemeral: i.Kind == roomactor.Ephemeral,
		NotebookPath: i.Path, State: wire.RoomInactive, Untitled: i.Kind == roomactor.Untitled, Cells: i.Cells, Peers: i.Labels}
	if s.State == room.Running || s.State == room.Launching {
		w.HasKernel, w.KernelType, w.EnvSource = true, s.Kernel.Name, s.Kernel.EnvSource
		w.KernelStatus = s.Activity
		if s.State == room.Launching {
			w.KernelStatus = "starting"
		}
		w.State = wire.RoomIdle
	}
	if s.Peers > 0 {
		w.State = wire.RoomActive
	}
	return w
}

// shutdownNotebook ends a room and its kernel at once.
func (d *Daemon) shutdownNotebook(id domain.NotebookID) bool {
	r := d.rooms.find(id)
	if r == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(d.ctx, stopTimeout)
	defer cancel()
	if err := r.End(ctx); err != nil {
		d.log.Warn("notebook not shut down", "room", string(id), "error", err)
	}
	return true
}

func (d *Daemon) executionResult(conn *wire.Conn, id domain.ExecutionID) {
	ctx, cancel := context.WithTimeout(d.ctx, catalogTimeout)
	defer cancel()
	for _, i := range d.rooms.list() {
		if r := d.rooms.find(i.ID); r != nil {
			if rec, ok := r.ExecutionRecord(ctx, id); ok {
				d.reply(conn, wire.PoolExecutionResult, wire.ExecutionResult{Record: rec})
				return
			}
		}
	}
	rec, found := d.rooms.Archived(ctx, id)
	switch {
	case !found:
		d.reply(conn, wire.PoolError, wire.PoolFailure{Message: "Execution not found: " + string(id), Code: string(domain.CodeInvalidArgument),
			Hint: "Check the id; records of very old executions are dropped."})
	default:
		d.reply(conn, wire.PoolExecutionResult, wire.ExecutionResult{Record: rec})
	}
}

// emptyStats answers what clients of protocol v4 ask about environment pools, of which there are none.
func emptyStats() any {
	type pool struct {
		Available           int `json:"available"`
		Warming             int `json:"warming"`
		PoolSize            int `json:"pool_size"`
		ConsecutiveFailures int `json:"consecutive_failures"`
		RetryInSecs         int `json:"retry_in_secs"`
	}
	return map[string]any{"state": map[string]pool{"uv": {}, "conda": {}, "pixi": {}}}
}

// takeBackTimeout bounds the taking back of the kernels of an earlier daemon.
const takeBackTimeout = 30 * time.Second
