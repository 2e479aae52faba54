package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runt/internal/client"
	"runt/internal/session"
	"runt/internal/wire"
)

const (
	updateEvery = time.Second     // the shortest time between two updates of one resource
	lookEvery   = 2 * time.Second // between looks at what nobody tells the changes of
	maxWatches  = 100             // subscriptions of a client
)

// watches are the resources that a client wants to hear of. Each has one
// goroutine, which end cancels and awaits.
type watches struct {
	wg sync.WaitGroup

	mu    sync.Mutex // guards the fields that follow
	all   map[string]context.CancelFunc
	ended bool
}

// start begins to watch, unless that is done already. watch must end with its context.
func (w *watches) start(uri string, watch func(context.Context)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[uri] != nil || w.ended {
		return nil
	}
	if len(w.all) >= maxWatches {
		return invalidf("More than %d subscriptions are too many.", maxWatches).WithHint("Unsubscribe from resources that you no longer need.")
	}
	ctx, cancel := context.WithCancel(context.Background())
	if w.all == nil {
		w.all = map[string]context.CancelFunc{}
	}
	w.all[uri] = cancel
	w.wg.Go(func() { watch(ctx) })
	return nil
}

func (w *watches) stop(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cancel := w.all[uri]; cancel != nil {
		cancel()
		delete(w.all, uri)
	}
}

// end stops all and waits for their goroutines.
func (w *watches) end() {
	w.mu.Lock()
	w.ended = true
	for _, cancel := range w.all {
		cancel()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// subscribe begins to tell the client of changes of a resource. An address that
// is none of ours is accepted and never changes.
func (c *Client) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	r := parseURI(uri)
	if r.kind == "" || r.kind == uriBlob {
		return nil
	}
	if _, err := c.readResource(ctx, &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: uri}}); err != nil {
		return err
	}
	return c.watches.start(uri, func(ctx context.Context) { c.watch(ctx, uri, r) })
}

func (c *Client) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	c.watches.stop(req.Params.URI)
	return nil
}

// watch tells the client when the resource has changed, until ctx ends.
func (c *Client) watch(ctx context.Context, uri string, r resource) {
	last, known := c.digest(ctx, uri, r)
	for ctx.Err() == nil {
		changed := c.nextChange(ctx, r) // before the resource is read, so that no change falls in between
		now, ok := c.digest(ctx, uri, r)
		if ok && known && now != last {
			if err := c.updated(ctx, uri); err != nil {
				c.srv.o.Logger.Debug("update not sent", "uri", uri, "err", err)
			}
		}
		if ok {
			last, known = now, true
		}
		wait := updateEvery
		if changed == nil {
			wait = lookEvery
		}
		if !pause(ctx, wait) {
			return
		}
		if changed != nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
	}
}

// joined says whether a notebook can be read without joining it or starting a daemon.
func (c *Client) joined(r resource) bool {
	return slices.ContainsFunc(c.sessions.Held(), func(h session.Info) bool { return h.ID == r.notebook && h.Live })
}

// nextChange returns a channel that is closed at the next change of the
// resource's notebook, or nil when nobody says when that will be.
func (c *Client) nextChange(ctx context.Context, r resource) (changed <-chan struct{}) {
	if r.kind == uriNotebooks || !c.joined(r) {
		return nil
	}
	err := c.withBook(ctx, r.notebook, func(b *book) error {
		changed = b.h().Changed()
		return nil
	})
	if err != nil {
		return nil
	}
	return changed
}

// digest tells two states of a resource apart. It is not ok when the resource cannot be read now.
func (c *Client) digest(ctx context.Context, uri string, r resource) (sum [sha256.Size]byte, ok bool) {
	var state any
	var err error
	switch {
	case r.kind == uriNotebooks:
		var rooms []wire.RoomInfo
		rooms, err = client.ListRooms(ctx, c.srv.o.Socket)
		state = c.notebookEntries(rooms)
	case !c.joined(r):
		return sum, false
	default:
		state, err = c.read(ctx, uri)
	}
	if err != nil {
		return sum, false
	}
	text, err := json.Marshal(state)
	return sha256.Sum256(text), err == nil
}

// pause waits, and says whether ctx still stands.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
