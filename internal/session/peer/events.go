package peer

import (
	"context"
	"time"

	"runt/internal/client"
	"runt/internal/session"
)

// Events watches the daemon until ctx ends, after which the channel is closed.
// The version that is compared is the one of the first daemon seen: the program
// that started with it need not be replaced for as long as that version runs, nor
// when a daemon comes of the program's own version.
func Events(ctx context.Context, o Options) <-chan session.Event {
	return translateEvents(ctx, o.Version, client.Watch(ctx, client.Options{Socket: o.Socket, Logger: o.Logger}))
}

func translateEvents(ctx context.Context, own string, from <-chan client.Event) <-chan session.Event {
	to := make(chan session.Event)
	go func() {
		defer close(to)
		baseline, seen := "", false
		for e := range from {
			out := session.Event{Incarnation: session.Incarnation{
				PID: e.Incarnation.PID, StartedAt: e.Incarnation.StartedAt.Format(time.RFC3339Nano), Version: e.Incarnation.Version,
			}}
			switch e.Kind {
			case client.Connected:
				out.Kind = session.Connected
			case client.Disconnected:
				out.Kind = session.Disconnected
			case client.Upgraded:
				out.Kind = session.Upgraded
				out.VersionDiffers = seen && e.Incarnation.Version != baseline && e.Incarnation.Version != own
			}
			if !seen && e.Kind != client.Disconnected {
				baseline, seen = e.Incarnation.Version, true
			}
			select {
			case to <- out:
			case <-ctx.Done():
				return
			}
		}
	}()
	return to
}
