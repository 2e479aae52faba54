package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"runt/internal/domain"
	"runt/internal/wire"
)

// poolTimeout bounds a call on the pool channel whose context has no earlier end.
const poolTimeout = 10 * time.Second

// Ping asks the daemon for its versions.
func Ping(ctx context.Context, socket string) (wire.Pong, error) {
	return poolCall[wire.Pong](ctx, socket, wire.PoolRequest{Type: wire.PoolPing}, wire.PoolPong)
}

// DaemonInfo asks the daemon who and where it is.
func DaemonInfo(ctx context.Context, socket string) (wire.DaemonInfo, error) {
	return poolCall[wire.DaemonInfo](ctx, socket, wire.PoolRequest{Type: wire.PoolGetDaemonInfo}, wire.PoolDaemonInfo)
}

// ListRooms asks the daemon for the notebooks it has open.
func ListRooms(ctx context.Context, socket string) ([]wire.RoomInfo, error) {
	list, err := poolCall[wire.RoomsList](ctx, socket, wire.PoolRequest{Type: wire.PoolListRooms}, wire.PoolRoomsList)
	return list.Rooms, err
}

// ExecutionResult asks the daemon for the record of an execution that is over,
// also of one that the notebook's documents show no more.
func ExecutionResult(ctx context.Context, socket string, id domain.ExecutionID) (wire.ExecutionRecord, error) {
	result, err := poolCall[wire.ExecutionResult](ctx, socket,
		wire.PoolRequest{Type: wire.PoolGetExecutionResult, ExecutionID: string(id)}, wire.PoolExecutionResult)
	return result.Record, err
}

// ShutdownNotebook makes the daemon close a notebook with its kernel, and says whether it had it open.
func ShutdownNotebook(ctx context.Context, socket string, id domain.NotebookID) (bool, error) {
	result, err := poolCall[wire.NotebookShutdown](ctx, socket,
		wire.PoolRequest{Type: wire.PoolShutdownNotebook, NotebookID: string(id)}, wire.PoolNotebookShutdown)
	return result.Found, err
}

// ListKept asks the daemon for the notebooks that it keeps and has not open.
func ListKept(ctx context.Context, socket string) ([]wire.KeptNotebook, error) {
	list, err := poolCall[wire.KeptList](ctx, socket, wire.PoolRequest{Type: wire.PoolListKept}, wire.PoolKeptList)
	return list.Kept, err
}

// DeleteKept makes the daemon forget a notebook that is not open.
func DeleteKept(ctx context.Context, socket string, id domain.NotebookID) error {
	_, err := poolCall[struct{}](ctx, socket, wire.PoolRequest{Type: wire.PoolDeleteKept, NotebookID: string(id)}, wire.PoolOK)
	return err
}

// ShutdownDaemon makes the daemon end. It returns when the daemon has agreed to.
func ShutdownDaemon(ctx context.Context, socket string) error {
	_, err := poolCall[struct{}](ctx, socket, wire.PoolRequest{Type: wire.PoolShutdown}, wire.PoolShuttingDown)
	return err
}

// poolCall makes one request on a connection of its own.
func poolCall[T any](ctx context.Context, socket string, request wire.PoolRequest, want string) (T, error) {
	var answer T
	ctx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	p, err := openPool(ctx, Options{Socket: socket}.withDefaults())
	if err != nil {
		return answer, err
	}
	defer p.close()
	return answer, p.call(ctx, request, want, &answer)
}

// pool is a connection on the pool channel. Calls are made one at a time.
type pool struct {
	nc     net.Conn
	reader *wire.Reader
}

func openPool(ctx context.Context, o Options) (*pool, error) {
	nc, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	p := &pool{nc: nc, reader: wire.NewReader(nc)}
	handshake, err := wire.EncodeHandshake(wire.Handshake{Channel: wire.ChannelPool})
	if err == nil {
		err = p.write(ctx, wire.Preamble[:], handshake)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close ends the connection. There is nothing to be done about an error of it.
func (p *pool) close() { _ = p.nc.Close() }

// call sends a request and reads the answer of the type want into v.
func (p *pool) call(ctx context.Context, request wire.PoolRequest, want string, v any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode pool request: %w", err)
	}
	if err := p.write(ctx, nil, body); err != nil {
		return err
	}
	answer, err := p.read(ctx)
	if err != nil {
		return err
	}
	err = wire.DecodePool(answer, want, v)
	var failure *wire.PoolFailure
	if errors.As(err, &failure) {
		return refusal(failure.Message, failure.Code, failure.Hint, domain.CodeInternal)
	}
	return err
}

func (p *pool) write(ctx context.Context, raw, body []byte) error {
	message, err := wire.AppendUntyped(raw, body)
	if err != nil {
		return err
	}
	return p.bounded(ctx, func() error {
		_, err := p.nc.Write(message)
		return err
	})
}

func (p *pool) read(ctx context.Context) (answer []byte, err error) {
	err = p.bounded(ctx, func() error {
		var err error
		answer, err = p.reader.ReadUntyped(wire.MaxFrame)
		return err
	})
	return answer, err
}

// idle lets d pass. It returns earlier, with an error, when the connection
// breaks or ctx ends.
func (p *pool) idle(ctx context.Context, d time.Duration) error {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_, err := p.read(pause) // nothing is due, so this ends by time or not well
	switch {
	case err == nil:
		return errors.New("the daemon spoke without being asked")
	case ctx.Err() != nil || pause.Err() == nil:
		return err
	}
	return p.nc.SetDeadline(time.Time{})
}

// bounded does IO until ctx ends. A connection that was cut off is of no use afterwards.
func (p *pool) bounded(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, func() {
		// A connection on which no deadline can be set is closed already.
		_ = p.nc.SetDeadline(time.Unix(1, 0))
	})
	defer stop()
	err := do()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return timeoutOf(ctx, "reach the daemon")
	}
	return domain.Errorf(domain.CodeSessionDisconnected, "the daemon closed the connection: %w", err).
		WithHint("Try again; the daemon may be restarting.")
}

// refusal makes an error of what the daemon said, with the code it gave or the
// one that fits when it gave none.
func refusal(message, code, hint string, otherwise domain.Code) *domain.Error {
	e := &domain.Error{Code: domain.Code(code), Message: message, Hint: hint}
	if code == "" {
		e.Code = otherwise
	}
	return e
}
